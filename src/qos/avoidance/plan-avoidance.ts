import { compareTexts } from '../../core/text';
import { followLimit, judgeThrottles, stillYielded } from './own-throttles';
import type { AvoidancePlan, Skipped } from './plan';
import { planEvictions } from './plan-evictions';
import { compareThrottles, planRestores } from './plan-restores';
import { planThrottles } from './plan-throttles';
import { Round } from './round';
import { indexPods, type NodePods } from './select-pods';
import type { AvoidanceOrder, AvoidanceSituation, Throttle, Yielded } from './situation';

/**
 * Plans what is done in one round: evictions, then throttles for what is still to be released, then steps up. Pure, and
 * the same for any order of its input.
 */
export function planAvoidance(given: AvoidanceSituation): AvoidancePlan {
  const node = indexPods(given);
  const throttles = given.throttles.map((throttle) => followLimit(throttle, specOf(throttle, node)));
  const { live, unread, ended, yielded } = judgeThrottles(throttles, node.byId);
  const situation = { ...given, yielded: stillYielded({ ...given, yielded: mergeYielded(given.yielded, yielded) }) };
  const isActing = ({ isPreview }: AvoidanceOrder): boolean => !isPreview;

  const triggered = situation.triggered.filter(isActing);
  const { round, changed } = planActions(triggered, situation, node, live);
  const evicted = new Set(round.evictions.map(({ pod }) => pod.uid));
  const others = [...live.values()].filter(({ id }) => !changed.has(id));
  const leaving = others.filter(({ podUid }) => evicted.has(podUid));
  const staying = others.filter(({ podUid }) => !evicted.has(podUid));
  const restores = planRestores({
    round,
    triggered,
    situation,
    node,
    restored: situation.restored.filter(isActing),
    live: new Map(staying.map((throttle) => [throttle.id, throttle])),
  });

  const preview = planActions(
    situation.triggered.filter(({ isPreview }) => isPreview),
    situation,
    node,
    live,
  ).round;
  return {
    ...stepsOf(round),
    restores: restores.steps,
    previewed: { ...stepsOf(preview), restores: [] },
    throttled: [...changed.values(), ...restores.throttled, ...leaving, ...unread].sort(compareThrottles),
    yielded: situation.yielded,
    ended: sortSkipped(ended),
  };
}

function mergeYielded(before: readonly Yielded[], now: readonly Yielded[]): readonly Yielded[] {
  const byId = new Map([...before, ...now].map((yielded) => [yielded.id, yielded]));
  return [...byId.values()].sort((a, b) => compareTexts(a.id, b.id));
}

function planActions(
  triggered: readonly AvoidanceOrder[],
  situation: AvoidanceSituation,
  node: NodePods,
  live: ReadonlyMap<string, Throttle>,
): { readonly round: Round; readonly changed: ReadonlyMap<string, Throttle> } {
  const round = new Round(situation.options, node.tenants);
  planEvictions(round, triggered, situation, node);
  return { round, changed: planThrottles({ round, triggered, situation, node, live }) };
}

function specOf({ podUid, container }: Throttle, { byUid }: NodePods) {
  return byUid.get(podUid)?.containers.find(({ name }) => name === container);
}

function stepsOf({ evictions, throttles, skipped }: Round) {
  return { evictions, throttles, skipped: sortSkipped(skipped) };
}

function sortSkipped(skipped: readonly Skipped[]): readonly Skipped[] {
  return [...skipped].sort((a, b) => compareTexts(a.subject, b.subject) || compareTexts(a.because, b.because));
}
