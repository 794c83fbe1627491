import { cutText, keyOf, type Assignment } from '../model/assignment';
import { broughtKey } from '../model/brought';
import type { Container } from '../model/container';
import type { ContainerInfo, ContainerPhase, PodInfo, RuntimeEvent } from '../model/events';
import { namesIn } from '../model/names-of';
import type { NodeView } from '../model/node-view';
import { apiHasPod, isInRuntime, replaces, specOfPod } from '../model/pod-presence';
import { findContainerSpec, isStaticPodUid } from '../model/pod-spec';
import { resolvePod } from '../model/spec-book';
import { adoptContainer, rememberMems } from './adopt';
import type { Draft } from './draft';
import { dropPause } from './pauses';

/** Puts a pod of the runtime. `stopped`: its sandbox was stopped; when omitted, that stays as it is. */
export function putPod(
  draft: Draft,
  pod: PodInfo,
  { stopped = draft.model.pods.get(pod.sandboxId)?.stopped ?? false }: { readonly stopped?: boolean } = {},
): void {
  // A new key comes first: V8 adds one to a copy slowly. The pod has the key already when the model has it.
  const copy = { stopped, ...pod };
  copy.stopped = stopped;
  draft.put({ kind: 'put-pod', pod: copy });
  releaseForged(draft, pod);
}

/** Puts a pod that has a sandbox now. */
export function startPod(draft: Draft, pod: PodInfo): void {
  putPod(draft, pod, { stopped: false });
  releaseReplaced(draft, [pod]);
}

/**
 * Gives back the CPUs of static pods that these pods have replaced, whatever the API server had sent of their mirrors.
 */
export function releaseReplaced(draft: Draft, pods: readonly PodInfo[]): void {
  const { model } = draft;
  const successors = pods.filter(({ uid }) => isStaticPodUid(uid));
  if (successors.length === 0) return;
  for (const assignment of [...model.assignments.values()]) {
    const { podUid: uid, podNamespace: namespace, podName: name } = assignment;
    if (successors.some((pod) => replaces(pod, { uid, namespace, name })) && !isInRuntime(model, uid))
      release(draft, assignment, 'another static pod of its name has taken its place');
  }
}

/**
 * Releases the CPUs that were planned under the uid of this pod for a pod of another name. Anyone can write a spec that
 * claims the uid of a static pod; the pod of the runtime is genuine.
 */
export function releaseForged(
  draft: Draft,
  { uid, namespace, name }: Pick<PodInfo, 'uid' | 'namespace' | 'name'>,
): void {
  if (draft.model.holdingsOf(uid).planned === 0) return;
  for (const assignment of draft.model.assignmentsOf(uid)) {
    const isOwn = assignment.podNamespace === cutText(namespace) && assignment.podName === cutText(name);
    if (assignment.planned && !isOwn) release(draft, assignment, 'the pod of this uid has another name');
  }
}

/**
 * A container has reached a phase. An unknown container was created while cpusetd was not connected: it is placed now,
 * before its process runs. An unknown container that runs already is ignored: the event came after its end.
 */
export function advanceContainer(draft: Draft, pod: PodInfo, container: ContainerInfo, phase: ContainerPhase): void {
  const known = draft.model.containers.get(container.id);
  if (known) {
    draft.put({
      kind: 'put-container',
      container: {
        ...known,
        phase,
        cgroupsPath: container.cgroupsPath || known.cgroupsPath,
        ...(container.pid !== undefined && { pid: container.pid }),
      },
    });
    return;
  }
  if (phase === 'running') return;
  startPod(draft, pod);
  rememberMems(draft, pod, container);
  adoptContainer(draft, resolvePod(draft.model, pod), { ...container, phase });
}

/**
 * A container that was known by a temporary id has its own id now. A crash at this point loses nothing: assignments are
 * found by pod and name.
 */
