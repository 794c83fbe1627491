import { isActing, type Finding } from '../analysis/finding';
import type { AvoidanceOrder, AvoidanceSituation } from './situation';

/** Sorts the findings of one round by what they ask for. */
export function ordersOf(
  findings: readonly Finding[],
): Pick<AvoidanceSituation, 'triggered' | 'restored' | 'actingRules'> {
  return {
    triggered: findings.filter(({ state }) => state === 'triggered').flatMap(toOrder),
    restored: findings.filter(isCalm).flatMap(toOrder),
    actingRules: findings.filter((finding) => isActing(finding) && !isLost(finding)).map(({ key }) => key),
  };
}

/** True in each round since a rule has restored: one round gives back one step only. */
function isCalm({ notAbove, restoreThreshold, hasTriggered }: Finding): boolean {
  return !hasTriggered && notAbove >= restoreThreshold;
}

/** A rule that is gone, or has had no data for long: what it has lowered goes back at once. */
function isLost(finding: Finding): boolean {
  return finding.series.length === 0 && !finding.hasTriggered && !isCalm(finding);
}

function toOrder({ key, metric, threshold, series, action, isPreview }: Finding): readonly AvoidanceOrder[] {
  if (!action) return [];
  return [{ rule: key, metric, threshold, values: series.map(({ value }) => value), action, isPreview }];
}
