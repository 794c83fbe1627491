import type { NodeView } from './node-view';
import type { PodSpec } from './pod-spec';
import { findSpec } from './spec-book';

/**
 * True when the API server has a pod that may run on, or may have it. Its CPUs then outlive its sandbox: the kubelet makes sandboxes
 * again, all of them after a restart of the node, and no other pod may take the CPUs in between.
 *
 * Until the first complete list of the API server, a pod that had CPUs before the start counts as present. Without an API server no
 * pod does.
 */
export function apiHasPod(view: NodeView, podUid: string): boolean {
  const { hasReported, awaited } = view.specSource;
  if (awaited.has(podUid)) return true;
  return hasReported && specOfPod(view, podUid)?.finished === false;
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
  for (const pod of view.podsOf(podUid)) {
    const found = findSpec(view, pod);
    if (found) return found;
  }
  for (const { podNamespace: namespace, podName: name } of view.assignmentsOf(podUid)) {
    const found = findSpec(view, { uid: podUid, namespace, name });
    if (found) return found;
  }
  return undefined;
}
