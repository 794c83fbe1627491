import { cutText, keyOf, type Assignment } from '../model/assignment';
import type { Container, Pod } from '../model/container';
import type { ContainerInfo, ContainerPhase, PodInfo, RuntimeEvent } from '../model/events';
import { namesIn } from '../model/names-of';
import type { NodeView } from '../model/node-view';
import { findContainerSpec } from '../model/pod-spec';
import { resolvePod } from '../model/spec-book';
import { adoptContainer } from './adopt';
import { apiHasPod, specOfPod } from './api-has-pod';
import type { Draft } from './draft';
import { forgetPause } from './pauses';

export function rememberPod(draft: Draft, pod: PodInfo): void {
  const known = draft.model.pods.get(pod.sandboxId);
  draft.put({ kind: 'put-pod', pod: mark(pod, known?.stopped ?? false) });
  dropForged(draft, pod);
}

/** The runtime starts the sandbox, or something in it: a list that was taken a moment too early may have said otherwise. */
export function rememberLivePod(draft: Draft, pod: PodInfo): void {
  draft.put({ kind: 'put-pod', pod: mark(pod, false) });
  dropForged(draft, pod);
}

/** A pod as it was told, or as it is known already. A new key comes first: V8 adds one to a copy slowly. */
function mark(pod: PodInfo | Pod, stopped: boolean): Pod {
  return { ...{ stopped, ...pod }, stopped };
}

/** Drops what was planned under the uid of this pod for one of another name: a mirror can be forged, the pod itself can not. */
export function dropForged(draft: Draft, { uid, namespace, name }: Pick<PodInfo, 'uid' | 'namespace' | 'name'>): void {
  if (draft.model.holdingsOf(uid).planned === 0) return;
  for (const assignment of draft.model.assignmentsOf(uid)) {
    const isOwn = assignment.podNamespace === cutText(namespace) && assignment.podName === cutText(name);
    if (assignment.planned && !isOwn) release(draft, assignment, 'the pod of this uid has another name');
  }
}

/**
 * The runtime tells how far a container has come. One that was made without us (we were away, or registering) is
 * placed now, before its process runs; a start that is told after the end is not believed.
 */
export function advanceContainer(draft: Draft, pod: PodInfo, container: ContainerInfo, phase: ContainerPhase): void {
  const known = draft.model.containers.get(container.id);
  if (known) {
    draft.put({
      kind: 'put-container',
      container: { ...known, phase, cgroupsPath: container.cgroupsPath || known.cgroupsPath },
    });
    return;
  }
  if (phase === 'running') return;
  rememberPod(draft, pod);
  adoptContainer(draft, resolvePod(draft.model, pod), { ...container, phase });
}

/**
 * The container under creation has its own id now. Nothing that was decided changes with it: should the process end here,
 * its assignment is found again by pod and name.
 */
export function nameContainer(
  draft: Draft,
  { temporaryId, containerId, cgroupsPath }: Extract<RuntimeEvent, { kind: 'container-named' }>,
): void {
  const container = draft.model.containers.get(temporaryId);
  if (!container) return;
  draft.put({ kind: 'drop-container', id: temporaryId });
  draft.put({ kind: 'put-container', container: { ...container, id: containerId, cgroupsPath, phase: 'created' } });
  const key = keyOf({ podUid: container.podUid, containerName: container.name });
  const assignment = draft.model.assignments.get(key);
  if (assignment?.containerId === temporaryId) {
    draft.put({ kind: 'put-assignment', assignment: { ...assignment, containerId } });
  }
}

/**
 * The runtime has written what an update carried. Where the promise has changed meanwhile, that was older: the move that
 * follows puts it right.
 */
export function learnUpdate(
  draft: Draft,
  { containerId, carriedOut }: Extract<RuntimeEvent, { kind: 'container-updated' }>,
): void {
  const container = draft.model.containers.get(containerId);
  if (!container || !carriedOut) return;
  draft.put({ kind: 'put-container', container: { ...container, told: carriedOut, recorded: carriedOut } });
}

/** The content of the runtime's record is not known any more: it is written again. */
export function forgetRecord(draft: Draft, containerId: string): void {
  const container = draft.model.containers.get(containerId);
  if (!container) return;
  const { recorded: _unknown, ...rest } = container;
  draft.put({ kind: 'put-container', container: rest });
}

