import { CpuSet } from '../cpuset';
import type { Decision, Snapshot } from './policy';

/**
 * Lets `choose` take CPUs out of the shared pool, but never the last ones of it, nor of the CPUs that a follower of NUMA nodes
 * runs on. It first chooses among all candidates; only if that takes too much, it chooses again among fewer.
 */
export function chooseWithinFloors(
  snapshot: Snapshot,
  candidates: CpuSet,
  choose: (candidates: CpuSet) => Decision,
): Decision {
  const besideFollowers = leaveForFollowers(snapshot, candidates);
  const unrestricted = choose(candidates);
  if (isWithinFloors(snapshot, unrestricted)) return unrestricted;
  const restricted = besideFollowers.equals(candidates) ? unrestricted : choose(besideFollowers);
  if (isWithinFloors(snapshot, restricted)) return restricted;
  return choose(leaveForPool(snapshot, besideFollowers));
}

/** The followers of NUMA nodes, and the machine. */
export interface FollowersOfMachine extends Pick<Snapshot, 'topology'> {
  readonly followers: Pick<Snapshot['followers'], 'sets'>;
}

/** The CPUs that may be taken in any combination without taking any follower's last one. */
export function leaveForFollowers({ followers, topology }: FollowersOfMachine, candidates: CpuSet): CpuSet {
  if (followers.sets.length === 0) return candidates;
  const { indexOf, core } = topology.index;
  /** The number of CPUs of each core that are no candidates. */
  const tornOf = topology.cores.map(({ cpus }) => cpus.size - cpus.countIn(candidates));
  let rest = candidates;
  for (const set of [...followers.sets].sort((a, b) => a.size - b.size)) {
    if (set.isEmpty || !set.isSubsetOf(rest)) continue;
    const cpu = leastUseful(set);
    rest = rest.minus(CpuSet.of([cpu]));
    tornOf[core.of[indexOf[cpu]!]!]!++;
  }
  return rest;

  /** The CPU whose core has the fewest candidates, so that no whole core is torn; of these the highest of a small core. */
  function leastUseful(set: CpuSet): number {
    let most = -1;
    let size = Infinity;
    let best = -1;
    set.forEach((cpu) => {
      const of = core.of[indexOf[cpu]!]!;
      const [torn, cpus] = [tornOf[of]!, topology.cores[of]!.cpus.size];
      if (torn > most || (torn === most && cpus <= size)) [most, size, best] = [torn, cpus, cpu];
    });
    return best;
  }
}

/** The CPUs that may all be taken without going below the floor of the pool: the highest are left out. */
function leaveForPool({ sharedPool, settings }: Snapshot, candidates: CpuSet): CpuSet {
  const spare = sharedPool.size - settings.minSharedCpus;
  if (candidates.countIn(sharedPool) <= spare) return candidates;
  return CpuSet.of(candidates.toArray().slice(0, Math.max(0, spare)));
}

/** True for a decision that gives CPUs and leaves the others enough. */
export function isWithinFloors({ sharedPool, settings, followers }: Snapshot, decision: Decision): boolean {
  if (decision.kind !== 'pin') return false;
  const fromPool = decision.cpus.countIn(sharedPool);
  if (fromPool === 0) return true;
  return (
    sharedPool.size - fromPool >= settings.minSharedCpus &&
    followers.sets.every((set) => set.isEmpty || !set.isSubsetOf(decision.cpus))
  );
}
