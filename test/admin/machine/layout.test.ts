import { layOut } from '../../../src/admin/machine/layout';
import { CpuSet, parseCpuList } from '../../../src/core/cpuset';
import { build, without } from '../../cli/topology/machines';

test('sections are sockets and NUMA nodes, with their cores by cache in the order of CPU ids', () => {
  expect(layOut(build(2, 1, 2, 1, 2), CpuSet.empty)).toEqual([
    { socket: 0, numaNode: 0, caches: [[[0, 4]], [[1, 5]]] },
    { socket: 1, numaNode: 1, caches: [[[2, 6]], [[3, 7]]] },
  ]);
});

test('an offline thread keeps its place, also when it is the first of its core', () => {
  const offline = '0,5';
  expect(layOut(without(build(1, 1, 1, 4, 2), offline), parseCpuList(offline))).toEqual([
    {
      socket: 0,
      numaNode: 0,
      caches: [
        [
          [0, 4],
          [1, 5],
          [2, 6],
          [3, 7],
        ],
      ],
    },
  ]);
});

test('a core with fewer threads, and no offline CPU to fill the place, has undefined in it', () => {
  const [section] = layOut(without(build(1, 1, 1, 2, 2), '3'), CpuSet.empty);
  expect(section!.caches).toEqual([
    [
      [0, 2],
      [1, undefined],
    ],
  ]);
});
