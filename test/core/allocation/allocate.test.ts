import { chooseReserved, allocate, type AllocationRequest } from '../../../src/core/allocation';
import { CpuSet, parseCpuList } from '../../../src/core/cpuset';
import { NO_OPTIONS } from '../../../src/core/model/settings';
import { buildTopology, threadsPerCore, type CacheLevel, type CpuInfo } from '../../../src/core/topology';
import { cpusOf } from '../topology/arbitrary-machine';

const split = { threads: 2, numbering: 'split' } as const;
/** One socket, four cores, siblings 0,4 1,5 2,6 3,7; caches of two cores. */
const small = buildTopology({
  cpus: cpusOf({ ...split, sockets: 1, nodesPerSocket: 1, coresPerNode: 4, coresPerCache: 2 }),
});
/** Two sockets of four cores: 0-3,8-11 and 4-7,12-15. */
const dual = buildTopology({
  cpus: cpusOf({ ...split, sockets: 2, nodesPerSocket: 1, coresPerNode: 4, coresPerCache: 4 }),
});
/** Four two-thread cores (0,1 2,3 4,5 6,7) and four single ones: the mean is one thread a core. */
const hybrid = buildTopology({
  cpus: Array.from({ length: 12 }, (_, id): CpuInfo => ({
    id,
    core: id < 8 ? id & ~1 : id,
    socket: 0,
    numaNode: 0,
    uncoreCache: 0,
  })),
});

function takeFrom(topology: typeof small, free: string, count: number, rules: Partial<AllocationRequest> = {}) {
  const packed = { algorithm: 'packed', strategy: 'packed', preferAlignByUncoreCache: false, cpuGroupSize: 1 } as const;
  return allocate({ ...packed, topology, available: parseCpuList(free), count, ...rules });
}

function stepsOf(...request: Parameters<typeof takeFrom>): string {
  return takeFrom(...request)
    .steps.map(({ rule, took }) => `${rule} ${took.toString()}`)
    .join('; ');
}

const UNCORE = { preferAlignByUncoreCache: true };

test.each([
  ['a count of 0 takes nothing', small, '0-7', 0, {}, ''],
  ['a negative count takes nothing', small, '0-7', -3, {}, ''],
  ['the whole node', small, '0-7', 8, {}, 'whole-numa-node 0-7'],
  ['whole cores first, then a thread of the next', small, '0-7', 3, {}, 'whole-core 0,4; single-cpu 1'],
  ['the odd CPU comes from a partly used core', small, '0-3,5-7', 3, {}, 'whole-core 1,5; single-cpu 0'],
  ['the socket with fewer free CPUs goes first', dual, '0-15', 4, {}, 'whole-core 0-1,8-9'],
  ['a partly used socket is filled before another is opened', dual, '0-3,5-7,8-15', 2, {}, 'whole-core 5,13'],
  ['a request of a whole socket passes a partly used one', dual, '1-15', 8, {}, 'whole-numa-node 4-7,12-15'],
  ['spread takes CPUs in numeric order', small, '0-7', 4, { strategy: 'spread' }, 'spread-cpu 0-3'],
  ['a whole cache', small, '0-7', 4, UNCORE, 'whole-uncore-cache 0-1,4-5'],
  ['a whole cache and the rest of another', small, '0-7', 6, UNCORE, 'whole-uncore-cache 0-1,4-5; uncore-cache 2,6'],
  ['the rest comes from the cache with the fewest CPUs that suffice', small, '2-7', 3, UNCORE, 'uncore-cache 2-3,6'],
  ['two nodes in equal shares', dual, '0-15', 10, { algorithm: 'distributed' }, 'distribute 0-2,4-6,8-9,12-13'],
  [
    'a count that groups do not divide is packed',
    dual,
    '0-15',
    3,
    { algorithm: 'distributed', cpuGroupSize: 2 },
    'whole-core 0,8; single-cpu 1',
  ],
  ['whole cores are whole by their own size', hybrid, '0,2-11', 2, {}, 'whole-core 8-9'],
] as const)('%s', (_name, topology, free, count, rules, want) => {
  expect(stepsOf(topology, free, count, rules)).toBe(want);
});

test.each<[CacheLevel, string]>([
  ['L3', 'uncore cache'],
  ['L2', 'L2 cache'],
  ['cluster', 'cluster'],
  ['none', 'CPU group'],
])('caches that are %s are called %s', (level, name) => {
  const cpus = cpusOf({ ...split, sockets: 1, nodesPerSocket: 1, coresPerNode: 12, coresPerCache: 4 });
  const cacheLevels = new Map([0, 1, 2].map((id) => [id, level]));
  const machine = buildTopology({ cpus, cacheLevels });
  const because = (free: string, count: number): string =>
    takeFrom(machine, free, count, UNCORE)
      .steps.map((step) => step.because)
      .join('; ');
  expect(because('0-23', 3)).toBe(`${name} 0 has all 3 CPUs still wanted`);
  expect(because('0-22', 8)).toBe(`${name} 0 is wholly free: 8 of the 8 wanted`);
  expect(because('3,5,7,15-19', 4)).toBe(`${name} 1 has all 4 CPUs wanted`);
  expect(because('0-1,4-11', 8)).toBe(`${name}s 1, 2 are the fewest that suffice for 8 CPUs`);
});

