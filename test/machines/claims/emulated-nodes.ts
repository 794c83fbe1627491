import assert from 'node:assert/strict';
import type { Claim } from '../claim';
import { pinned } from '../guest/specs';
import { emulatedNodes } from '../machine';

/**
 * Emulated nodes have all the same CPUs: they are one node, aligned requests fit there, and containers get the memory
 * of all.
 */
export const emulatedNodesAsOne: Claim = {
  name: 'emulated nodes',
  when: (machine) => emulatedNodes(machine) !== undefined,
  dependsOn: {
    traits: ['kernelArguments'],
    because:
      'The kernel makes several nodes of one. What is decided on such a machine is in test/host/sysfs/unusual-machines.test.ts.',
  },
  async run(context) {
    const { topology, machine } = context;
    assert.equal(topology.numaNodes.length, 1);
    assert.match(topology.ignored.join(), /all list CPUs .*; they count as node 0, with the memory of all/);
    const daemon = await context.startDaemon(
      '--memory-nodes',
      'follow',
      '--topology-manager-policy',
      'single-numa-node',
    );
    const container = await context.startOne(pinned(2));
    const list = await container.firstLine();
    const { cpus, mems } = container.cpuset();
    assert.equal(cpus, list);
    assert.equal(mems, `0-${emulatedNodes(machine)! - 1}`);
    await context.untilVerdict(daemon, container, 'kept');
    context.note(`CPUs ${list}, memory ${mems}`);
  },
};
