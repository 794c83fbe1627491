import { compareTexts } from '../../core/text';
import type { QosPod } from '../objects/objects';
import { gapBelow, resourceOf } from './gap';
import { orderPods } from './order-pods';
import { judgeThrottles, subjectOf } from './own-throttles';
import { ratiosOf, throttlingOrders } from './plan-throttles';
import type { Skipped, ThrottleStep } from './plan';
import { raiseQuota, requestUs, type QuotaView } from './quota';
import { describeOrder, formatQuota, type Round } from './round';
import { groupBy, selectPods, type NodePods } from './select-pods';
import type { AvoidanceOrder, AvoidanceSituation, ContainerState, Throttle, ThrottleCause } from './situation';

/** The metric on whose gap the way up depends. */
const GAP_METRIC = 'cpu_total_usage';

export interface Restoring {
  readonly round: Round;
  readonly triggered: readonly AvoidanceOrder[];
  readonly restored: readonly AvoidanceOrder[];
  readonly situation: AvoidanceSituation;
  readonly node: NodePods;
  /** Throttles that have no step in this round, by the container's id. */
  readonly live: ReadonlyMap<string, Throttle>;
}

export interface Restores {
  readonly steps: readonly ThrottleStep[];
  /** The throttles afterwards. */
  readonly throttled: readonly Throttle[];
}

interface Candidate {
  readonly throttle: Throttle;
  readonly pod: QosPod;
  readonly container: ContainerState;
  readonly view: QuotaView;
  /** Rules that still hold it. None: it goes back to its original at once. */
  readonly causes: readonly ThrottleCause[];
  /** The orders of these rules, where they are calm. */
  readonly calm: readonly AvoidanceOrder[];
  /** A triggered rule may throttle it. */
  readonly isHeld: boolean;
}

interface Raise {
  readonly toUs: number;
  readonly because: string;
}

/**
 * Plans the steps up: at once where no rule holds a throttle any more, else one step where all of its rules are calm.
 */
export function planRestores(restoring: Restoring): Restores {
  const { situation, node, restored } = restoring;
  const candidates = listCandidates(restoring);
  const raises = new Map<Candidate, Raise>();
  let left = gapBelow(GAP_METRIC, restored, situation);
  const raise = (candidate: Candidate, toUs: number, because: string): void => {
    raises.set(candidate, { toUs, because });
    left -= extraMilliCpu(candidate, toUs, situation.cores);
  };

  for (const candidate of candidates) {
    const { view, throttle } = candidate;
    const because = whyAtOnce(candidate, situation.actingRules);
    if (because) raise(candidate, throttle.originalUs, because);
    else if (throttle.quotaUs < leastOf(candidate))
      raise(candidate, leastOf(candidate), `its request is ${view.spec.requestMilliCpu} milli-CPU now`);
  }
  const due = candidates.filter((each) => !raises.has(each) && !each.isHeld && each.calm.length === each.causes.length);
  for (const candidate of inReverse(due, node)) {
    const { calm, view, throttle } = candidate;
    if (calm.some(({ metric }) => metric === GAP_METRIC) && left <= 0) continue;
    const { step } = ratiosOf(calm);
    raise(candidate, raiseQuota(view, step, throttle.originalUs), `${describeOrder(calm[0]!)}; a step of ${step} %`);
  }

  const steps = candidates.filter((each) => raises.has(each)).map((each) => toStep(each, raises.get(each)!));
  return { steps, throttled: keepThrottles(restoring.live, steps) };
}

/** Gives back every quota at once. With the containers, a quota that someone else changed is left as it is. */
export function planUndoAll(
  throttles: readonly Throttle[],
  containers?: readonly ContainerState[],
): { readonly restores: readonly ThrottleStep[]; readonly skipped: readonly Skipped[] } {
  const { live, unread, ended } = containers
    ? judgeThrottles(throttles, new Map(containers.map((container) => [container.id, container])))
    : { live: new Map<string, Throttle>(), unread: throttles, ended: [] };
  const restores = [...live.values(), ...unread].sort(compareThrottles).map((throttle) => ({
    pod: { uid: throttle.podUid, namespace: throttle.namespace, name: throttle.pod },
    container: throttle.container,
    id: throttle.id,
    fromUs: throttle.quotaUs,
    toUs: throttle.originalUs,
    periodUs: throttle.periodUs,
    rule: throttle.causes[0]?.rule ?? '',
    action: throttle.causes[0]?.action ?? '',
    because: `all throttles are undone: from ${formatQuota(throttle.quotaUs)} to ${formatQuota(throttle.originalUs)}`,
  }));
  return { restores, skipped: ended };
}

