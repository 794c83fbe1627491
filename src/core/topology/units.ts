import { CpuSet } from '../cpuset';
import { machineOf } from './confine-topology';
import type { Topology, Unit } from './topology';

/** CPUs in the largest core: full-pcpus-only allocates so many at once. */
export function threadsPerCore(topology: Topology): number {
  return machineOf(topology).index.core.largest;
}

/** The CPUs of the NUMA nodes with these ids. */
export function cpusOfNodes({ numaNodes }: Topology, nodes: CpuSet): CpuSet {
  return CpuSet.unionOf(numaNodes.filter(({ id }) => nodes.has(id)).map(({ cpus }) => cpus));
}

/** All CPUs of the sockets that have one of these. */
export function completeSockets({ sockets }: Topology, some: CpuSet): CpuSet {
  return CpuSet.unionOf(sockets.filter(({ cpus }) => cpus.overlaps(some)).map(({ cpus }) => cpus));
}

/** The CPUs whose core lies wholly in the set. A core is not whole where others run on a CPU of it that this node may not use. */
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

/** The units that a set of CPUs can be aligned to, by the kubelet's words. */
export type AlignmentBoundary = 'physical_cpu' | 'uncore_cache' | 'numa_node';

/** `physical_cpu`: the set is made of whole cores. The others: it lies in one such unit. */
export function listAlignments(topology: Topology, cpus: CpuSet): readonly AlignmentBoundary[] {
  const liesInOne = (units: readonly Unit[]): boolean => units.some((unit) => cpus.isSubsetOf(unit.cpus));
  const hasWholeCores = machineOf(topology).cores.every(
    (core) => !core.cpus.overlaps(cpus) || core.cpus.isSubsetOf(cpus),
  );
  return [
    ...(hasWholeCores ? ['physical_cpu' as const] : []),
    ...(liesInOne(topology.uncoreCaches) ? ['uncore_cache' as const] : []),
    ...(liesInOne(topology.numaNodes) ? ['numa_node' as const] : []),
  ];
}
