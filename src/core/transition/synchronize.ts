import type { ContainerInfo, ListBaseline, PodInfo, RuntimeEvent } from '../model/events';
import { namesOf } from '../model/names-of';
import { apiHasPod } from '../model/pod-presence';
import { resolvePod, type ResolvedPod } from '../model/spec-book';
import {
  adoptContainer,
  adoptInPlace,
  confirmAssignment,
  isNameHeld,
  recordFound,
  rememberMems,
  restoreRequestedQuota,
  type LiveCpusets,
} from './adopt';
import type { Draft } from './draft';
import { dropContainer, forgetPod, putPod, releasePod, releaseReplaced } from './lifecycle';
import { dropPause } from './pauses';
import { putShared } from './place';
import { findInLists, shareAllMistaken } from './pod-level';

/**
 * Merges the remembered state with the pods and containers of the runtime, at the start and after each reconnection.
 *
 * A remembered container that still exists keeps its CPUs. The CPUs of pods that are gone are released, unless the API
 * server has the pod or has not listed its pods yet: the sandbox is then made again. Unknown containers are placed:
 * first those that already run on CPUs of their own, which they keep, then the others by the rules for new containers.
 * A running container is never refused.
 *
 * The order in which the runtime lists its containers makes no difference.
 */
export function synchronize(
  draft: Draft,
  { pods, containers, baseline, own }: Extract<RuntimeEvent, { kind: 'synchronize' }>,
  live: LiveCpusets,
): void {
  const podById = new Map(pods.map((pod) => [pod.sandboxId, pod]));
  const present = containers
    .filter((container) => container.phase !== 'exited' && podById.has(container.sandboxId))
    .map(restoreRequestedQuota)
    .sort((a, b) => (a.id < b.id ? -1 : 1));
  const remembered = new Set([...draft.model.assignments.values()].map(({ containerId }) => containerId));
  const unknown = present.filter(({ id }) => !draft.model.containers.has(id) && !remembered.has(id));
  dropAbsent(draft, podById, new Set(present.map(({ id }) => id)), baseline);
  for (const pod of pods) putPod(draft, pod);
  releaseReplaced(draft, pods);
  findInLists(draft, pods, present);

  for (const container of unknown) rememberMems(draft, podById.get(container.sandboxId)!, container);
  const resolved = new Map(pods.map((pod) => [pod.sandboxId, resolvePod(draft.model, pod)]));
  const unassigned: { pod: ResolvedPod; container: ContainerInfo }[] = [];
  for (const container of present) {
    const pod = resolved.get(container.sandboxId)!;
    const assignment = draft.model.assignmentFor(pod.uid, container.name);
    if (assignment && !assignment.planned && (assignment.containerId ?? container.id) === container.id) {
      confirmAssignment(draft, pod, container, assignment, live);
    } else unassigned.push({ pod, container });
  }
  const unplaced = unassigned.filter(({ pod, container }) => !adoptInPlace(draft, pod, container, live));
  for (const { pod, container } of unplaced) {
    if (!draft.model.containers.has(container.id)) {
      if (isNameHeld(draft.model, pod, container))
        putShared(draft, pod, container, 'another container of its name has the CPUs that this one could have');
      else adoptContainer(draft, pod, container);
    }
    recordFound(draft, container, live);
  }
  shareAllMistaken(draft, pods);
  // Neither the model nor an assignment knew these: they were created while cpusetd was not connected. That of cpusetd
  // always is.
  for (const container of unknown)
    if (container.id !== own && !wasPlacedBefore(container, live))
      reportUnpinned(draft, podById.get(container.sandboxId)!, container);
}

/**
 * Drops pods and containers that the lists do not have. A container that is being created, and anything newer than the
 * lists (`before`), is kept.
 */
function dropAbsent(
  draft: Draft,
  pods: ReadonlyMap<string, PodInfo>,
  present: ReadonlySet<string>,
  before: ListBaseline | undefined,
): void {
  const { model } = draft;
  for (const container of [...model.containers.values()]) {
    const { id, phase } = container;
    const isJudged = before === undefined || (before.containerIds.has(id) && phase !== 'creating');
    if (isJudged && !present.has(id)) dropContainer(draft, container);
  }
  for (const sandboxId of [...model.pods.keys()]) {
    const isJudged = before?.sandboxIds.has(sandboxId) ?? true;
    if (!isJudged || pods.has(sandboxId)) continue;
    dropPause(draft, sandboxId);
    draft.put({ kind: 'drop-pod', sandboxId });
  }
  const uids = new Set([...pods.values(), ...model.pods.values()].map(({ uid }) => uid));
  const gone = new Set([...model.assignments.values()].map(({ podUid }) => podUid).filter((uid) => !uids.has(uid)));
  for (const uid of gone)
    if (!apiHasPod(model, uid)) releasePod(draft, uid, 'the pod was gone when the runtime was asked');
  for (const podUid of new Set([...[...model.brought.values()].map((each) => each.podUid), ...model.podLevel.keys()]))
    if (!uids.has(podUid)) forgetPod(draft, podUid);
  for (const assignment of [...model.assignments.values()]) {
    const { containerId } = assignment;
    if (containerId !== null && !present.has(containerId) && !model.containers.has(containerId)) {
      draft.put({ kind: 'put-assignment', assignment: { ...assignment, containerId: null } });
    }
  }
}

/**
 * True when an earlier process of cpusetd placed the container. The runtime's record is written late, or never where it
 * can't be written; the kernel's cpuset is there at once.
 */
function wasPlacedBefore({ id, resources }: ContainerInfo, live: LiveCpusets): boolean {
  return resources.cpus !== undefined || live.get(id)?.isEmpty === false;
}

/** Reports a container that was started without cpusetd: one that cpusetd creates always has a cpuset of its own. */
function reportUnpinned(draft: Draft, pod: PodInfo, container: ContainerInfo): void {
  const known = draft.model.containers.get(container.id);
  if (known?.placement === 'left-alone') return;
  draft.report({
    kind: 'found-unpinned',
    subject: namesOf(pod, container),
    placement: known?.placement,
    because: 'it was created while cpusetd was not registered with the runtime',
  });
}
