import { CpuSet } from '../cpuset';
import type { Topology } from '../topology';
import type { HoldingsView } from './holdings';
import type { Settings } from './settings';

/** The sets of CPUs that follow from the machine, the rules and all assignments. */
export interface DerivedSets {
  /** Online CPUs that belong to one container or pod alone. */
  readonly exclusive: CpuSet;
  /** Online CPUs of the shared pool that no other assignment gets. */
  readonly nonExclusive: CpuSet;
  /** The CPUs of containers without CPUs of their own; never empty. */
  readonly sharedPool: CpuSet;
  /** CPUs that can be allocated now, floors not considered. */
  readonly free: CpuSet;
}

export function deriveSets(topology: Topology, settings: Settings, holdings: HoldingsView): DerivedSets {
  const exclusive = holdings.exclusive.intersect(topology.online);
  const held = holdings.nonExclusive.intersect(topology.online);
  const notExclusive = topology.online.minus(exclusive);
  const strictlyReserved = settings.options.strictCpuReservation ? settings.reserved : CpuSet.empty;
  return {
    exclusive,
    nonExclusive: held,
    sharedPool: firstNonEmpty(
      notExclusive.minus(strictlyReserved),
      // Only when CPUs went offline: shared containers must run somewhere, rather on reserved CPUs than on exclusive
      // ones, and rather on those than nowhere. The reconciler reports it as violated.
      notExclusive,
      topology.online,
    ),
    free: notExclusive.minus(settings.reserved).minus(held),
  };
}

function firstNonEmpty(...sets: CpuSet[]): CpuSet {
  return sets.find((set) => !set.isEmpty) ?? CpuSet.empty;
}
