import { CpuSet } from '../cpuset';
import type { Topology } from '../topology';

/** The CPUs whose core lies wholly in the set. */
export function keepWholeCores(topology: Topology, cpus: CpuSet): CpuSet {
  return CpuSet.unionOf(topology.cores.filter((core) => core.cpus.isSubsetOf(cpus)).map((core) => core.cpus));
}
