import { sum } from '../../core/sum';
import type { QosPod } from '../objects/objects';
import { gapAbove, metricsOf, resourceOf, type Resource } from './gap';
import { orderPods, useOf, type PodUse } from './order-pods';
import { beyond, describeOrder, formatNumber, nameOf, stepPod, type Round } from './round';
import { selectPods, whyNotEvicted, type NodePods } from './select-pods';
import type { AvoidanceOrder, AvoidanceSituation } from './situation';

/**
 * Adds the evictions that close the gaps of the triggered rules, as far as the budgets reach. What pods use that are
 * being deleted counts as released: otherwise each round until they have ended would evict others.
 */
export function planEvictions(
  round: Round,
  triggered: readonly AvoidanceOrder[],
  situation: AvoidanceSituation,
  node: NodePods,
): void {
  const orders = triggered.filter(({ action }) => action.eviction);
  for (const metric of metricsOf(orders)) evictFor(metric, round, orders, situation, node);
}

function evictFor(
  metric: string,
  round: Round,
  all: readonly AvoidanceOrder[],
  situation: AvoidanceSituation,
  node: NodePods,
): void {
  const orders = all.filter((order) => order.metric === metric);
  const resource = resourceOf(metric);
  const selected = selectPods(orders, node);
  let left = gapAbove(metric, orders, situation);
  if (resource) left -= round.released[resource] + leavingUse(resource, node);
  const isAll = left === Infinity;
  for (const use of orderPods([...selected.keys()].map(node.measure), resource)) {
    if (left <= 0) return;
    const { pod } = use;
    if (round.evictions.some((step) => step.pod.uid === pod.uid)) continue;
    const amount = resource && useOf(use, resource);
    const because =
      whyNotEvicted(pod, node.containersOf(pod)) ??
      situation.refusedEvictions?.get(pod.uid) ??
      (isAll ? undefined : whyUseless(amount)) ??
      whyNoSooner(pod, graceOf(selected.get(pod)!, pod));
    if (because) {
      round.skip(nameOf(pod), `no eviction: ${because}`);
      continue;
    }
    const spent = round.whyNoEviction(pod.namespace);
    // When only one namespace has spent its share, pods of others go in its place.
    if (spent?.shareOf === undefined) left -= amount ?? 0;
    if (spent) round.skip(nameOf(pod), `no eviction: ${spent.because}`, beyond('evict', spent));
    else evict(round, use, selected.get(pod)!, isAll ? 'all selected pods' : describeUse(amount!, resource!));
  }
}

function leavingUse(resource: Resource, { pods, measure }: NodePods): number {
  return sum(pods.filter(({ isBeingDeleted }) => isBeingDeleted).map((pod) => useOf(measure(pod), resource) ?? 0));
}

/** In a round that closes a gap, no pod is evicted for nothing. */
function whyUseless(amount: number | undefined): string | undefined {
  if (amount === undefined) return 'its use is unknown';
  return amount > 0 ? undefined : 'it uses nothing that would be released';
}

/** Of a pod whose deletion was asked for long ago, the API server only takes a shorter time to end. */
function whyNoSooner({ deletion }: QosPod, graceSeconds = Infinity): string | undefined {
  return deletion && graceSeconds >= deletion.graceSeconds
    ? 'it is being deleted already, and the action gives it no less time to end'
    : undefined;
}

/** The shortest time that the actions give; without one, the pod's own. */
function graceOf(orders: readonly AvoidanceOrder[], pod: QosPod): number | undefined {
  const ofActions = orders
    .map(({ action }) => action.eviction?.graceSeconds)
    .filter((seconds) => seconds !== undefined);
  return ofActions.length > 0 ? Math.min(...ofActions) : pod.graceSeconds;
}

function evict(round: Round, use: PodUse, orders: readonly AvoidanceOrder[], what: string): void {
  const [first] = orders;
  const graceSeconds = graceOf(orders, use.pod);
  round.evict({
    pod: stepPod(use.pod),
    ...(graceSeconds !== undefined && { graceSeconds }),
    rule: first!.rule,
    action: first!.action.name,
    because: `${describeOrder(first!)}; ${what}`,
  });
  round.released.cpu += use.milliCpu ?? 0;
  round.released.memory += use.memoryBytes ?? 0;
}

function describeUse(amount: number, resource: Resource): string {
  return `releases ${formatNumber(amount)} ${resource === 'cpu' ? 'milli-CPU' : 'bytes'}`;
}
