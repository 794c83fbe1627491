import type { CpuSet } from '../cpuset';
import type { Topology, Unit } from './topology';

/** What units a set of CPUs is aligned to, by the kubelet's words. */
export type AlignmentBoundary = 'physical_cpu' | 'uncore_cache' | 'numa_node';

/** `physical_cpu`: the set is made of whole cores. The others: it lies in one such unit. */
export function listAlignments(topology: Topology, cpus: CpuSet): readonly AlignmentBoundary[] {
  const liesInOne = (units: readonly Unit[]): boolean => units.some((unit) => cpus.isSubsetOf(unit.cpus));
  const hasWholeCores = topology.cores.every((core) => !core.cpus.overlaps(cpus) || core.cpus.isSubsetOf(cpus));
  return [
    ...(hasWholeCores ? ['physical_cpu' as const] : []),
    ...(liesInOne(topology.uncoreCaches) ? ['uncore_cache' as const] : []),
    ...(liesInOne(topology.numaNodes) ? ['numa_node' as const] : []),
  ];
}
