import assert from 'node:assert/strict';
import { parseCpuList } from '../../../src/core/cpuset';
import type { Claim } from '../claim';
import { pinned } from '../guest/specs';

/**
 * One thread of each core is taken, as long as there are cores. As in the kubelet, the lowest CPU numbers are taken,
 * which are on different cores only where the kernel numbers siblings far apart.
 */
export const acrossCores: Claim = {
  name: 'distribute-cpus-across-cores',
  when: ({ name }) => name === '2x4x2-isolated-offline',
  dependsOn: {
    traits: ['siblings'],
    because: 'The siblings of a core are numbered far apart.',
  },
  async run(context) {
    await context.startDaemon('--cpu-manager-policy-options', 'distribute-cpus-across-cores=true');
    const list = await (await context.startOne(pinned(3))).firstLine();
    const shares = context.topology.cores
      .map(({ cpus }) => cpus.countIn(parseCpuList(list)))
      .filter((share) => share > 0);
    assert.deepEqual(shares, [1, 1, 1], list);
    context.note(list);
  },
};
