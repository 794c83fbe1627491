import { GRACE_MS, type Figure } from './figure';
import { findOverload, type Overload } from './filter-by-load';
import type { NodeLoad } from './node-load';
import { scoreByLoad } from './score-by-load';
import { periodOf, type SchedulerPolicy } from '../policy/policy';

/** Filter and score of a node by its load. Both stay as they are until the first of the figures is too old. */
export interface LoadVerdict {
  /** The policy that judged. */
  readonly by: SchedulerPolicy | undefined;
  readonly overload: Overload | undefined;
  readonly score: number;
  /** Holds from here, as long as the clock is not set back. */
  readonly fromMs: number;
  /** Does not hold any more at this time. */
  readonly untilMs: number;
}

/** The verdict on a node without figures: it passes, and scores 0. */
export const NO_VERDICT: LoadVerdict = {
  by: undefined,
  overload: undefined,
  score: 0,
  fromMs: -Infinity,
  untilMs: Infinity,
};

/** Judges the load by filter and score at once, for the answers of many pods. */
export function judgeLoad(policy: SchedulerPolicy, load: NodeLoad, nowMs: number): LoadVerdict {
  return {
    by: policy,
    overload: findOverload(policy, load, nowMs),
    score: scoreByLoad(policy, load, nowMs),
    fromMs: nowMs,
    untilMs: findFirstEnd(policy, load, nowMs),
  };
}

/** True when the verdict is the same as one that the policy makes now of the same load. */
export function holdsAt({ by, fromMs, untilMs }: LoadVerdict, policy: SchedulerPolicy, nowMs: number): boolean {
  return by === policy && fromMs <= nowMs && nowMs < untilMs;
}

/** The time when the next figure is too old; Infinity when none is valid now. */
function findFirstEnd(policy: SchedulerPolicy, { figures, hotValue }: NodeLoad, nowMs: number): number {
  let first = Infinity;
  const note = (figure: Figure | undefined, validForMs: number | undefined): void => {
    if (!figure || validForMs === undefined) return;
    const endMs = figure.stampMs + validForMs + GRACE_MS;
    if (endMs > nowMs && endMs < first) first = endMs;
  };
  for (const [metric, figure] of figures) note(figure, periodOf(policy, metric));
  note(hotValue, 0);
  return first;
}
