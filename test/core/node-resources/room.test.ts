import { measureRoom } from '../../../src/core/node-resources/room';
import { build } from '../../cli/topology/machines';
import { NodeDriver } from '../transition/node-driver';

// Two NUMA nodes of four cores with two threads: node 0 has CPUs 0-3 and 8-11, node 1 has 4-7 and 12-15. CPU 0 is
// reserved.
test.each`
  given                             | steps                       | cores | nodes | core  | numa
  ${'nothing runs'}                 | ${''}                       | ${7}  | ${2}  | ${14} | ${8}
  ${'one CPU is taken'}             | ${'make p/a 1'}             | ${7}  | ${1}  | ${14} | ${8}
  ${'three cores of node 0 are'}    | ${'make p/a 6'}             | ${4}  | ${1}  | ${8}  | ${8}
  ${'CPUs are taken on both nodes'} | ${'make p/a 8; make q/a 2'} | ${2}  | ${0}  | ${4}  | ${5}
`('room, given that $given', ({ steps, cores, nodes, core, numa }) => {
  const node = new NodeDriver(build(1, 2, 1, 4, 2), { reserved: '0' });
  if (steps !== '') node.run(steps as string);
  const { freeCores, freeNodes, aligned } = measureRoom(node.model);
  expect({ freeCores, freeNodes, core: aligned.physical_cpu, numa: aligned.numa_node }).toEqual({
    freeCores: cores,
    freeNodes: nodes,
    core,
    numa,
  });
});

test('a node whose CPUs are all reserved is no free one', () => {
  const node = new NodeDriver(build(1, 2, 1, 4, 2), { reserved: '0-3,8-11' });
  expect(measureRoom(node.model).freeNodes).toBe(1);
});
