import { compareTexts } from '../../core/text';
import type { QosPod } from '../objects/objects';
import { gapAbove, isThrottleMetric, metricsOf, resourceOf } from './gap';
import { orderPods } from './order-pods';
import { lowerQuota, plainQuota, type Ratios } from './quota';
import { beyond, describeOrder, formatQuota, nameOf, stepPod, type Round } from './round';
import { selectPods, whyNotThrottled, type NodePods } from './select-pods';
import type { AvoidanceOrder, AvoidanceSituation, ContainerState, Throttle, ThrottleCause } from './situation';

export interface Throttling {
  readonly round: Round;
  readonly triggered: readonly AvoidanceOrder[];
  readonly situation: AvoidanceSituation;
  readonly node: NodePods;
  /** Throttles so far, by the container's id. */
  readonly live: ReadonlyMap<string, Throttle>;
}

/**
 * A container that may get a step, with the orders that select its pod: all of them, and those on the metric in
 * question.
 */
interface Target {
  readonly pod: QosPod;
  readonly container: ContainerState;
  readonly orders: readonly AvoidanceOrder[];
  readonly ofMetric: readonly AvoidanceOrder[];
}

interface Lowering {
  readonly toUs: number;
  readonly floor?: string;
  readonly fromUseUs?: number;
  /** In milli-CPU. */
  readonly released: number;
  readonly throttle: Throttle;
}

/** In a round that closes a gap, no container is throttled for nothing. */
const USE_UNKNOWN = { because: 'its use is unknown' };

/** Triggered rules that throttle. Those whose metric a smaller quota does not lower are left out. */
export function throttlingOrders(triggered: readonly AvoidanceOrder[]): readonly AvoidanceOrder[] {
  return triggered.filter(({ action, metric }) => action.throttle && isThrottleMetric(metric));
}

/**
 * Adds the steps down that close the gaps of the triggered rules. @returns the throttles that are new or changed, by
 * container
 */
export function planThrottles(throttling: Throttling): ReadonlyMap<string, Throttle> {
  const { round, triggered } = throttling;
  for (const { rule, metric, action } of triggered) {
    if (action.throttle && !isThrottleMetric(metric))
      round.skip(rule, `no throttle: only evictions are taken for ${metric}`);
  }
  const orders = throttlingOrders(triggered);
  const changed = new Map<string, Throttle>();
  for (const metric of metricsOf(orders)) throttleFor(metric, orders, throttling, changed);
  return changed;
}

function throttleFor(
  metric: string,
  orders: readonly AvoidanceOrder[],
  throttling: Throttling,
  changed: Map<string, Throttle>,
): void {
  const { round, situation } = throttling;
  let left = gapAbove(metric, orders, situation) - round.released.cpu;
  const isAll = left === Infinity;
  for (const target of listTargets(metric, orders, throttling)) {
    if (left <= 0) return;
    const { pod, container } = target;
    if (changed.has(container.id)) continue;
    const lowering = !isAll && container.milliCpu === undefined ? USE_UNKNOWN : lower(target, throttling);
    if ('because' in lowering) {
      round.skip(`${nameOf(pod)}/${container.name}`, `no throttle: ${lowering.because}`);
      continue;
    }
    const spent = round.whyNoAction(pod.namespace);
    // When only one namespace has spent its share, containers of others are throttled in its place.
    if (spent?.shareOf === undefined) left -= lowering.released;
    if (spent) {
      round.skip(`${nameOf(pod)}/${container.name}`, `no throttle: ${spent.because}`, beyond('throttle', spent));
      continue;
    }
    changed.set(container.id, lowering.throttle);
    addStep(round, target, lowering);
  }
}

/** The containers of the pods that are selected and may be throttled, in their order; within a pod by name. */
function listTargets(
  metric: string,
  orders: readonly AvoidanceOrder[],
  { round, node }: Throttling,
): readonly Target[] {
  const selectedBy = selectPods(orders, node);
  const ofMetric = selectPods(
    orders.filter((order) => order.metric === metric),
    node,
  );
  return orderPods([...ofMetric.keys()].map(node.measure), resourceOf(metric)).flatMap(({ pod }) => {
    if (round.evictions.some((step) => step.pod.uid === pod.uid)) return [];
    const because = whyNotThrottled(pod);
    if (because) round.skip(nameOf(pod), `no throttle: ${because}`);
    if (because) return [];
    return node
      .containersOf(pod)
      .map((container) => ({ pod, container, orders: selectedBy.get(pod)!, ofMetric: ofMetric.get(pod)! }));
  });
}

