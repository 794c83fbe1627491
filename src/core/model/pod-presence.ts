import type { PodInfo } from './events';
import type { NodeView } from './node-view';
import { isMadeAgain, isStaticPodUid, type PodSpec } from './pod-spec';
import { findSpec } from './spec-book';

/**
 * True when the API server has a pod that may be made again, or may have it. Its CPUs then outlive its sandbox: the
 * kubelet makes sandboxes again, all of them after a restart of the node, and no other pod may take the CPUs in
 * between. Of a pod that is being deleted it makes none, so its CPUs are free with its sandbox: a scheduler that has
 * seen the end may count on them at once.
 *
 * Until the first complete list of the API server, a pod that had CPUs before the start counts as present. Without an
 * API server no pod does. A static pod that another one has replaced does not count: the API server has only its
 * mirror, and may be away.
 */
export function apiHasPod(view: NodeView, podUid: string): boolean {
  const { hasReported, awaited } = view.specSource;
  const spec = hasReported ? specOfPod(view, podUid) : undefined;
  if (!awaited.has(podUid) && !(spec && isMadeAgain(spec))) return false;
  if (!isStaticPodUid(podUid)) return true;
  return ![...namesOfPod(view, podUid)].some((pod) => isReplaced(view, pod));
}

/** A pod by the uid and the names that the runtime has for it. */
export type NamedPod = Pick<PodInfo, 'uid' | 'namespace' | 'name'>;

/**
 * True for a static pod that the runtime no longer has, and of which it has the successor: a static pod of the same
 * namespace and name with another uid. The kubelet runs static pods of one name one after the other, so the runtime is
 * proof that the first has ended.
 *
 * Uids and names of sandboxes are the kubelet's. No pod of the API server has the uid of a static one, so no tenant can
 * replace one.
 */
export function isReplaced(view: NodeView, { uid, namespace, name }: NamedPod): boolean {
  if (!isStaticPodUid(uid) || isInRuntime(view, uid)) return false;
  for (const pod of view.pods.values()) if (!pod.stopped && replaces(pod, { uid, namespace, name })) return true;
  return false;
}

/** True for static pods of one namespace and name that are not the same. */
export function replaces(pod: NamedPod, { uid, namespace, name }: NamedPod): boolean {
  const isOther = pod.uid !== uid && pod.namespace === namespace && pod.name === name;
  return isOther && isStaticPodUid(pod.uid) && isStaticPodUid(uid);
}

/** True when the runtime has a live sandbox of the pod, or a container. */
export function isInRuntime(view: NodeView, podUid: string): boolean {
  return view.containersOf(podUid).length > 0 || view.podsOf(podUid).some(({ stopped }) => !stopped);
}

/** The spec of a pod that has a sandbox or CPUs, by the uid that the runtime has for it. */
export function specOfPod(view: NodeView, podUid: string): PodSpec | undefined {
  const { podSpecs } = view;
  if (podSpecs.size === 0) return undefined;
  const spec = podSpecs.get(podUid);
  if (spec) return spec;
  // The spec of a static pod is found by name. An imported assignment has the uid only.
  for (const pod of namesOfPod(view, podUid)) {
    const found = findSpec(view, pod);
    if (found) return found;
  }
  return undefined;
}

/** The names of a pod by its sandboxes and its CPUs. */
function* namesOfPod(view: NodeView, uid: string): Iterable<NamedPod> {
  yield* view.podsOf(uid);
  for (const { podNamespace: namespace, podName: name } of view.assignmentsOf(uid)) yield { uid, namespace, name };
}
