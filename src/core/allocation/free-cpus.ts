import { CpuSet } from '../cpuset';
import { oncePer } from '../once-per';
import type { TopologyIndex, UnitIndex } from '../topology';

export type UnitKind = 'core' | 'socket' | 'numaNode' | 'uncoreCache';

/**
 * The CPUs that are still free while one allocation runs: a flag per CPU, and a count per unit. Changes as CPUs are
 * taken.
 */
export interface FreeCpus {
  readonly index: TopologyIndex;
  readonly isFree: Uint8Array;
  readonly count: Readonly<Record<UnitKind, Int32Array>>;
  size: number;
}

/**
 * The free CPUs of a set; ids that the topology does not have are left out. Counts what is free or what is not,
 * whichever is less.
 */
export function freeCpusOf(index: TopologyIndex, available: CpuSet): FreeCpus {
  const all = onlineOf(index);
  const some = available.intersect(all);
  if (some.size <= all.size / 2) {
    const free = nothingFree(index);
    some.forEach((id) => put(free, index.indexOf[id]!));
    return free;
  }
  const free = copy(allFree(index));
  all.minus(some).forEach((id) => remove(free, index.indexOf[id]!));
  return free;
}

const onlineOf = oncePer((index: TopologyIndex) => CpuSet.of(index.cpuIds));

const allFree = oncePer((index: TopologyIndex) => {
  const free = nothingFree(index);
  for (let cpu = 0; cpu < index.cpuIds.length; cpu++) put(free, cpu);
  return free;
});

function copy({ index, isFree, count, size }: FreeCpus): FreeCpus {
  return {
    index,
    isFree: isFree.slice(),
    count: {
      core: count.core.slice(),
      socket: count.socket.slice(),
      numaNode: count.numaNode.slice(),
      uncoreCache: count.uncoreCache.slice(),
    },
    size,
  };
}

/** The part of what is free that lies in one NUMA node. */
export function freeCpusInNode(free: FreeCpus, node: number): FreeCpus {
  const part = nothingFree(free.index);
  for (const cpu of free.index.numaNode.cpus[node]!) if (free.isFree[cpu] === 1) put(part, cpu);
  return part;
}

/** The part of what is free that lies in these uncore caches. */
export function freeCpusInCaches(free: FreeCpus, caches: readonly number[]): FreeCpus {
  const part = nothingFree(free.index);
  for (const cache of caches)
    for (const cpu of free.index.uncoreCache.cpus[cache]!) if (free.isFree[cpu] === 1) put(part, cpu);
  return part;
}

function nothingFree(index: TopologyIndex): FreeCpus {
  const counters = (units: UnitIndex) => new Int32Array(units.ids.length);
  return {
    index,
    isFree: new Uint8Array(index.cpuIds.length),
    count: {
      core: counters(index.core),
      socket: counters(index.socket),
      numaNode: counters(index.numaNode),
      uncoreCache: counters(index.uncoreCache),
    },
    size: 0,
  };
}

/** Gives a CPU back that was taken out. */
export function put(free: FreeCpus, cpu: number): void {
  free.isFree[cpu] = 1;
  change(free, cpu, 1);
}

/** Takes a free CPU out. */
export function remove(free: FreeCpus, cpu: number): void {
  free.isFree[cpu] = 0;
  change(free, cpu, -1);
}

function change(free: FreeCpus, cpu: number, by: 1 | -1): void {
  const { count, index } = free;
  count.core[index.core.unitOf[cpu]!]! += by;
  count.socket[index.socket.unitOf[cpu]!]! += by;
  count.numaNode[index.numaNode.unitOf[cpu]!]! += by;
  count.uncoreCache[index.uncoreCache.unitOf[cpu]!]! += by;
  free.size += by;
}

/**
 * The units of an order: fewest free CPUs first, then lowest id. Units without a free CPU do not occur.
 * `candidates` are ascending.
 */
export function orderUnits(free: FreeCpus, kind: UnitKind, candidates: ArrayLike<number>): number[] {
  const counts = free.count[kind];
  const units: number[] = [];
  const largest = free.index[kind].largest;
  if (largest <= 8) {
    // Counting instead of comparing keeps the order of many cores linear.
    for (let size = 1; size <= largest; size++) {
      for (let i = 0; i < candidates.length; i++) if (counts[candidates[i]!] === size) units.push(candidates[i]!);
    }
    return units;
  }
  for (let i = 0; i < candidates.length; i++) if (counts[candidates[i]!]! > 0) units.push(candidates[i]!);
  return units.sort((a, b) => counts[a]! - counts[b]! || a - b);
}
