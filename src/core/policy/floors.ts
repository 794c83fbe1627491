import type { Decision, Snapshot } from './policy';

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