export function compareThrottles(a: Throttle, b: Throttle): number {
  return compareTexts(subjectOf(a), subjectOf(b)) || compareTexts(a.id, b.id);
}

function listCandidates({ round, triggered, restored, situation, node, live }: Restoring): readonly Candidate[] {
  const held = selectPods(throttlingOrders(triggered), node);
  const acting = new Set(situation.actingRules);
  const fired = new Map(triggered.map((order) => [order.rule, order]));
  const calm = new Map(restored.map((order) => [order.rule, order]));
  return [...live.values()].sort(compareThrottles).flatMap((throttle): Candidate[] => {
    const pod = node.byUid.get(throttle.podUid);
    const container = node.byId.get(throttle.id);
    const spec = pod?.containers.find(({ name }) => name === throttle.container);
    if (!pod || !container || !spec) {
      round.skip(subjectOf(throttle), 'no restore: its pod is unknown');
      return [];
    }
    const causes = throttle.causes.filter(({ rule, action }) => {
      const order = fired.get(rule) ?? calm.get(rule);
      return acting.has(rule) && (!order || order.action.throttle) && node.allows(pod, order?.action.name ?? action);
    });
    const { periodUs, quotaUs } = throttle;
    const { milliCpu } = container;
    return [
      {
        throttle,
        pod,
        container,
        causes,
        view: { quotaUs, periodUs, spec, ...(milliCpu !== undefined && { milliCpu }) },
        calm: causes.map(({ rule }) => calm.get(rule)).filter((order) => order !== undefined),
        isHeld: held.has(pod),
      },
    ];
  });
}

/** The reason for which a quota goes back to its original now; undefined = it does not. */
function whyAtOnce({ throttle, pod, causes, isHeld }: Candidate, actingRules: readonly string[]): string | undefined {
  if (pod.isBeingDeleted) return 'its pod is being deleted, and may need CPU time to end';
  if (isHeld || causes.length > 0) return undefined;
  const gone = throttle.causes.find(({ rule }) => !actingRules.includes(rule));
  if (gone) return `the rule ${gone.rule} does not act any more`;
  return `the action of ${throttle.causes[0]?.rule ?? 'its rule'} does not throttle this pod any more`;
}

/** The quota that its request needs, but no more than the original. */
function leastOf({ view, throttle }: Candidate): number {
  return throttle.originalUs > 0 ? Math.min(requestUs(view), throttle.originalUs) : requestUs(view);
}

/** The pods that went first come back last. */
function inReverse(candidates: readonly Candidate[], node: NodePods): readonly Candidate[] {
  const byPod = groupBy(candidates, ({ pod }) => pod);
  const pods = orderPods([...byPod.keys()].map(node.measure), resourceOf(GAP_METRIC));
  return pods.flatMap(({ pod }) => byPod.get(pod)!).reverse();
}

/** The CPU that a container may use beyond its use now. Without a quota, that is up to all cores. */
function extraMilliCpu({ view, throttle }: Candidate, toUs: number, cores: number): number {
  const { milliCpu, periodUs } = view;
  const most = toUs > 0 ? (toUs * 1000) / periodUs : cores * 1000;
  return Math.max(0, most - (milliCpu ?? (throttle.quotaUs * 1000) / periodUs));
}

function toStep({ throttle, pod, container, causes, calm }: Candidate, { toUs, because }: Raise): ThrottleStep {
  const cause = calm[0] ? { rule: calm[0].rule, action: calm[0].action.name } : (causes[0] ?? throttle.causes[0]);
  return {
    pod: { uid: pod.uid, namespace: pod.namespace, name: pod.name },
    container: container.name,
    id: container.id,
    fromUs: throttle.quotaUs,
    toUs,
    periodUs: throttle.periodUs,
    rule: cause?.rule ?? '',
    action: cause?.action ?? '',
    because: `${because}, from ${formatQuota(throttle.quotaUs)} to ${formatQuota(toUs)}`,
  };
}

/** A throttle whose original is written stays until the kernel has it. */
function keepThrottles(live: ReadonlyMap<string, Throttle>, steps: readonly ThrottleStep[]): readonly Throttle[] {
  const byId = new Map(steps.map((step) => [step.id, step]));
  return [...live.values()].map((throttle) => {
    const step = byId.get(throttle.id);
    return step ? { ...throttle, previousUs: throttle.quotaUs, quotaUs: step.toUs } : throttle;
  });
}
