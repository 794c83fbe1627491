import type { ContainerInfo, ListBaseline, NodeInventory, RuntimeEvent } from '../model/events';
import { namesIn } from '../model/names-of';
import type { NodeView } from '../model/node-view';
import { apiHasPod } from '../model/pod-presence';
import type { Draft } from './draft';
import { endContainer, releasePod, removePod, stopPod } from './lifecycle';
import { reassignFreed } from './reassign-freed';

/**
 * The pods and containers that the model has now. Take it before the runtime is asked for lists: they are compared with
 * it.
 */
export function captureBaseline(view: NodeView): ListBaseline {
  return {
    sandboxIds: new Set(view.pods.keys()),
    // A container that is being created may not be in the lists yet.
    containerIds: new Set(
      [...view.containers.values()].filter(({ phase }) => phase !== 'creating').map(({ id }) => id),
    ),
    podUids: new Set([...view.assignments.values()].map(({ podUid }) => podUid)),
  };
}

/**
 * Makes an event of lists that were taken while calls went on. Changes of the model since then are newer than the
 * lists: containers that have ended since are left out, containers that were created since are not described again, and
 * started ones count as running.
 */
export function mergeInventory(
  node: NodeView,
  before: ListBaseline,
  { pods, containers }: NodeInventory,
): Extract<RuntimeEvent, { kind: 'synchronize' }> {
  const creating = new Set(
    [...node.containers.values()].filter(({ phase }) => phase === 'creating').map((container) => nameOf(container)),
  );
  const isNewer = (container: ContainerInfo): boolean => {
    const { id } = container;
    if (before.containerIds.has(id) !== node.containers.has(id)) return true;
    // The runtime has created it, and the answer with its id is on its way.
    return !node.containers.has(id) && creating.has(nameOf(container));
  };
  return {
    kind: 'synchronize',
    baseline: before,
    pods: pods.filter(({ sandboxId }) => !before.sandboxIds.has(sandboxId) || node.pods.has(sandboxId)),
    containers: containers
      .filter((container) => !isNewer(container))
      .map((container) =>
        container.phase === 'created' && node.containers.get(container.id)?.phase === 'running'
          ? { ...container, phase: 'running' }
          : container,
      ),
  };
}

function nameOf({ sandboxId, name }: Pick<ContainerInfo, 'sandboxId' | 'name'>): string {
  return `${sandboxId}/${name}`;
}

/** All pods and containers of the runtime, as its list calls give them: complete, or not used at all. */
export interface RuntimeListing {
  readonly pods: readonly { readonly sandboxId: string; readonly uid: string; readonly ready: boolean }[];
  readonly containers: readonly {
    readonly id: string;
    readonly sandboxId: string;
    readonly exited: boolean;
    /** Its process was started; absent when the list does not say. */
    readonly running?: boolean;
  }[];
}

/**
 * Ends the pods and containers that the runtime no longer has. After a restart the runtime sends no events about older
 * pods, so the list is the only sign of their end.
 *
 * `overdue`: ids of containers whose creation began so long ago that the list counts for them too.
 *
 * Returns the ids of running containers that the model does not know: they need a synchronization.
 */
export function compareListing(
  draft: Draft,
  listing: RuntimeListing,
  before: ListBaseline,
  overdue: ReadonlySet<string> = new Set(),
): string[] {
  const { model } = draft;
  const alive = new Set(listing.containers.filter(({ exited }) => !exited).map(({ id }) => id));
  for (const container of [...model.containers.values()]) {
    const isJudged = container.phase === 'creating' ? overdue.has(container.id) : before.containerIds.has(container.id);
    if (!isJudged || alive.has(container.id)) continue;
    draft.report({
      kind: 'container-gone',
      subject: namesIn(model, container),
      because:
        container.phase === 'creating'
          ? 'its creation never ended, and the runtime does not list it'
          : 'the runtime no longer lists it as running',
    });
    endContainer(draft, container.id);
  }
  for (const { id, running } of listing.containers) {
    const container = model.containers.get(id);
    if (container?.phase !== 'creating' && container?.phase !== 'created') continue;
    // The events of its creation or start were lost, or the runtime was restarted since.
    if (running === true) draft.put({ kind: 'put-container', container: { ...container, phase: 'running' } });
    else if (alive.has(id) && overdue.has(id))
      draft.put({ kind: 'put-container', container: { ...container, phase: 'created' } });
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
  reassignFreed(draft);
  const readyPods = new Set(listing.pods.filter((pod) => pod.ready).map(({ sandboxId }) => sandboxId));
  // A container that was known when the list was asked for, and is not now, has ended since.
  const isUnknown = (id: string): boolean => !model.containers.has(id) && !before.containerIds.has(id);
  return listing.containers
    .filter(({ id, sandboxId, exited }) => !exited && readyPods.has(sandboxId) && isUnknown(id))
    .map(({ id }) => id);
}