function lower(target: Target, { live, situation }: Throttling): Lowering | { readonly because: string } {
  const { pod, container, orders } = target;
  const { id, milliCpu, quotaUs, periodUs } = container;
  if (situation.yielded.some((yielded) => yielded.id === id))
    return { because: 'someone else has changed its quota: it is theirs until the rules that had lowered it are calm' };
  if (container.isPinned) return { because: 'cpusetd manages its CPUs or its quota, or leaves it alone' };
  const refused = situation.refusedThrottles?.get(id);
  if (refused !== undefined) return { because: refused };
  if (quotaUs === undefined || !periodUs) return { because: 'its quota could not be read' };
  const spec = pod.containers.find(({ name }) => name === container.name);
  if (!spec) return { because: 'it is not in the spec of its pod' };

  const before = live.get(id);
  const base = before?.baseMilliCpu ?? milliCpu;
  const known = {
    ...(milliCpu !== undefined && { milliCpu }),
    ...(base !== undefined && { baseMilliCpu: base }),
  };
  const fromUs = plainQuota(quotaUs);
  const lowered = lowerQuota({ quotaUs: fromUs, periodUs, spec, ...known }, ratiosOf(orders));
  if ('because' in lowered) return lowered;
  return {
    ...lowered,
    released: milliCpu === undefined ? 0 : Math.max(0, milliCpu - (lowered.toUs * 1000) / periodUs),
    throttle: {
      id,
      podUid: pod.uid,
      namespace: pod.namespace,
      pod: pod.name,
      container: container.name,
      periodUs,
      originalUs: before?.originalUs ?? fromUs,
      ...limitOf(before ?? spec),
      quotaUs: lowered.toUs,
      previousUs: fromUs,
      ...(base !== undefined && { baseMilliCpu: base }),
      causes: mergeCauses(before?.causes ?? [], orders),
      sinceMs: before?.sinceMs ?? situation.nowMs,
    },
  };
}

function addStep(round: Round, { pod, container, orders, ofMetric }: Target, lowering: Lowering): void {
  const { toUs, floor, fromUseUs, released, throttle } = lowering;
  const [order] = ofMetric;
  round.released.cpu += released;
  round.throttle({
    pod: stepPod(pod),
    container: container.name,
    id: container.id,
    fromUs: throttle.previousUs,
    toUs,
    periodUs: throttle.periodUs,
    rule: order!.rule,
    action: order!.action.name,
    because:
      `${describeOrder(order!)}; quota from ${formatQuota(throttle.previousUs)} to ${formatQuota(toUs)} ` +
      (floor === undefined
        ? `by a step of ${ratiosOf(orders).step} %${fromUseUs === undefined ? '' : ` from its use of ${Math.round(fromUseUs)} us`}`
        : `which is its minimum: ${floor}`),
  });
}

/** The larger ratios of all actions that select a pod. */
export function ratiosOf(orders: readonly AvoidanceOrder[]): Ratios {
  const throttles = orders.map(({ action }) => action.throttle).filter((throttle) => throttle !== undefined);
  return {
    min: Math.max(0, ...throttles.map(({ minCpuRatio }) => minCpuRatio)),
    step: Math.max(0, ...throttles.map(({ stepCpuRatio }) => stepCpuRatio)),
  };
}

function limitOf({ limitMilliCpu }: Pick<Throttle, 'limitMilliCpu'>): Pick<Throttle, 'limitMilliCpu'> {
  return limitMilliCpu === undefined ? {} : { limitMilliCpu };
}

function mergeCauses(before: readonly ThrottleCause[], orders: readonly AvoidanceOrder[]): readonly ThrottleCause[] {
  const causes = new Map(before.map((cause) => [cause.rule, cause]));
  for (const { rule, action } of orders) causes.set(rule, { rule, action: action.name });
  return [...causes.values()].sort((a, b) => compareTexts(a.rule, b.rule));
}
