import { asArray, asObject, asString, type JsonObject } from '../../kube';
import { isBeingDeleted } from './read-cluster';

/** kube-scheduler looks at a new pod within this time, also in a large cluster. */
const UNSEEN_MS = 30_000;

/** Tells what is in the way of a pod on every node, and stands in the pod itself: a sentence for each. */
export function findPodObstacles(object: unknown, nowMs: number): string[] {
  const { metadata, spec, status } = asObject(object);
  const phase = asString(asObject(status)['phase']);
  const gates = asArray(asObject(spec)['schedulingGates']).map((gate) => asString(asObject(gate)['name']));
  const scheduler = asString(asObject(spec)['schedulerName']) || 'default-scheduler';
  const createdMs = Date.parse(asString(asObject(metadata)['creationTimestamp']));
  const isUnseen =
    asString(asObject(spec)['nodeName']) === '' &&
    gates.length === 0 &&
    !asArray(asObject(status)['conditions']).map(asObject).some(wasLookedAt) &&
    nowMs - createdMs > UNSEEN_MS;
  return [
    ...(phase === 'Succeeded' || phase === 'Failed'
      ? [`the pod has finished (${phase}), and is not started again`]
      : []),
    ...(isBeingDeleted(object) ? ['the pod is being deleted'] : []),
    ...(gates.length > 0 ? [`the pod waits for its scheduling gates: ${gates.join(', ')}`] : []),
    ...(isUnseen ? [`no scheduler has looked at the pod: is one for schedulerName ${scheduler} running?`] : []),
  ];
}

/** A pod that was created with gates keeps the condition that says so when they are gone. */
function wasLookedAt({ type, reason }: JsonObject): boolean {
  return type === 'PodScheduled' && reason !== 'SchedulingGated';
}
