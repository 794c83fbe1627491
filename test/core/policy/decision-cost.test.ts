import { CpuSet } from '../../../src/core/cpuset';
import { NO_OPTIONS } from '../../../src/core/model/settings';
import { POLICIES, type Snapshot } from '../../../src/core/policy';
import { buildTopology } from '../../../src/core/topology';
import { leastCpuMs } from '../../support/cpu-time';
import { bareSnapshot } from './bare-snapshot';
import { listDecisions } from './decision-grid';

/** The time of one pass over the 65,536 combinations of 16 nodes on this machine: the unit of the measurements. */
function passMs(): number {
  const sums = new Float64Array(2 ** 16);
  const amounts = Array.from({ length: 16 }, (_, i) => i + 0.5);
  const { clz32 } = Math;
  const tenPasses = (): void => {
    for (let pass = 0; pass < 10; pass++)
      for (let mask = 1; mask < sums.length; mask++)
        sums[mask] = sums[mask & (mask - 1)]! + amounts[31 - clz32(mask & -mask)]!;
  };
  tenPasses();
  return leastCpuMs(tenPasses, { tries: 5 }) / 10;
}

/** The slowest decision takes about 220 passes. A search through pairs of combinations would take 65,536. */
const MOST_PASSES = 300;

/**
 * The time of the work in passes. A result above the limit is measured again: code is compiled late, and the garbage
 * collector may run.
 */
function passesOf(decide: () => unknown, knownUnitMs: number): number {
  let passes = leastCpuMs(decide, { tries: 1 }) / knownUnitMs;
  for (let again = 0; again < 6 && passes > MOST_PASSES; again++) {
    const unitMs = passMs();
    passes = Math.min(passes, leastCpuMs(decide, { tries: 10, limitMs: MOST_PASSES * unitMs }) / unitMs);
  }
  return passes;
}

test('a decision on 16 NUMA nodes costs a bounded number of passes over their combinations, for any options and occupied CPUs', () => {
  const above: string[] = [];
  let place = 0;
  let measured = 0;
  const unitMs = passMs();
  for (const { name, snapshot, request } of listDecisions(16)) {
    if (place++ % 211 !== 0) continue;
    measured += 1;
    const passes = passesOf(() => POLICIES.static(snapshot, request), unitMs);
    if (passes > MOST_PASSES) above.push(`${passes.toFixed()} passes: ${name}`);
  }
  expect(measured).toBeGreaterThan(90);
  expect(above).toEqual([]);
});

/** 1,024 CPUs in 16 nodes and 64 caches, and followers of all sets of so many nodes. */
function snapshotWithFollowers(nodesOfSet: number): Snapshot {
  const cpus = Array.from({ length: 1_024 }, (_, id) => {
    return { id, core: id >> 1, socket: id >> 7, numaNode: id >> 6, uncoreCache: id >> 4 };
  });
  const topology = buildTopology({ cpus });
  const free = topology.online.minus(CpuSet.of([0, 1]));
  const masks = Array.from({ length: 2 ** 16 }, (_, mask) => mask);
  const sets = masks
    .map((mask) => topology.numaNodes.filter((_, i) => (mask >> i) & 1))
    .filter((nodes) => nodes.length === nodesOfSet)
    .map((nodes) => CpuSet.unionOf(nodes.map((node) => node.cpus)).intersect(free));
  return bareSnapshot(topology, {
    free,
    sharedPool: topology.online,
    followers: { sets, demand: new Map(), ownNodes: CpuSet.empty, nodesOfPod: CpuSet.empty },
    settings: {
      reserved: CpuSet.of([0, 1]),
      options: { ...NO_OPTIONS, preferAlignCpusByUncorecache: true },
      topologyManager: {
        policy: 'restricted',
        scope: 'container',
        options: { preferClosestNumaNodes: false, maxAllowableNumaNodes: 16 },
      },
    },
  });
}

test.each([
  ['each node alone', 1, 1_006],
  ['any two nodes', 2, 1_007],
])(
  'with followers of %s of 16, the largest request costs as little, and one above it is refused',
  (_what, nodes, most) => {
    const snapshot = snapshotWithFollowers(nodes);
    const decide = (count: number) => POLICIES.static(snapshot, { count, podCount: count, memoryBytes: 0 });
    expect([decide(most).kind, decide(most + 1).kind]).toEqual(['pin', 'refuse']);
    expect(passesOf(() => decide(most), passMs())).toBeLessThan(MOST_PASSES);
  },
);
