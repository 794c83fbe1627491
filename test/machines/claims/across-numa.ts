import assert from 'node:assert/strict';
import { parseCpuList } from '../../../src/core/cpuset';
import type { Claim } from '../claim';
import { pinned } from '../guest/specs';

/**
 * A container needs more CPUs than a node has: without the option one node is filled first, with it each node gives the
 * same number.
 */
export const acrossNuma: Claim = {
  name: 'distribute-cpus-across-numa',
  when: ({ name }) => name === '2x8x2-4numa',
  dependsOn: {
    traits: ['nodes'],
    because: 'A container needs more CPUs than a node has.',
  },
  async run(context) {
    await context.startDaemon('--cpu-manager-policy-options', 'distribute-cpus-across-numa=true');
    const list = await (await context.startOne(pinned(10))).firstLine();
    const shares = context.topology.numaNodes
      .map(({ cpus }) => cpus.countIn(parseCpuList(list)))
      .filter((share) => share > 0);
    assert.deepEqual(shares, [5, 5], list);
    context.note(list);
  },
};
