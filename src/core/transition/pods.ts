import { cutText, keyOf, type Assignment } from '../model/assignment';
import type { Pod } from '../model/container';
import type { PodInfo } from '../model/events';
import { apiHasPod } from './api-has-pod';
import type { Draft } from './draft';

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
