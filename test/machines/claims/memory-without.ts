import assert from 'node:assert/strict';
import { parseCpuList } from '../../../src/core/cpuset';
import type { Claim } from '../claim';
import { pinned } from '../guest/specs';
import { withMemory } from '../machine';

/** A container on CPUs of a node without memory gets memory of other nodes, and never an empty or impossible set. */
export const memoryWithout: Claim = {
  name: 'node without memory',
  when: ({ nodes }) => nodes.some(({ memoryMib }) => memoryMib === 0),
  dependsOn: {
    traits: ['nodes'],
    because: 'A node has CPUs and no memory.',
  },
  async run(context) {
    await context.startDaemon('--memory-nodes', 'follow', '--reserved-cpus', '0-2');
    const { topology } = context;
    const container = await context.startOne(pinned(4));
    const list = await container.firstLine();
    const nodes = topology.numaNodes.filter(({ cpus }) => cpus.overlaps(parseCpuList(list))).map(({ id }) => id);
    const { mems } = container.cpuset();
    const given = parseCpuList(mems).toArray();
    assert.ok(given.length > 0 && given.every((node) => withMemory(topology).includes(node)), `mems ${mems}`);
    context.note(`CPUs ${list} of node ${nodes.join(',')}, memory ${mems}`);
  },
};
