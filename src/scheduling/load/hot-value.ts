import type { SchedulerPolicy } from '../policy/policy';
import type { Bindings } from './bindings';

/**
 * The hot value of a node: for each entry of the policy the bindings in its range divided by its count, rounded down,
 * summed.
 */
export function hotValueOf(
  { hotValue }: Pick<SchedulerPolicy, 'hotValue'>,
  bindings: Bindings,
  node: string,
  nowMs: number,
): number {
  return hotValue.reduce(
    (sum, { timeRangeMs, count }) => sum + Math.floor(bindings.count(node, timeRangeMs, nowMs) / count),
    0,
  );
}

/** The longest range of the policy in milliseconds; older bindings count for nothing. 0 without an entry. */
export function longestRangeMs({ hotValue }: Pick<SchedulerPolicy, 'hotValue'>): number {
  return Math.max(0, ...hotValue.map(({ timeRangeMs }) => timeRangeMs));
}
