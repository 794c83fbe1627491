import { asArray, asObject, asString } from '../../kube';
import type { Binding } from '../load/bindings';

/** The pods to watch: those that have a node and have not ended. */
export const BOUND_PODS = 'spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed';

/**
 * Reads the binding from a pod; undefined without a node. The time is that of the condition PodScheduled, which the API server writes with the node, in
 * whole seconds as crane-scheduler counts. A pod that was created with its node has it later or never: then the time of its creation counts.
 */
export function bindingOfPod(object: unknown): Binding | undefined {
  const { metadata, spec, status } = asObject(object);
  const { uid, creationTimestamp } = asObject(metadata);
  const node = asString(asObject(spec)['nodeName']);
  const scheduled = asArray(asObject(status)['conditions'])
    .map(asObject)
    .find((condition) => condition['type'] === 'PodScheduled' && condition['status'] === 'True');
  const times = [scheduled?.['lastTransitionTime'], creationTimestamp].map((time) => Date.parse(asString(time)));
  const timestampMs = times.find((ms) => !Number.isNaN(ms));
  if (node === '' || asString(uid) === '' || timestampMs === undefined) return undefined;
  return { uid: asString(uid), node, timestampMs: Math.floor(timestampMs / 1_000) * 1_000 };
}
