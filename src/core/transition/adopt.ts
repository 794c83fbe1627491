import { DEFAULT_PERIOD_US, wholeCpusOfShares } from '../inference/cri-numbers';
import type { ContainerInfo } from '../model/events';
import { namesOf } from '../model/names-of';
import type { ResolvedPod } from '../model/spec-book';
import type { Draft } from './draft';
import { entitle } from './entitlement';
import { placeContainer, toContainer } from './place';

/** Places a container that exists already. What it can't get it can't be refused: it shares. */
export function adoptContainer(draft: Draft, pod: ResolvedPod, container: ContainerInfo): void {
  const placed = placeContainer(draft, pod, asAskedFor(container));
  if (placed.kind === 'placed') draft.put({ kind: 'put-container', container: placed.container });
  else {
    if (placed.code === 'RESOURCE_EXHAUSTED') adoptAsWaiting(draft, pod, container, placed.message);
    else adoptAsShared(draft, pod, container, placed.message);
    const { because } = draft.model.containers.get(container.id)!;
    draft.report({ kind: 'shares', who: namesOf(pod, container), because, isExpected: false });
  }
}

/** Takes in a container that was made without us, in the shared pool, and says why. */
export function adoptAsShared(draft: Draft, pod: ResolvedPod, container: ContainerInfo, why: string): void {
  const outcome = { placement: 'shared', entitled: 0, because: `shares: ${why}`, freshAssignment: false } as const;
  draft.put({ kind: 'put-container', container: toContainer(draft.model, pod.sandbox, container, outcome) });
}

/** A container that runs already can't be refused what does not fit now: it shares, until there are CPUs for it. */
function adoptAsWaiting(draft: Draft, pod: ResolvedPod, container: ContainerInfo, why: string): void {
  const { request } = entitle(draft.model.settings, pod, container);
  const shared = toContainer(draft.model, pod.sandbox, container, {
    placement: 'shared',
    entitled: request.kind === 'exclusive' ? request.count : 0,
    because: `shares, and waits for CPUs of its own: it ${why}`,
    freshAssignment: false,
  });
  draft.put({ kind: 'put-container', container: { ...shared, waitsSince: draft.now } });
}

/**
 * A container that was made without our knowing, with its resources as the kubelet asked for them.
 *
 * A lifted quota in the runtime's record is most likely our own doing. Only containers whose limit was their request had
 * theirs lifted, so where that is a whole number it is known what the kubelet asked for; else it can't be seen any more.
 */
export function asAskedFor(container: ContainerInfo): ContainerInfo {
  if ((container.resources.quotaUs ?? 0) >= 0) return container;
  const { quotaUs: _lifted, ...resources } = container.resources;
  const count = wholeCpusOfShares(resources.shares ?? 0);
  if (count === undefined) return { ...container, resources };
  const quotaUs = count * (resources.periodUs ?? DEFAULT_PERIOD_US);
  return { ...container, resources: { ...resources, quotaUs } };
}
