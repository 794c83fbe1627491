import { sum } from '../../core/sum';
import { compareTexts } from '../../core/text';
import type { QosPod } from '../objects/objects';
import type { AvoidanceOrder, AvoidanceSituation, ContainerState } from './situation';
import type { PodUse } from './order-pods';

/** The pods of the node with their containers, and which of them an action may be taken against. */
export interface NodePods {
  readonly pods: readonly QosPod[];
  readonly byUid: ReadonlyMap<string, QosPod>;
  /** Containers that exist of a pod, by name. */
  readonly containersOf: (pod: QosPod) => readonly ContainerState[];
  readonly byId: ReadonlyMap<string, ContainerState>;
  readonly measure: (pod: QosPod) => PodUse;
  /** Returns true where the pod matches a PodQOS that allows this action. */
  readonly allows: (pod: QosPod, action: string) => boolean;
  /** The namespaces of pods that any action is allowed against. */
  readonly tenants: ReadonlySet<string>;
}

export function indexPods(situation: AvoidanceSituation): NodePods {
  const { pods, podQoses, podMatches, containers } = situation;
  const byPod = groupBy(containers, ({ podUid }) => podUid);
  const actionsOf = new Map(
    pods.map((pod): [QosPod, ReadonlySet<string>] => [
      pod,
      new Set(podQoses.filter((podQos) => podMatches(podQos, pod)).flatMap((podQos) => podQos.allowedActions)),
    ]),
  );
  const containersOf = (pod: QosPod): readonly ContainerState[] =>
    [...(byPod.get(pod.uid) ?? [])].sort((a, b) => compareTexts(a.name, b.name) || compareTexts(a.id, b.id));
  return {
    pods,
    byUid: new Map(pods.map((pod) => [pod.uid, pod])),
    containersOf,
    byId: new Map(containers.map((container) => [container.id, container])),
    measure: (pod) => sumUse(pod, containersOf(pod)),
    allows: (pod, action) => actionsOf.get(pod)?.has(action) === true,
    tenants: new Set(pods.filter((pod) => actionsOf.get(pod)!.size > 0).map(({ namespace }) => namespace)),
  };
}

/**
 * The orders that select each pod, by its uid; pods that none selects are left out. Orders are sorted by watermark and
 * name of the rule.
 */
export function selectPods(
  orders: readonly AvoidanceOrder[],
  { pods, allows }: NodePods,
): ReadonlyMap<QosPod, readonly AvoidanceOrder[]> {
  const sorted = [...orders].sort((a, b) => a.threshold - b.threshold || compareTexts(a.rule, b.rule));
  return new Map(
    pods
      .map((pod): [QosPod, AvoidanceOrder[]] => [pod, sorted.filter(({ action }) => allows(pod, action.name))])
      .filter(([, selecting]) => selecting.length > 0),
  );
}

/** The reason for not throttling a pod; undefined = it may be. */
export function whyNotThrottled(pod: QosPod): string | undefined {
  if (pod.isCritical) return 'it is critical';
  if (pod.isStatic) return 'it is a static pod';
  if (pod.isBeingDeleted) return 'it is being deleted';
  const ended = whyEnded(pod);
  if (ended !== undefined) return ended;
  if (pod.qos === 'Guaranteed')
    return 'its class is Guaranteed: its request is its limit, so each step would go below its request';
  return undefined;
}

/** The reason for not evicting a pod; undefined = it may be. */
export function whyNotEvicted(pod: QosPod, containers: readonly ContainerState[]): string | undefined {
  if (pod.isCritical) return 'it is critical';
  if (pod.isStatic) return 'it is a static pod';
  if (pod.isBeingDeleted) return 'it is being deleted already';
  const ended = whyEnded(pod);
  if (ended !== undefined) return ended;
  const pinned = containers.find(({ isPinned }) => isPinned);
  if (pinned) return `cpusetd manages CPUs or quota of its container ${pinned.name}, or leaves it alone`;
  return undefined;
}

/** Containers of a pod that is Pending may run: its init containers do, for as long as their author likes. */
function whyEnded({ phase }: QosPod): string | undefined {
  return phase === 'Succeeded' || phase === 'Failed' ? `it has ended: its phase is ${phase}` : undefined;
}

function sumUse(pod: QosPod, containers: readonly ContainerState[]): PodUse {
  const milliCpu = sumKnown(containers.map((container) => container.milliCpu));
  const memoryBytes = sumKnown(containers.map((container) => container.memoryBytes));
  return { pod, ...(milliCpu !== undefined && { milliCpu }), ...(memoryBytes !== undefined && { memoryBytes }) };
}

/** The sum; undefined where a value is unknown or there is none. */
function sumKnown(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length > 0 && known.length === values.length ? sum(known) : undefined;
}

export function groupBy<T, K>(items: readonly T[], keyOf: (item: T) => K): ReadonlyMap<K, readonly T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}
