import { compareTexts } from '../text';
import type { Container } from '../model/container';
import type { NodeView } from '../model/node-view';
import { resolvePod } from '../model/spec-book';
import { decidePlacement } from './decide';
import type { Draft } from './draft';
import { retrySwitches } from './live-switch';
import { placeContainer } from './place';
import { planWaiting } from './plan-pods';
import { returnIdle } from './return-idle';

/**
 * Follows every change that may have given CPUs back, be it an event or the runtime's list. Idle CPUs that
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

/** True when a container lacks CPUs. */
export function hasPending(view: NodeView): boolean {
  return view.unplanned.size > 0 || view.waiting.size > 0 || view.unswitched.size > 0;
}

/**
 * Gives CPUs to those who wait for some, as far as there are any: by the policy that decides for new containers, whose
 * floors hold here too. Whoever asks for less may go before one that asks for more than there is. CPUs that lie idle in
 * a pod stay there: they are for the containers that had them. Who was `tried` is passed over, and who is tried now comes to them.
 */
function placeWaiting(draft: Draft, tried: Set<string>): void {
  for (const waiting of listWaiting(draft.model)) {
    const known = draft.model.pods.get(waiting.sandboxId);
    if (!known || known.stopped || tried.has(waiting.id)) continue;
    if (!draft.spend(1)) return;
    tried.add(waiting.id);
    const pod = resolvePod(draft.model, known);
    const waited = { waitedSince: waiting.waitsSince! };
    if (decidePlacement(draft.model, pod, waiting, { leaveIdle: true }).decision.kind !== 'pin') continue;
    const placed = placeContainer(draft, pod, waiting, waited);
    if (placed.kind === 'refuse') continue;
    const { told, recorded } = waiting; // what runtime and kernel have is what they had before
    draft.put({
      kind: 'put-container',
      container: {
        ...placed.container,
        ...(told && { told }),
        ...(recorded && { recorded }),
        ...(placed.liftQuota && { quota: 'lifted' as const }),
      },
    });
  }
}

/** Those who wait, longest first; of those that came at once the one with the lowest id. */
function listWaiting({ containers, waiting }: NodeView): Container[] {
  return [...waiting]
    .map((id) => containers.get(id)!)
    .sort((a, b) => compareTexts(a.waitsSince!, b.waitsSince!) || compareTexts(a.id, b.id));
}
