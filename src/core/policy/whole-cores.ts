import { CpuSet } from '../cpuset';
import type { Topology } from '../topology';

/** The CPUs whose core lies wholly in the set. */
export function keepWholeCores(topology: Topology, cpus: CpuSet): CpuSet {
  return CpuSet.unionOf(topology.cores.filter((core) => core.cpus.isSubsetOf(cpus)).map((core) => core.cpus));
}

/** The cores that have one of these CPUs and lie wholly in `reach`. */
export function completeCores(topology: Topology, cpus: CpuSet, reach: CpuSet): CpuSet {
  const begun = topology.cores.filter((core) => core.cpus.overlaps(cpus) && core.cpus.isSubsetOf(reach));
  return CpuSet.unionOf(begun.map((core) => core.cpus));
}
