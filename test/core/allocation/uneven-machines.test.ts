import { allocate } from '../../../src/core/allocation';
import { parseCpuList, type CpuSet } from '../../../src/core/cpuset';
import { buildTopology, type CpuInfo, type Topology, type Unit } from '../../../src/core/topology';

/** A group of CPUs behind one cache: the CPUs of each core, and where they lie. */
interface Group {
  readonly cores: readonly (readonly number[])[];
  readonly numaNode?: number;
  readonly socket?: number;
  readonly uncoreCache: number;
}

function machine(...groups: readonly Group[]): Topology {
  const cpus = groups.flatMap(({ cores, numaNode = 0, socket = 0, uncoreCache }) =>
    cores.flatMap((ids) => ids.map((id): CpuInfo => ({ id, core: ids[0]!, socket, numaNode, uncoreCache }))),
  );
  return buildTopology({ cpus });
}

/** Cores of neighbouring CPUs. */
const coresOf = (first: number, last: number, threads = 2): number[][] =>
  Array.from({ length: (last - first + 1) / threads }, (_, core) =>
    Array.from({ length: threads }, (_, thread) => first + core * threads + thread),
  );

function take(topology: Topology, available: string, count: number, rules: object): CpuSet {
  const defaults = {
    strategy: 'packed',
    algorithm: 'packed',
    preferAlignByUncoreCache: false,
    cpuGroupSize: 1,
  } as const;
  const got = allocate({ topology, available: parseCpuList(available), count, ...defaults, ...rules });
  if (!got.ok) throw new Error(got.error);
  return got.cpus;
}

const idsOf = (units: readonly Unit[], cpus: CpuSet): readonly number[] =>
  units.filter((unit) => unit.cpus.overlaps(cpus)).map(({ id }) => id);

describe('prefer-align-cpus-by-uncorecache', () => {
  const takeCaches = (topology: Topology, available: string, count: number): CpuSet =>
    take(topology, available, count, { preferAlignByUncoreCache: true });

  const siblingsApart = machine(
    { uncoreCache: 0, cores: [0, 1, 2, 3].map((core) => [core, core + 8]) },
    { uncoreCache: 1, cores: [4, 5, 6, 7].map((core) => [core, core + 8]) },
  );
  test.each([
    ['five CPUs where the lowest core of the cache is free by half', '3,5,7,11-15', 5, '5,7,12-13,15'],
    ['four CPUs: two whole cores of the same cache', '3,5,7,11-15', 4, '5,7,13,15'],
    ['four CPUs of which only two are a whole core', '3,5,7,11-13', 4, '5,7,12-13'],
  ])('cores that are free by halves: %s', (_what, available, count, want) => {
    expect(takeCaches(siblingsApart, available, count).toString()).toBe(want);
  });

  const groups: Group[] = [0, 1, 2].map((cache) => ({ uncoreCache: cache, cores: coresOf(8 * cache, 8 * cache + 7) }));
  const oneOffline = machine(...groups, { uncoreCache: 3, cores: [...coresOf(24, 29), [30]] });
  test.each([
    [4, '6-30', 1],
    [7, '6-30', 1],
    [8, '6-30', 1],
    [12, '6-30', 2],
    [15, '6-30', 2],
  ])('one CPU is offline: %i CPUs of %s lie in as few caches as %i', (count, available, caches) => {
    expect(idsOf(oneOffline.uncoreCaches, takeCaches(oneOffline, available, count))).toHaveLength(caches);
  });

  test('a cache of fast cores has room, and one of slow cores beside it', () => {
    const hybrid = machine({ uncoreCache: 0, cores: coresOf(0, 7) }, { uncoreCache: 1, cores: coresOf(8, 15, 1) });
    expect(takeCaches(hybrid, '0-7,12-15', 6).toString()).toBe('0-5');
  });

  test('the last cache is smaller than the others', () => {
    const smallLast = machine(...groups, { uncoreCache: 3, cores: coresOf(24, 27) });
    expect(idsOf(smallLast.uncoreCaches, takeCaches(smallLast, '0-27', 8))).toHaveLength(1);
  });

  test('a small socket is wholly free, and a cache of the large one has room for all', () => {
    const sockets = machine(
      { socket: 0, uncoreCache: 0, cores: coresOf(0, 1) },
      { socket: 1, uncoreCache: 1, cores: coresOf(2, 7) },
    );
    expect(takeCaches(sockets, '0-7', 3).toString()).toBe('2-4');
  });

  test('two NUMA nodes to a cache: a whole node is no reason to leave a cache that has room for all', () => {
    const nodes = [0, 1, 2, 3].map((numaNode) => ({ numaNode, cores: coresOf(4 * numaNode, 4 * numaNode + 3) }));
    const snc = machine(
      ...nodes.map((node) => ({ ...node, uncoreCache: node.numaNode >> 1, socket: node.numaNode >> 1 })),
    );
    expect(idsOf(snc.uncoreCaches, takeCaches(snc, '0-7,12-15', 6))).toEqual([0]);
  });

  test('of as many caches those of one NUMA node are taken', () => {
    const nodes = [0, 1].flatMap((numaNode) =>
      [0, 1, 2].map((cache) => ({
        numaNode,
        socket: numaNode,
        uncoreCache: 3 * numaNode + cache,
        cores: coresOf(24 * numaNode + 8 * cache, 24 * numaNode + 8 * cache + 7),
      })),
    );
    const twoNodes = machine(...nodes);
    // Each cache has 5 or 6 CPUs free, by halves of cores, so that the kubelet's way takes three.
    const cpus = takeCaches(twoNodes, '0-4,9-13,18,20,24-28,33-37', 10);
    expect(idsOf(twoNodes.uncoreCaches, cpus)).toHaveLength(2);
    expect(idsOf(twoNodes.numaNodes, cpus)).toHaveLength(1);
  });
});

describe('distribute-cpus-across-numa on NUMA nodes of 16 and 8 CPUs', () => {
  const nodes = machine(
    { numaNode: 0, socket: 0, uncoreCache: 0, cores: coresOf(0, 15) },
    { numaNode: 1, socket: 1, uncoreCache: 1, cores: coresOf(16, 23) },
  );
  test.each([
    [14, [0]],
    [16, [0]],
    [18, [0, 1]],
  ])('%i CPUs come from nodes %j', (count, want) => {
    const cpus = take(nodes, '0-23', count, { algorithm: 'distributed' });
    expect(cpus.size).toBe(count);
    expect(idsOf(nodes.numaNodes, cpus)).toEqual(want);
  });
});
