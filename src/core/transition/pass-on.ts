import type { NodeView } from '../model/node-model';
import type { Draft } from './draft';
import { retrySwitches } from './live-switch';
import { planWaiting } from './plan-pods';
import { returnIdle } from './return-idle';
import { placeWaiting } from './waiting';

/**
 * What follows every change that may have given CPUs back, whoever told of it: an event, or the runtime's list. Idle CPUs that
 * nobody of their pod can need go back too, and all of it is passed on to those who lack some.
 */
export function passOn(draft: Draft): void {
  returnIdle(draft);
  if (draft.isDurable || draft.hasUnplanned) servePending(draft); // else nobody can have given CPUs back
}

/**
 * Serves those who lack CPUs, as far as there are any: first who runs without those it is entitled to, then who has to be
 * switched, then pods whose containers are still to come; of all whoever waits longest. What does not fit stays as it is.
 *
 * In one transaction so many are decided on (`mostDecisions`), from the first in the line; `draft.isCut` tells that some are left.
 * `tried`: those who were decided on before, and are not now.
 */
export function servePending(draft: Draft, tried = new Set<string>()): void {
  placeWaiting(draft, tried);
  retrySwitches(draft, tried);
  planWaiting(draft, tried);
}

/** Whether anybody lacks CPUs. */
export function hasPending(view: NodeView): boolean {
  return view.unplanned.size > 0 || view.waiting.size > 0 || view.unswitched.size > 0;
}
