import fc from 'fast-check';
import { allocate, allocateByOptions, type AllocationRequest } from '../../../src/core/allocation';
import { CpuSet } from '../../../src/core/cpuset';
import { NO_OPTIONS } from '../../../src/core/model/settings';
import { buildTopology, type Topology, type Unit } from '../../../src/core/topology';
import { arbitraryMachine, arbitraryShape, cpusOf, makeRandom } from '../topology/arbitrary-machine';

const RUNS = { seed: 20261121, numRuns: 250 };

const arbitraryRequest: fc.Arbitrary<AllocationRequest> = fc
  .record({
    topology: arbitraryMachine,
    busy: fc.constantFrom(0, 0.1, 0.5, 0.9),
    seed: fc.integer({ min: 0, max: 2 ** 31 - 1 }),
    part: fc.double({ min: 0, max: 1.1, noNaN: true }),
    rules: fc.record({
      algorithm: fc.constantFrom('packed', 'distributed'),
      strategy: fc.constantFrom('packed', 'packed', 'spread'),
      preferAlignByUncoreCache: fc.boolean(),
      cpuGroupSize: fc.constantFrom(1, 1, 2, 3, 4, 8),
    }),
  })
  .map(({ topology, busy, seed, part, rules }) => {
    const random = makeRandom(seed);
    const available = CpuSet.of(topology.online.toArray().filter(() => random() >= busy));
    return { ...rules, topology, available, count: Math.round(available.size * part) };
  });

test('a run takes exactly the count of available CPUs, or throws when there are too few', () => {
  fc.assert(
    fc.property(arbitraryRequest, (request) => {
      const got = allocate(request);
      expect(got.ok).toBe(request.count <= request.available.size);
      if (!got.ok) return;
      expect(got.cpus.size).toBe(request.count);
      expect(got.cpus.isSubsetOf(request.available)).toBe(true);
      expect(CpuSet.unionOf(got.steps.map(({ took }) => took)).equals(got.cpus)).toBe(true);
    }),
    RUNS,
  );
});

test('the same request gives the same CPUs, with the same reasons', () => {
  fc.assert(
    fc.property(arbitraryRequest, (request) => {
      const twin = { ...request, topology: buildTopology({ cpus: [...request.topology.cpus].reverse() }) };
      expect(JSON.stringify(allocate(twin))).toBe(JSON.stringify(allocate(request)));
    }),
    RUNS,
  );
});

test('on an idle machine packed allocation uses no more cores, NUMA nodes and sockets than the count needs', () => {
  fc.assert(
    fc.property(arbitraryShape, fc.double({ min: 0, max: 1, noNaN: true }), (shape, part) => {
      const topology = buildTopology({ cpus: cpusOf(shape) });
      const count = Math.round(topology.online.size * part);
      const packed = {
        algorithm: 'packed',
        strategy: 'packed',
        preferAlignByUncoreCache: false,
        cpuGroupSize: 1,
      } as const;
      const got = allocate({ ...packed, topology, available: topology.online, count });
      if (!got.ok) throw new Error(got.error);
      for (const units of unequal(topology) ? [] : [topology.cores, topology.numaNodes, topology.sockets]) {
        expect(countTouched(units, got.cpus)).toBe(Math.ceil(count / units[0]!.cpus.size));
      }
    }),
    RUNS,
  );
});

test('prefer-align-cpus-by-uncorecache: no allocation spans more caches than the fewest that have the count free, on whatever machine', () => {
  fc.assert(
    fc.property(arbitraryRequest, ({ topology, available, count, strategy }) => {
      const rules = { algorithm: 'packed', preferAlignByUncoreCache: true, cpuGroupSize: 1, strategy } as const;
      const got = allocate({ topology, available, count, ...rules });
      if (!got.ok) return;
      const free = topology.uncoreCaches.map(({ cpus }) => cpus.intersect(available).size);
      expect(countTouched(topology.uncoreCaches, got.cpus)).toBe(fewestOf(free, count));
    }),
    RUNS,
  );
});

test('distribute-cpus-across-numa: no allocation spans more NUMA nodes than the fewest that can give equal shares, on whatever machine', () => {
  fc.assert(
    fc.property(arbitraryRequest, ({ topology, available, count, strategy }) => {
      const rules = { algorithm: 'distributed', preferAlignByUncoreCache: false, cpuGroupSize: 1, strategy } as const;
      const got = allocate({ topology, available, count, ...rules });
      if (!got.ok || count === 0) return;
      const free = topology.numaNodes.map(({ cpus }) => cpus.intersect(available).size).sort((a, b) => b - a);
      const suffices = (nodes: number): boolean =>
        free[nodes - 1]! >= Math.floor(count / nodes) && fewestOf(free, count) <= nodes;
      const fewest = free.findIndex((_, i) => suffices(i + 1)) + 1;
      expect(got.steps.map(({ rule }) => rule === 'distribute')).toContain(fewest > 0);
      if (fewest > 0) expect(countTouched(topology.numaNodes, got.cpus)).toBe(fewest);
    }),
    RUNS,
  );
});

/** The least number of units that together have the count, found by adding one after the other, the fullest first. */
function fewestOf(free: readonly number[], count: number): number {
  const descending = [...free].sort((a, b) => b - a);
  let [units, sum] = [0, 0];
  while (sum < count) sum += descending[units++]!;
  return units;
}

test('full cores only: with groups of a whole core no core is broken on an idle machine', () => {
  fc.assert(
    fc.property(arbitraryShape, fc.double({ min: 0, max: 1, noNaN: true }), (shape, part) => {
      const topology = buildTopology({ cpus: cpusOf(shape) });
      const count = Math.round((topology.online.size / shape.threads) * part) * shape.threads;
      for (const distributeCpusAcrossNuma of [false, true]) {
        const options = { ...NO_OPTIONS, fullPcpusOnly: true, distributeCpusAcrossNuma };
        const got = allocateByOptions(topology, options, topology.online, count);
        if (!got.ok) throw new Error(got.error);
        expect(topology.cores.filter(({ cpus }) => cpus.overlaps(got.cpus) && !cpus.isSubsetOf(got.cpus))).toEqual([]);
      }
    }),
    RUNS,
  );
});

function countTouched(units: readonly Unit[], cpus: CpuSet): number {
  return units.filter((unit) => unit.cpus.overlaps(cpus)).length;
}

function unequal({ cores, numaNodes, sockets }: Topology): boolean {
  return [cores, numaNodes, sockets].some((units) => units.some(({ cpus }) => cpus.size !== units[0]!.cpus.size));
}
