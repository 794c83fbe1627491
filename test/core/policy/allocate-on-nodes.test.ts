import fc from 'fast-check';
import { CpuSet, parseCpuList } from '../../../src/core/cpuset';
import { allocateOnNodes } from '../../../src/core/policy/allocate-on-nodes';
import { grantOptionsOf } from '../../../src/core/policy/grant-options';
import { buildTopology, cpusOfNodes, type Topology } from '../../../src/core/topology';
import { arbitraryMachine, cpusOf, makeRandom } from '../topology/arbitrary-machine';
import { bareSnapshot } from './bare-snapshot';

/** Two sockets of four cores: 0-3,8-11 and 4-7,12-15. */
const dual = buildTopology({
  cpus: cpusOf({ sockets: 2, nodesPerSocket: 1, coresPerNode: 4, coresPerCache: 4, threads: 2, numbering: 'split' }),
});

function allocate(
  topology: Topology,
  { free, idle = CpuSet.empty, count, nodes }: { free: CpuSet; idle?: CpuSet; count: number; nodes?: CpuSet },
) {
  const snapshot = bareSnapshot(topology, { free, idleInPod: idle, settings: { minSharedCpus: 0 } });
  const sources = [CpuSet.empty, idle, free].map((cpus) => ({ what: '', cpus }));
  return allocateOnNodes(snapshot, grantOptionsOf('static', snapshot.settings), sources, {
    count,
    ...(nodes && { nodes }),
  });
}

test.each([
  ['from any node when none is named', undefined, 4, '', '0-1,8-9'],
  ['from the named node', '1', 4, '', '4-5,12-13'],
  ['from other nodes when the named node has too few', '1', 10, '', '0,4-8,12-15'],
  ['from the idle CPUs of the pod too', undefined, 16, '0', '0-15'],
])('CPUs are taken %s', (_name, nodes, count, list, want) => {
  const idle = parseCpuList(list);
  const free = dual.online.minus(idle);
  const got = allocate(dual, { free, idle, count, ...(nodes !== undefined && { nodes: parseCpuList(nodes) }) });
  expect(got.ok && got.cpus.toString()).toBe(want);
});

test('given nodes with too few CPUs, all of theirs are taken, and only the rest from other nodes', () => {
  const request = fc.record({
    topology: arbitraryMachine,
    busy: fc.constantFrom(0, 0.1, 0.5, 0.9),
    seed: fc.integer({ min: 0, max: 2 ** 31 - 1 }),
    part: fc.double({ min: 0, max: 1, noNaN: true }),
    mask: fc.nat(),
  });
  fc.assert(
    fc.property(request, ({ topology, busy, seed, part, mask }) => {
      const random = makeRandom(seed);
      const free = CpuSet.of(topology.online.toArray().filter(() => random() >= busy));
      const count = Math.round(free.size * part);
      const nodes = CpuSet.of(topology.numaNodes.filter((_, i) => (mask & (1 << i)) !== 0).map(({ id }) => id));
      const got = allocate(topology, { free, count, nodes });
      if (!got.ok) throw new Error(got.error);
      expect(got.cpus.size).toBe(count);
      expect(got.cpus.isSubsetOf(free)).toBe(true);
      const there = cpusOfNodes(topology, nodes);
      expect(got.cpus.countIn(there)).toBe(Math.min(count, free.countIn(there)));
    }),
    { seed: 20261121, numRuns: 250 },
  );
});
