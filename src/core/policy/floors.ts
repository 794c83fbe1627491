import { CpuSet } from '../cpuset';
import type { Decision, Snapshot } from './policy';

/**
 * Lets `choose` take CPUs out of the shared pool, but never the last ones of it, nor of what a container that follows NUMA
 * nodes runs on. It first chooses freely; only if that takes too much, CPUs are put out of its reach and it chooses again.
 */
export function chooseWithinFloors(snapshot: Snapshot, reach: CpuSet, choose: (reach: CpuSet) => Decision): Decision {
  const besideFollowers = leaveForFollowers(snapshot, reach);
  const freely = choose(reach);
  if (isWithinFloors(snapshot, freely)) return freely;
  const modestly = besideFollowers.equals(reach) ? freely : choose(besideFollowers);
  if (isWithinFloors(snapshot, modestly)) return modestly;
  return choose(leaveForPool(snapshot, besideFollowers));
}

/** Those who follow NUMA nodes, and the machine that they follow them on. */
export interface FollowersOfMachine extends Pick<Snapshot, 'topology'> {
  readonly followers: Pick<Snapshot['followers'], 'sets'>;
}

/** What may be taken of the CPUs in any combination without taking any follower's last one. */
export function leaveForFollowers({ followers, topology }: FollowersOfMachine, reach: CpuSet): CpuSet {
  if (followers.sets.length === 0) return reach;
  const { placeOf, core } = topology.index;
  /** CPUs of each core that are out of reach. */
  const tornOf = topology.cores.map(({ cpus }) => cpus.size - cpus.countIn(reach));
  let rest = reach;
  for (const set of [...followers.sets].sort((a, b) => a.size - b.size)) {
    if (set.isEmpty || !set.isSubsetOf(rest)) continue;
    const cpu = leastUseful(set);
    rest = rest.minus(CpuSet.of([cpu]));
    tornOf[core.of[placeOf[cpu]!]!]!++;
  }
  return rest;

  /** The one whose core has the most CPUs out of reach already, so that no whole core is torn; of these the highest of a small core. */
  function leastUseful(set: CpuSet): number {
    let most = -1;
    let size = Infinity;
    let best = -1;
    set.forEach((cpu) => {
      const of = core.of[placeOf[cpu]!]!;
      const [torn, cpus] = [tornOf[of]!, topology.cores[of]!.cpus.size];
      if (torn > most || (torn === most && cpus <= size)) [most, size, best] = [torn, cpus, cpu];
    });
    return best;
  }
}

/** What may be taken of the CPUs, even all of it, without going below the floor of the pool: the highest stay out of reach. */
function leaveForPool({ sharedPool, settings }: Snapshot, reach: CpuSet): CpuSet {
  const spare = sharedPool.size - settings.minSharedCpus;
  if (reach.countIn(sharedPool) <= spare) return reach;
  return CpuSet.of(reach.toArray().slice(0, Math.max(0, spare)));
}

/** Whether it gives CPUs, and leaves the others enough. */
export function isWithinFloors({ sharedPool, settings, followers }: Snapshot, decision: Decision): boolean {
  if (decision.kind !== 'pin') return false;
  const fromPool = decision.cpus.countIn(sharedPool);
  if (fromPool === 0) return true;
  return (
    sharedPool.size - fromPool >= settings.minSharedCpus &&
    followers.sets.every((set) => set.isEmpty || !set.isSubsetOf(decision.cpus))
  );
}