/** The process is gone. Its CPUs stay with the pod, idle, unless they were taken for a creation that failed. */
export function endContainer(draft: Draft, containerId: string): void {
  const container = draft.model.containers.get(containerId);
  if (!container) return;
  forgetContainer(draft, container);
  releaseWhenDone(draft, container.sandboxId);
}

/** The container is gone; CPUs of its own stay with the pod, unless its creation had failed and nobody knows of another try. */
export function forgetContainer(draft: Draft, container: Container): void {
  draft.put({ kind: 'drop-container', id: container.id });
  const key = keyOf({ podUid: container.podUid, containerName: container.name });
  const assignment = draft.model.assignments.get(key);
  if (assignment?.containerId !== container.id) return;
  const failedCreation = container.phase === 'creating' && container.freshAssignment;
  const who = namesIn(draft.model, container);
  const { cpus } = assignment;
  if (container.phase === 'creating' && isToCome(draft.model, container)) {
    draft.put({ kind: 'put-assignment', assignment: { ...assignment, containerId: null, planned: true } });
    const because = 'the creation failed; its CPUs stay with the pod until it is made';
    draft.report({ kind: 'planned', who, cpus, because, atCreation: false });
  } else if (failedCreation) {
    draft.put({ kind: 'drop-assignment', key });
    draft.report({ kind: 'released', who, cpus, because: 'the creation failed' });
  } else {
    draft.put({ kind: 'put-assignment', assignment: { ...assignment, containerId: null } });
    draft.report({ kind: 'idle', who, cpus, because: 'the container exited; its CPUs stay with the pod' });
  }
}

/** The API server has the pod, and the container in it: the kubelet tries again. */
function isToCome(view: NodeView, { podUid, name }: Container): boolean {
  if (!apiHasPod(view, podUid)) return false;
  const spec = findContainerSpec(specOfPod(view, podUid), name);
  return spec !== undefined && !spec.ended;
}

/** The sandbox was stopped: CPUs go back when its last container is gone, normally now. */
export function stopPod(draft: Draft, sandboxId: string): void {
  const pod = draft.model.pods.get(sandboxId);
  if (!pod) return;
  draft.put({ kind: 'put-pod', pod: { ...pod, stopped: true } });
  forgetPause(draft, sandboxId);
  releaseWhenDone(draft, sandboxId);
}

/** The sandbox is gone, and with it everything in it. */
export function removePod(draft: Draft, sandboxId: string): void {
  const pod = draft.model.pods.get(sandboxId);
  if (!pod) return;
  draft.put({ kind: 'put-pod', pod: { ...pod, stopped: true } });
  forgetPause(draft, sandboxId);
  for (const container of draft.model.containersOf(pod.uid)) {
    if (container.sandboxId === sandboxId) forgetContainer(draft, container);
  }
  releaseWhenDone(draft, sandboxId);
  draft.put({ kind: 'drop-pod', sandboxId });
}

/**
 * Gives the pod's CPUs back once it is stopped, no container of it is left, and no newer sandbox has taken its place. A pod that
 * the API server has keeps them: its sandbox is made anew.
 */
export function releaseWhenDone(draft: Draft, sandboxId: string): void {
  const { model } = draft;
  const pod = model.pods.get(sandboxId);
  if (!pod?.stopped) return;
  if (model.containersOf(pod.uid).length > 0) return;
  if (model.podsOf(pod.uid).some((other) => other.sandboxId !== sandboxId && !other.stopped)) return;
  if (apiHasPod(model, pod.uid)) return;
  releasePod(draft, pod.uid, 'the pod is gone');
}

/** Drops every assignment of a pod. */
export function releasePod(draft: Draft, podUid: string, because: string): void {
  for (const assignment of draft.model.assignmentsOf(podUid)) release(draft, assignment, because);
}

/** Drops one assignment. */
export function release(draft: Draft, assignment: Assignment, because: string): void {
  const { podUid, podNamespace, podName, containerName, cpus } = assignment;
  draft.put({ kind: 'drop-assignment', key: keyOf(assignment) });
  const who = { podUid, pod: `${podNamespace}/${podName}`, container: containerName };
  draft.report({ kind: 'released', who, cpus, because });
}
