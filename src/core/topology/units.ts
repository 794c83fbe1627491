import { CpuSet } from '../cpuset';
import { machineOf } from './confine-topology';
import type { Topology } from './topology';
import type { CacheUnit, Unit } from './unit';

/** CPUs in the largest core. */
export function threadsPerCore(topology: Topology): number {
  return machineOf(topology).index.core.largest;
}

/** Some cores have more CPUs than others: of another kind, or with a thread that is offline. */
export function hasUnlikeCores(topology: Topology): boolean {
  const { index } = machineOf(topology);
  return index.core.smallest !== index.core.largest;
}

/** CPUs in the largest core that has some of these. */
export function largestCore(topology: Topology, cpus: CpuSet): number {
  if (!hasUnlikeCores(topology)) return threadsPerCore(topology);
  return machineOf(topology).cores.reduce(
    (most, core) => (core.cpus.overlaps(cpus) ? Math.max(most, core.cpus.size) : most),
    1,
  );
}

/** Whole cores of one size. */
export interface CoresOfSize {
  /** CPUs of each. */
  readonly size: number;
  readonly cores: number;
  /** All of their CPUs. */
  readonly cpus: CpuSet;
}

/** The cores that lie wholly in the set, by their size; the largest first. */
export function coresBySize(topology: Topology, within: CpuSet): readonly CoresOfSize[] {
  const bySize = new Map<number, CpuSet[]>();
  for (const { cpus } of machineOf(topology).cores)
    if (cpus.isSubsetOf(within)) bySize.set(cpus.size, [...(bySize.get(cpus.size) ?? []), cpus]);
  return [...bySize]
    .sort(([a], [b]) => b - a)
    .map(([size, cores]) => ({ size, cores: cores.length, cpus: CpuSet.unionOf(cores) }));
}

/** The CPUs of the NUMA nodes with these ids. */
export function cpusOfNodes({ numaNodes }: Topology, nodes: CpuSet): CpuSet {
  return CpuSet.unionOf(numaNodes.filter(({ id }) => nodes.has(id)).map(({ cpus }) => cpus));
}

/** All CPUs of the sockets that have one of these. */
export function completeSockets({ sockets }: Topology, some: CpuSet): CpuSet {
  return CpuSet.unionOf(sockets.filter(({ cpus }) => cpus.overlaps(some)).map(({ cpus }) => cpus));
}

/**
 * The CPUs whose core lies wholly in the set. A core is not whole where others run on a CPU of it that this node may
 * not use.
 */
export function keepWholeCores(topology: Topology, within: CpuSet): CpuSet {
  return CpuSet.unionOf(
    machineOf(topology)
      .cores.filter(({ cpus }) => cpus.isSubsetOf(within))
      .map(({ cpus }) => cpus),
  );
}

/** The cores that have one of these CPUs and lie wholly in `usable`. */
export function completeCores(topology: Topology, some: CpuSet, usable: CpuSet): CpuSet {
  const begun = machineOf(topology).cores.filter(({ cpus }) => cpus.overlaps(some) && cpus.isSubsetOf(usable));
  return CpuSet.unionOf(begun.map(({ cpus }) => cpus));
}

/** The groups of CPUs that share a cache or a cluster, by all that the kernel says. */
export function knownCaches({ uncoreCaches }: Topology): readonly CacheUnit[] {
  return uncoreCaches.filter(({ level }) => level !== 'none');
}

/** The units that a set of CPUs can be aligned to, by the kubelet's words. */
export type AlignmentBoundary = 'physical_cpu' | 'uncore_cache' | 'numa_node';

/** `physical_cpu`: the set is made of whole cores. The others: it lies in one such unit, of which the kernel knows. */
export function listAlignments(topology: Topology, cpus: CpuSet): readonly AlignmentBoundary[] {
  const liesInOne = (units: readonly Unit[]): boolean => units.some((unit) => cpus.isSubsetOf(unit.cpus));
  const hasWholeCores = machineOf(topology).cores.every(
    (core) => !core.cpus.overlaps(cpus) || core.cpus.isSubsetOf(cpus),
  );
  return [
    ...(hasWholeCores ? ['physical_cpu' as const] : []),
    ...(liesInOne(knownCaches(topology)) ? ['uncore_cache' as const] : []),
    ...(liesInOne(topology.numaNodes) ? ['numa_node' as const] : []),
  ];
}
