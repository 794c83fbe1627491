import type { NodeView } from '../model/node-view';
import type { PodSpec } from '../model/pod-spec';
import { findSpec } from '../model/spec-book';

/**
 * True when the API server has a pod that may run on, or may have it: then its CPUs stay with it, whatever becomes of its sandbox.
 * The kubelet makes sandboxes anew, after a restart of the node all of them, and somebody else must not be quicker.
 *
 * It may have those that had CPUs before the start, until its first list is heard. Without an API server it has none.
 */
export function apiHasPod(view: NodeView, podUid: string): boolean {
  const { told, awaited } = view.specSource;
  if (awaited.has(podUid)) return true;
  return told && specOfPod(view, podUid)?.finished === false;
}

/** True when a sandbox of it lives, or a container. */
export function isInRuntime(view: NodeView, podUid: string): boolean {
  return view.containersOf(podUid).length > 0 || view.podsOf(podUid).some(({ stopped }) => !stopped);
}

/** The spec of a pod that has a sandbox or CPUs, by the uid that the runtime knows it by. */
export function specOfPod(view: NodeView, podUid: string): PodSpec | undefined {
  const { podSpecs } = view;
  if (podSpecs.size === 0) return undefined;
  const spec = podSpecs.get(podUid);
  if (spec) return spec;
  // A mirror is found by name. An imported assignment knows the uid only.
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
