import { asString, readPod } from '../../kube';
import type { Binding } from '../load/bindings';

/**
 * Reads the binding from a pod; undefined without a node. The time is that of the condition PodScheduled, which the API server writes with the node, in
 * whole seconds as crane-scheduler counts. A pod that was created with its node has it later or never: then the time of its creation counts.
 */
export function bindingOfPod(object: unknown): Binding | undefined {
  const pod = readPod(object);
  if (!pod || pod.node === '') return undefined;
  const { uid, node, metadata, conditions } = pod;
  const scheduled = conditions.find(({ type, status }) => type === 'PodScheduled' && status === 'True');
  const times = [scheduled?.['lastTransitionTime'], metadata['creationTimestamp']].map((time) =>
    Date.parse(asString(time)),
  );
  const timestampMs = times.find((ms) => !Number.isNaN(ms));
  if (timestampMs === undefined) return undefined;
  return { uid, node, timestampMs: Math.floor(timestampMs / 1_000) * 1_000 };
}
