import { reasonOf, type EnforcementMode, type Phase } from './phase';

/** The facts that a look at the node is decided on. Times are of the monotonic clock, in ms. */
export interface LookFacts {
  readonly mode: EnforcementMode;
  readonly nowMs: number;
  /** Rules that were not followed for a longer time are stopped. */
  readonly lateMs: number;
  /** There is something to undo. */
  readonly isInForce: boolean;
  /** A lost note may have listed throttles, and nothing is undone for it yet. */
  readonly owesUnknown: boolean;
  /** The time of the next attempt to undo has come. */
  readonly isUndoDue: boolean;
}

/** The step that a look asks for. */
export type LookStep =
  | { readonly kind: 'nothing' }
  /** Undoes what an earlier process left. */
  | { readonly kind: 'start' }
  /** Undoes everything, and forgets how often rules have fired. */
  | { readonly kind: 'stop'; readonly because: string }
  /** Undoes what could not be undone before. */
  | { readonly kind: 'undo'; readonly because: string }
  /** Undoes what a lost note may have listed, while rules are followed. */
  | { readonly kind: 'undo-unknown' };

const NOTHING: LookStep = { kind: 'nothing' };

/**
 * Decides what is undone between rounds: what was left, everything when rules were not followed for long, and what
 * could not be undone before.
 */
export function planLook(phase: Phase, facts: LookFacts): LookStep {
  const { mode, isInForce, owesUnknown, isUndoDue } = facts;
  const isDue = isInForce && isUndoDue;
  switch (phase.kind) {
    case 'starting':
      return isUndoDue ? { kind: 'start' } : NOTHING;
    case 'idle':
      return isDue ? { kind: 'undo', because: reasonOf(phase) } : NOTHING;
    case 'previewing':
      return stopWhenLate(phase, facts) ?? (isDue ? { kind: 'undo', because: `qos-actions is ${mode}` } : NOTHING);
    case 'acting':
      return stopWhenLate(phase, facts) ?? (isDue && owesUnknown ? { kind: 'undo-unknown' } : NOTHING);
    case 'ending':
      return NOTHING;
  }
}

function stopWhenLate(
  { followedMs, collectedMs }: { readonly followedMs: number; readonly collectedMs: number },
  { nowMs, lateMs }: LookFacts,
): LookStep | undefined {
  const silentMs = nowMs - followedMs;
  if (silentMs <= lateMs) return undefined;
  const what = nowMs - collectedMs <= lateMs ? 'rules could not be followed' : 'the node was not measured';
  return { kind: 'stop', because: `${what} for ${Math.round(silentMs / 1000)} s` };
}