test.each([
  ['a whole unit', small, '0-7', 8, {}, 'NUMA node 0 is wholly free: 8 of the 8 wanted'],
  ['a cache', small, '2-7', 3, UNCORE, 'uncore cache 1 has all 3 CPUs still wanted'],
  [
    'nodes',
    dual,
    '0-15',
    11,
    { algorithm: 'distributed' },
    '2 NUMA nodes are the fewest that suffice: 5 CPUs each of 0, 1, the rest in groups of 1 from 0',
  ],
] as const)('the reason names %s', (_name, topology, free, count, rules, because) => {
  expect(takeFrom(topology, free, count, rules).steps[0]?.because).toContain(because);
});

test.each([
  ['one more than there are', '0-2', 4, 'requested=4, available=3'],
  ['CPUs that the machine does not have', '0,8-11', 2, 'requested=2, available=5'],
  ['none at all', '', 1, 'requested=1, available=0'],
])('%s: the error has the kubelet’s words', (_name, free, count, numbers) => {
  const error = `not enough cpus available to satisfy request: ${numbers}`;
  expect(takeFrom(small, free, count)).toEqual({ ok: false, error, steps: [] });
});

test.each([
  [{ count: 1.5 }, 'not a number of CPUs: 1.5'],
  [{ count: NaN }, 'not a number of CPUs: NaN'],
  [{ cpuGroupSize: 0 }, 'not a group size: 0'],
  [{ cpuGroupSize: 2.5 }, 'not a group size: 2.5'],
])('%j is a mistake of the caller', (rules, message) => {
  expect(() => takeFrom(small, '0-7', 2, rules)).toThrow(new RangeError(message));
});

test('a search that reached its bound is named in the reason', () => {
  const nodes = 64;
  const cpus = Array.from({ length: nodes * 16 }, (_, id): CpuInfo => {
    const numaNode = Math.floor(id / 16);
    return { id, core: id, socket: Math.floor(numaNode / 32), numaNode, uncoreCache: numaNode };
  });
  const worn = CpuSet.of(cpus.filter(({ id, numaNode }) => id % 16 <= (numaNode * 7) % 16).map(({ id }) => id));
  const got = allocate({
    topology: buildTopology({ cpus }),
    available: worn,
    count: 301,
    algorithm: 'distributed',
    strategy: 'packed',
    preferAlignByUncoreCache: false,
    cpuGroupSize: 1,
  });
  expect(got.ok && got.cpus.size).toBe(301);
  expect(got.steps.map(({ because }) => because).join()).toContain(
    'the search for the best balance was ended by its bound',
  );
});

test('the reservation follows the options of the policy', () => {
  const distributed = { ...NO_OPTIONS, distributeCpusAcrossNuma: true };
  expect(chooseReserved(dual, distributed, { count: 10 })).toEqual({
    ok: true,
    reserved: parseCpuList('0-2,4-6,8-9,12-13'),
  });
  expect(chooseReserved(dual, NO_OPTIONS, { count: 2 })).toEqual({ ok: true, reserved: parseCpuList('0,8') });
});

test.each([
  [
    'CPUs that are not online',
    { list: parseCpuList('0,16') },
    'reserved CPUs 0,16: 16 not online (online are 0-15); reserve online CPUs',
  ],
  [
    'another size than the count',
    { list: parseCpuList('0-1'), count: 1 },
    'reserved CPUs 0-1 are 2, but 1 are to be reserved; make both the same',
  ],
  ['nothing', { count: 0 }, 'no CPU is reserved; the static policy needs at least one for the system, reserve it'],
  [
    'an empty list',
    { list: CpuSet.empty },
    'no CPU is reserved; the static policy needs at least one for the system, reserve it',
  ],
  ['more than there are', { count: 17 }, '17 CPUs are to be reserved, but only 16 are online; reserve fewer'],
])('a reservation of %s is refused', (_name, wanted, error) => {
  expect(chooseReserved(dual, NO_OPTIONS, wanted)).toEqual({ ok: false, error });
});

test('a NUMA node over two sockets is one node, and gives its share once', () => {
  const nodeOf = [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2];
  const cpus = nodeOf.map((numaNode, id): CpuInfo => ({
    id,
    core: id,
    socket: id < 6 ? 0 : 1,
    numaNode,
    uncoreCache: numaNode,
  }));
  const got = takeFrom(buildTopology({ cpus }), '0-11', 11, { algorithm: 'distributed' });
  expect(got.ok && got.cpus.toString()).toBe('0-10');
});

test('threads per core are those of the largest core, not the mean', () => {
  expect(threadsPerCore(hybrid)).toBe(2);
});
