import { freeCpusInNode, freeCpusOf, orderUnits, remove, type FreeCpus } from '../../../src/core/allocation/free-cpus';
import { sequenceCores, sequenceNodes, sequenceSockets } from '../../../src/core/allocation/sequences';
import { parseCpuList } from '../../../src/core/cpuset';
import { buildTopology, type CpuInfo } from '../../../src/core/topology';

/** Eight cores of two threads, CPU c and c + 8 each: four cores in each of two sockets, which are NUMA nodes. */
const twoNodes = (more: (id: number) => Partial<CpuInfo> = () => ({})) =>
  buildTopology({
    cpus: Array.from({ length: 16 }, (_, id) => {
      const core = id % 8;
      return { id, core, socket: core >> 2, numaNode: core >> 2, uncoreCache: core >> 2, ...more(id) };
    }),
  });

const freeOn = (list: string, { index } = twoNodes()): FreeCpus => freeCpusOf(index, parseCpuList(list));
const countsOf = ({ size, count }: FreeCpus) => [size, [...count.core], [...count.numaNode]];

test.each([
  ['few CPUs', '0,8,9', [3, [2, 1, 0, 0, 0, 0, 0, 0], [3, 0]]],
  ['most CPUs', '0-6,8-15', [15, [2, 2, 2, 2, 2, 2, 2, 1], [8, 7]]],
  ['no CPU', '', [0, [0, 0, 0, 0, 0, 0, 0, 0], [0, 0]]],
  ['CPUs that the machine does not have', '0,100', [1, [1, 0, 0, 0, 0, 0, 0, 0], [1, 0]]],
])('given %s, then the free CPUs of each unit are counted', (_name, list, counts) => {
  expect(countsOf(freeOn(list))).toEqual(counts);
});

test('a removed CPU counts no more, and the next run begins with all CPUs', () => {
  const free = freeOn('0-15');
  remove(free, 0);
  expect([free.size, free.isFree[0], free.count.core[0]]).toEqual([15, 0, 1]);
  expect(freeOn('0-15', { index: free.index } as ReturnType<typeof twoNodes>).size).toBe(16);
});

test('the part of one NUMA node has only its CPUs', () => {
  expect(countsOf(freeCpusInNode(freeOn('0-15'), 1))).toEqual([8, [0, 0, 0, 0, 2, 2, 2, 2], [0, 8]]);
});

test('units with the fewest free CPUs are first, then the lowest id; full units are left out', () => {
  expect(orderUnits(freeOn('0-2,4-5,8,12'), 'core', [0, 1, 2, 3, 4, 5])).toEqual([1, 2, 5, 0, 4]);
});

describe('the order in which units are tried', () => {
  test('cores are tried within their NUMA node, and the node with the fewest free CPUs is first', () => {
    const free = freeOn('0-3,8-11,4-5,12');
    expect([...sequenceNodes(free)]).toEqual([1, 0]);
    expect([...sequenceCores(free)]).toEqual([5, 4, 0, 1, 2, 3]);
  });

  test('given several NUMA nodes in a socket, then nodes are tried within their socket', () => {
    const free = freeOn(
      '0-3,6',
      twoNodes((id) => ({ numaNode: (id % 8) >> 1 })),
    );
    expect([...sequenceSockets(free)]).toEqual([1, 0]);
    expect([...sequenceNodes(free)]).toEqual([3, 0, 1]);
  });

  test('given a core in two NUMA nodes, then it is tried once', () => {
    const free = freeOn(
      '0-15',
      twoNodes((id) => ({ numaNode: id >> 3, socket: id >> 3 })),
    );
    expect([...sequenceCores(free)]).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });
});