export function setContainerId(
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
 * The process of a container has ended. Its pod's CPUs are given back when it was the last container of a stopped pod.
 */
export function endContainer(draft: Draft, containerId: string): void {
  const container = draft.model.containers.get(containerId);
  if (!container) return;
  dropContainer(draft, container);
  releaseWhenDone(draft, container.sandboxId);
}

/**
 * Drops a container. Its CPUs stay with the pod, idle, unless they were assigned for a creation that failed and is not
 * retried.
 */
export function dropContainer(draft: Draft, container: Container): void {
  draft.put({ kind: 'drop-container', id: container.id });
  const key = keyOf({ podUid: container.podUid, containerName: container.name });
  const assignment = draft.model.assignments.get(key);
  if (assignment?.containerId !== container.id) return;
  const failedCreation = container.phase === 'creating' && container.freshAssignment;
  const subject = namesIn(draft.model, container);
  const { cpus } = assignment;
  if (container.phase === 'creating' && isRetried(draft.model, container)) {
    const planned = {
      ...assignment,
      containerId: null,
      planned: true,
      because: container.becauseOfCpus ?? assignment.because,
    } as const;
    draft.put({ kind: 'put-assignment', assignment: planned });
    const because = 'the creation failed; its CPUs stay with the pod until it is made';
    draft.report({ kind: 'planned', subject, cpus, because, atCreation: false });
  } else if (failedCreation) {
    draft.put({ kind: 'drop-assignment', key });
    draft.report({ kind: 'released', subject, cpus, because: 'the creation failed' });
  } else {
    draft.put({ kind: 'put-assignment', assignment: { ...assignment, containerId: null } });
    draft.report({ kind: 'idle', subject, cpus, because: 'the container exited; its CPUs stay with the pod' });
  }
}

/** True when the kubelet will create the container again: the API server has the pod, and the container in it. */
function isRetried(view: NodeView, { podUid, name }: Container): boolean {
  if (!apiHasPod(view, podUid)) return false;
  const spec = findContainerSpec(specOfPod(view, podUid), name);
  return spec !== undefined && !spec.ended;
}

/** A sandbox was stopped: its CPUs are given back when its last container has ended. */
export function stopPod(draft: Draft, sandboxId: string): void {
  const pod = draft.model.pods.get(sandboxId);
  if (!pod) return;
  draft.put({ kind: 'put-pod', pod: { ...pod, stopped: true } });
  dropPause(draft, sandboxId);
  releaseWhenDone(draft, sandboxId);
}

/** A sandbox was removed, and every container in it. */
export function removePod(draft: Draft, sandboxId: string): void {
  const pod = draft.model.pods.get(sandboxId);
  if (!pod) return;
  stopPod(draft, sandboxId);
  for (const container of draft.model.containersOf(pod.uid)) {
    if (container.sandboxId === sandboxId) dropContainer(draft, container);
  }
  releaseWhenDone(draft, sandboxId);
  draft.put({ kind: 'drop-pod', sandboxId });
  forgetPod(draft, pod.uid);
}

/**
 * Gives back a pod's CPUs once it is stopped, has no container left, and no newer sandbox. A pod that the API server
 * has keeps them: its sandbox is made again.
 */
function releaseWhenDone(draft: Draft, sandboxId: string): void {
  const { model } = draft;
  const pod = model.pods.get(sandboxId);
  if (!pod?.stopped) return;
  if (model.containersOf(pod.uid).length > 0) return;
  if (model.podsOf(pod.uid).some((other) => other.sandboxId !== sandboxId && !other.stopped)) return;
  if (apiHasPod(model, pod.uid)) return;
  releasePod(draft, pod.uid, 'the pod is gone');
}

/**
 * Forgets what the containers of a pod brought and showed, when it has no sandbox any more: those of a new one do so
 * again.
 */
export function forgetPod(draft: Draft, podUid: string): void {
  const { model } = draft;
  if (model.podsOf(podUid).length > 0) return;
  if (model.podLevel.has(podUid)) draft.put({ kind: 'drop-pod-level', podUid });
  for (const brought of model.broughtBy(podUid)) draft.put({ kind: 'drop-brought', key: broughtKey(brought) });
}

/** Gives back all CPUs of a pod. */
export function releasePod(draft: Draft, podUid: string, because: string): void {
  for (const assignment of draft.model.assignmentsOf(podUid)) release(draft, assignment, because);
}

/** Gives back the CPUs of one assignment. */
export function release(draft: Draft, assignment: Assignment, because: string): void {
  const { podUid, podNamespace, podName, containerName, cpus } = assignment;
  draft.put({ kind: 'drop-assignment', key: keyOf(assignment) });
  const subject = { podUid, pod: `${podNamespace}/${podName}`, container: containerName };
  draft.report({ kind: 'released', subject, cpus, because });
}
