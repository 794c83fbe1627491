import { asArray, asObject, asString, type JsonObject, type PodObject } from '../../kube';

/** kube-scheduler looks at a new pod within this time, also in a large cluster. */
const UNSEEN_MS = 30_000;

/** Tells what is in the way of a pod on every node, and stands in the pod itself: a sentence for each. */
export function findPodObstacles(pod: PodObject, nowMs: number): string[] {
  const { metadata, spec, phase, node, conditions, hasFinished, isBeingDeleted } = pod;
  const gates = asArray(spec['schedulingGates']).map((gate) => asString(asObject(gate)['name']));
  const scheduler = asString(spec['schedulerName']) || 'default-scheduler';
  const createdMs = Date.parse(asString(metadata['creationTimestamp']));
  const isUnseen = node === '' && gates.length === 0 && !conditions.some(wasLookedAt) && nowMs - createdMs > UNSEEN_MS;
  return [
    ...(hasFinished ? [`the pod has finished (${phase}), and is not started again`] : []),
    ...(isBeingDeleted ? ['the pod is being deleted'] : []),
    ...(gates.length > 0 ? [`the pod waits for its scheduling gates: ${gates.join(', ')}`] : []),
    ...(isUnseen ? [`no scheduler has looked at the pod: is one for schedulerName ${scheduler} running?`] : []),
  ];
}

/** The kind of the controller of a pod; undefined for a pod that nobody makes again. */
export function controllerOf({ metadata }: PodObject): string | undefined {
  const owners = asArray(metadata['ownerReferences']).map(asObject);
  const controller = owners.find((owner) => owner['controller'] === true);
  return controller && asString(controller['kind']);
}

/** A pod that was created with gates keeps the condition that says so when they are gone. */
function wasLookedAt({ type, reason }: JsonObject): boolean {
  return type === 'PodScheduled' && reason !== 'SchedulingGated';
}
