import { samePromise, type Container, type CpuPromise } from '../../core/model/container';
import type { NodeView } from '../../core/model/node-view';
import { planQuotas } from '../../core/verdict/plan-quotas';
import { judge, type Verdict } from '../../core/verdict/judge';
import type { Observation, Seen } from '../../core/verdict/observation';

/** A verdict that needs no repair. `isUnapplied`: a move failed, and it is made later. */
export interface ReadBackVerdict {
  readonly verdict: Verdict;
  readonly isUnapplied: boolean;
}

/**
 * Judges a container that was read back. Undefined when a verdict is not enough: the model or the cgroup has to change.
 * Pure.
 */
export function judgeReadBack(
  view: NodeView,
  container: Container,
  observation: Observation,
): ReadBackVerdict | undefined {
  const verdict = judge(view, container, observation);
  const isApplied = samePromise(container.applied, container.promise);
  if (verdict.kind === 'drifted') {
    if (isApplied) return undefined;
    // No other writer is at work: the move failed. The runtime makes it, or the next round does.
    return {
      verdict: { kind: 'pending', because: `${verdict.because}: not carried out yet` },
      isUnapplied: true,
    };
  }
  const isModelCurrent = isApplied || observation.kind !== 'seen' || container.promise === undefined;
  const isComplete = isModelCurrent && planQuotas(view, container, observation).length === 0;
  return isComplete ? { verdict, isUnapplied: false } : undefined;
}

/**
 * The result of a repair. `unreadable`: not known yet. `refused`: the write failed. `undone`: the write succeeded, and
 * another writer changed the value again. `gone`: there is nothing left to repair.
 */
export type RepairResult = 'ok' | 'unreadable' | 'refused' | 'undone' | 'gone';

/** Compares a repaired container with a reading that was taken after the repair. Pure. */
export function checkRepair({ promise, applied }: Container, observation: Observation, verdict: Verdict): RepairResult {
  if (observation.kind === 'seen' && hasAsPromised(promise, observation)) return 'ok';
  if (observation.kind === 'unreadable') return 'unreadable';
  if (verdict.kind !== 'drifted') return 'gone';
  return promise && samePromise(applied, promise) ? 'undone' : 'refused';
}

export function hasAsPromised(promise: CpuPromise | undefined, { cpus, mems }: Seen): boolean {
  return promise !== undefined && cpus.equals(promise.cpus) && (promise.mems.isEmpty || mems.equals(promise.mems));
}
