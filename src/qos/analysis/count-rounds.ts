import type { QosRule } from '../objects/objects';

/** The rounds of a rule that count. Rounds without data change nothing. */
export interface Rounds {
  /** Rounds in a row above the threshold; not more than it takes to trigger. */
  readonly above: number;
  /** Rounds in a row not above it; not more than it takes to restore. */
  readonly notAbove: number;
  /** It has triggered, and has not restored since. */
  readonly hasTriggered: boolean;
}

export const NO_ROUNDS: Rounds = { above: 0, notAbove: 0, hasTriggered: false };

export type RoundState = 'triggered' | 'restored' | 'restoring' | 'firing' | 'calm';

/**
 * Counts one round. A rule triggers after `avoidanceThreshold` rounds above in a row, and restores after
 * `restoreThreshold` rounds not above in a row. Between the two, one round above is enough to be `triggered` again.
 */
export function countRound(
  before: Rounds,
  isAbove: boolean,
  { avoidanceThreshold, restoreThreshold }: Pick<QosRule, 'avoidanceThreshold' | 'restoreThreshold'>,
): { readonly rounds: Rounds; readonly state: RoundState } {
  if (isAbove) {
    const above = Math.min(before.above + 1, avoidanceThreshold);
    const hasTriggered = before.hasTriggered || above >= avoidanceThreshold;
    return { rounds: { above, notAbove: 0, hasTriggered }, state: hasTriggered ? 'triggered' : 'firing' };
  }
  const notAbove = Math.min(before.notAbove + 1, restoreThreshold);
  const isRestored = before.hasTriggered && notAbove >= restoreThreshold;
  const hasTriggered = before.hasTriggered && !isRestored;
  const state = isRestored ? 'restored' : hasTriggered ? 'restoring' : 'calm';
  return { rounds: { above: 0, notAbove, hasTriggered }, state };
}
