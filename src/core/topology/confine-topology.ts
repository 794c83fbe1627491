import { CpuSet } from '../cpuset';
import { isOrAre } from '../text';
import { restrictTopology, type Confinement, type CpuBound, type Topology } from './topology';

/**
 * The machine as this node may use it: a CPU that is online but out of bounds is to every decision as one that is
 * offline. The whole machine stays known. A bound without any online CPU confines nothing: no process could run there,
 * so it is wrong or about to change.
 */
export function confineTopology(machine: Topology, bound: CpuBound | undefined): Topology {
  if (!bound || machine.online.isSubsetOf(bound.cpus) || !machine.online.overlaps(bound.cpus)) return machine;
  return {
    ...restrictTopology(machine, bound.cpus),
    confinement: { bound, machine },
  };
}

/** The machine with all its online CPUs, for everything but giving them out. */
export function machineOf(topology: Topology): Topology {
  return topology.confinement?.machine ?? topology;
}

/** The CPUs that are online and that this node may not use. */
export function barredCpus(topology: Topology): CpuSet {
  return topology.confinement ? topology.confinement.machine.online.minus(topology.online) : CpuSet.empty;
}

/** `CPUs 8-11 are online, but the cgroup /lxc has 0-7 only`, of some CPUs that are out of bounds. */
export function describeBarred({ bound }: Confinement, cpus: CpuSet): string {
  const [name, list] = [cpus.size === 1 ? 'CPU' : 'CPUs', bound.cpus.toString()];
  return `${name} ${cpus.toString()} ${isOrAre(cpus.size)} online, but the cgroup ${bound.cgroup} has ${list} only`;
}
