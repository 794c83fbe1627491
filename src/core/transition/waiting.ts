import { compareTexts } from '../text';
import type { Container } from '../model/container';
import type { ContainerInfo, PodInfo } from '../model/events';
import type { NodeView } from '../model/node-model';
import type { Draft } from './draft';
import { describe, placeContainer } from './place-container';
import { decidePlacement, entitle } from './placement';

/** A container that runs already can't be refused what does not fit now: it shares, until there are CPUs for it. */
export function adoptAsWaiting(draft: Draft, pod: PodInfo, container: ContainerInfo, why: string): void {
  const { request } = entitle(draft.model, pod, container);
  const shared = describe(pod, container, {
    placement: 'shared',
    entitled: request.kind === 'exclusive' ? request.count : 0,
    because: `shares, and waits for CPUs of its own: it ${why}`,
    freshAssignment: false,
  });
  draft.put({ kind: 'put-container', container: { ...shared, waitsSince: draft.now } });
}

/** Those who wait, longest first; of those that came at once the one with the lowest id. */
export function listWaiting({ containers, waiting }: NodeView): Container[] {
  return [...waiting]
    .map((id) => containers.get(id)!)
    .sort((a, b) => compareTexts(a.waitsSince!, b.waitsSince!) || compareTexts(a.id, b.id));
}

/**
 * Gives CPUs to those who wait for some, as far as there are any: by the policy that decides for new containers, whose
 * floors hold here too. Whoever asks for less may go before one that asks for more than there is. CPUs that lie idle in
 * a pod stay there: they are for the containers that had them. Who was `tried` is passed over, and who is tried now comes to them.
 */
export function placeWaiting(draft: Draft, tried: Set<string>): void {
  for (const waiting of listWaiting(draft.model)) {
    const pod = draft.model.pods.get(waiting.sandboxId);
    if (!pod || pod.stopped || tried.has(waiting.id)) continue;
    if (!draft.spend(1)) return;
    tried.add(waiting.id);
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
