import type { KnownBefore } from '../model/events';
import { namesIn } from '../model/names-of';
import { apiHasPod } from './api-has-pod';
import type { Draft } from './draft';
import { endContainer, releasePod, removePod, stopPod } from './lifecycle';
import { passOn } from './retry';

/** All pods and containers of the runtime, as its list calls give them: complete, or not used at all. */
export interface RuntimeListing {
  readonly pods: readonly { readonly sandboxId: string; readonly uid: string; readonly ready: boolean }[];
  readonly containers: readonly {
    readonly id: string;
    readonly sandboxId: string;
    readonly exited: boolean;
    /** Its process was started; absent when the list does not tell. */
    readonly running?: boolean;
  }[];
}

/**
 * Ends what the runtime no longer has. After a restart of the runtime events of older pods never come, so the list is
 * the only way to learn of their end.
 *
 * `overdue`: containers whose creation began so long ago that the list, taken now, is believed about them too.
 *
 * Returns ids of running containers that the model does not know: they need to be synchronized.
 */
export function compareListing(
  draft: Draft,
  listing: RuntimeListing,
  before: KnownBefore,
  overdue: ReadonlySet<string> = new Set(),
): string[] {
  const { model } = draft;
  const alive = new Set(listing.containers.filter(({ exited }) => !exited).map(({ id }) => id));
  for (const container of [...model.containers.values()]) {
    const isJudged = container.phase === 'creating' ? overdue.has(container.id) : before.containerIds.has(container.id);
    if (!isJudged || alive.has(container.id)) continue;
    draft.report({
      kind: 'container-gone',
      who: namesIn(model, container),
      because:
        container.phase === 'creating'
          ? 'its creation never ended, and the runtime does not list it'
          : 'the runtime no longer lists it as running',
    });
    endContainer(draft, container.id);
  }
  for (const { id, running } of listing.containers) {
    const container = model.containers.get(id);
    // Nobody told us of its start: the answer to it was lost, or the runtime was restarted meanwhile.
    if (running === true && before.containerIds.has(id) && container?.phase === 'created')
      draft.put({ kind: 'put-container', container: { ...container, phase: 'running' } });
    else if (alive.has(id) && overdue.has(id) && container?.phase === 'creating')
      draft.put({
        kind: 'put-container',
        container: { ...container, phase: running === true ? 'running' : 'created' },
      });
  }
  const ready = new Map(listing.pods.map((pod) => [pod.sandboxId, pod.ready]));
  for (const pod of [...model.pods.values()]) {
    if (!before.sandboxIds.has(pod.sandboxId)) continue;
    if (!ready.has(pod.sandboxId)) removePod(draft, pod.sandboxId);
    else if (!ready.get(pod.sandboxId) && !pod.stopped) stopPod(draft, pod.sandboxId);
  }
  const uids = new Set([...listing.pods.map(({ uid }) => uid), ...[...model.pods.values()].map(({ uid }) => uid)]);
  for (const uid of new Set([...model.assignments.values()].map(({ podUid }) => podUid))) {
    if (before.podUids.has(uid) && !uids.has(uid) && !apiHasPod(model, uid))
      releasePod(draft, uid, 'the runtime no longer lists the pod');
  }
  passOn(draft);
  const readyPods = new Set(listing.pods.filter((pod) => pod.ready).map(({ sandboxId }) => sandboxId));
  // One that was known when the list was asked for, and is not now, has ended meanwhile.
  const isUnknown = (id: string): boolean => !model.containers.has(id) && !before.containerIds.has(id);
  return listing.containers
    .filter(({ id, sandboxId, exited }) => !exited && readyPods.has(sandboxId) && isUnknown(id))
    .map(({ id }) => id);
}
