import { asString, readPod } from '../../kube';
import type { Binding } from '../load/bindings';

/**
 * Reads the binding from a pod; undefined for one that is not bound. The time is that of the condition PodScheduled, in
 * whole seconds as crane-scheduler counts: the API server writes it with the node, and the kubelet of a pod that was
 * created with its node. Such a pod of a node that does not exist never has it, so that nobody fills the list with
 * those.
 */
export function bindingOfPod(object: unknown): Binding | undefined {
  const pod = readPod(object);
  if (!pod || pod.node === '') return undefined;
  const { uid, node, conditions } = pod;
  const scheduled = conditions.find(({ type, status }) => type === 'PodScheduled' && status === 'True');
  const timestampMs = Date.parse(asString(scheduled?.['lastTransitionTime']));
  if (Number.isNaN(timestampMs)) return undefined;
  return { uid, node, timestampMs: Math.floor(timestampMs / 1_000) * 1_000 };
}
