import { CpuSet } from '../cpuset';
import { MAX_ALLOWABLE_NUMA_NODES } from '../options/topology-manager-options';
import type { Topology } from '../topology';
import { hitInOrder, LeastHits, maskOf } from './least-hits';

/** The CPUs that a request leaves to containers that follow NUMA nodes: each keeps one on its nodes. */
export interface LeftToFollowers {
  /** The sets of followers that could be taken whole; none contains another one. */
  readonly followed: readonly FollowedSet[];
  /**
   * The ways to leave CPUs to followers. The first loses least. Where whole cores of unlike sizes are given there is
   * one for each size: a request may need all cores of another. Empty without followers.
   */
  readonly ways: readonly Way[];
}

/** CPUs of which followers of NUMA nodes keep one. */
interface FollowedSet {
  readonly cpus: CpuSet;
  /** Indexes of its NUMA nodes, those first where the least is lost. */
  readonly nodes: readonly number[];
}

/** A way to leave a CPU to each follower. */
interface Way {
  /** By index of the NUMA node: the CPU to leave there. */
  readonly leftOn: readonly (LeftCpu | undefined)[];
  /** Absent on a machine with too many nodes to weigh all combinations. */
  readonly leastHits?: LeastHits;
}

interface LeftCpu {
  readonly cpu: number;
  /** CPUs that can't be taken then: it alone, or its core. */
  readonly lost: number;
  /** CPUs among these that the pool keeps. */
  readonly free: number;
}

interface Candidates {
  /** All CPUs that may be taken. */
  readonly cpus: CpuSet;
  readonly free: CpuSet;
  readonly inWholeCores: boolean;
}

/** Finds the CPUs to leave to followers with these sets. `sizes`: CPUs of the units that may be taken, ascending. */
export function leaveToFollowers(
  topology: Topology,
  sets: readonly CpuSet[],
  { sizes, ...candidates }: Candidates & { readonly sizes: readonly number[] },
): LeftToFollowers {
  if (sets.length === 0) return { followed: [], ways: [] };
  const lefts = sizes.map((size) =>
    topology.numaNodes.map(({ cpus }) => leaveOne(topology, cpus, { ...candidates, size })),
  );
  const followed = listFollowed(topology, sets, { leftOn: lefts[0]!, free: candidates.free });
  return { followed, ways: lefts.map((leftOn, i) => createWay(followed, leftOn, i === 0 ? undefined : sizes[i])) };
}

/** More CPUs than a core has. */
const CORE = 2 ** 8;
/** More than all cores that can be left weigh together. */
const OF_OTHER_SIZE = 2 ** 22;

/**
 * Leaves as little as possible, or as few cores as possible of another size than this; of equals what costs the pool
 * most.
 */
function createWay(followed: readonly FollowedSet[], leftOn: Way['leftOn'], size?: number): Way {
  if (leftOn.length > MAX_ALLOWABLE_NUMA_NODES) return { leftOn };
  const weights = leftOn.map((left) => {
    const { lost, free } = left ?? { lost: 0, free: 0 };
    const weight = lost * CORE - free;
    return size === undefined || lost === size ? weight : OF_OTHER_SIZE + weight;
  });
  const sets = followed.map(({ nodes }) => nodes);
  return { leftOn, leastHits: new LeastHits(sets, weights) };
}

/**
 * The free CPU of a node whose core has the fewest candidates, so that no whole core is torn; of these one in a core of
 * that size, else in a small one; of these one in the core that costs the pool most; of these the highest.
 */
function leaveOne(
  { index, cores }: Topology,
  node: CpuSet,
  { cpus, free, inWholeCores, size }: Candidates & { readonly size: number },
): LeftCpu | undefined {
  let left: LeftCpu | undefined;
  let best = [0, 0, 0];
  free.intersect(node).forEach((cpu) => {
    const core = cores[index.core.unitOf[index.indexOf[cpu]!]!]!.cpus;
    const merit = [
      core.size - core.countIn(cpus),
      core.size === size ? 0 : -core.size,
      inWholeCores ? core.countIn(free) : 0,
    ];
    const differs = merit.findIndex((value, i) => value !== best[i]);
    if (left !== undefined && differs !== -1 && merit[differs]! < best[differs]!) return;
    best = merit;
    left = inWholeCores ? { cpu, lost: core.size, free: core.countIn(free) } : { cpu, lost: 1, free: 1 };
  });
  return left;
}

function listFollowed(
  { numaNodes }: Topology,
  sets: readonly CpuSet[],
  { leftOn, free }: { readonly leftOn: Way['leftOn']; readonly free: CpuSet },
): FollowedSet[] {
  const smallestFirst = [...sets].sort((a, b) => a.size - b.size);
  const minimal: CpuSet[] = [];
  for (const set of smallestFirst) if (!minimal.some((smaller) => smaller.isSubsetOf(set))) minimal.push(set);
  // The zone with the most free CPUs stays whole where there is a choice.
  const freeOn = numaNodes.map(({ cpus }) => cpus.countIn(free));
  return minimal.map((cpus) => ({
    cpus,
    nodes: numaNodes
      .flatMap((node, i) => (node.cpus.overlaps(cpus) ? [i] : []))
      .sort((a, b) => leftOn[a]!.lost - leftOn[b]!.lost || freeOn[a]! - freeOn[b]! || b - a),
  }));
}

/** The CPUs to leave to followers when all others of a region may be taken, so that as few as possible are lost. */
export function leastLeftIn(left: LeftToFollowers, region?: CpuSet): CpuSet {
  return listWaysToLeave(left, region)[0]!;
}

/** The same in each way, the one first that loses least. */
export function listWaysToLeave({ followed, ways }: LeftToFollowers, region?: CpuSet): readonly CpuSet[] {
  const sets = followed.filter(({ cpus }) => region === undefined || cpus.isSubsetOf(region)).map(({ nodes }) => nodes);
  if (sets.length === 0) return [CpuSet.empty];
  const nodes = hitInOrder(sets);
  return ways.map(({ leftOn, leastHits }) => {
    const hits = leastHits?.within(sets.reduce((mask, set) => mask | maskOf(set), 0));
    const left = hits === undefined ? nodes.map((node) => leftOn[node]) : leftOn.filter((_, i) => (hits & (1 << i)) !== 0); // prettier-ignore
    return CpuSet.of(left.map((each) => each!.cpu));
  });
}
