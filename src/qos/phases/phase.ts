/** The mode that the operator has set: `preview` follows rules and acts on none. */
export type EnforcementMode = 'off' | 'preview' | 'enforce';

/** Times of the monotonic clock, in ms. */
interface RoundTimes {
  /** Time at which rules were followed last. */
  readonly followedMs: number;
  /** Time of the last collection, whether its rules could be followed or not. */
  readonly collectedMs: number;
}

/** The phase of following rules. `because`: the reason for which no rule is followed, for the operator. */
export type Phase =
  /** The actions of an earlier process are not undone yet. No rule is followed before. */
  | { readonly kind: 'starting'; readonly because: string }
  /** No rule is followed. What is still in force is undone. */
  | { readonly kind: 'idle'; readonly because: string }
  /** Rules are followed, and only recorded. What is still in force is undone. */
  | ({ readonly kind: 'previewing' } & RoundTimes)
  /** Rules are followed, and their actions are in force. */
  | ({ readonly kind: 'acting' } & RoundTimes)
  /** The last phase: nothing begins any more, and everything is undone. */
  | { readonly kind: 'ending'; readonly because: string };

export const FIRST_PHASE: Phase = { kind: 'starting', because: 'nothing was measured yet' };

/** The reason for which no rule is followed; empty while they are. */
export function reasonOf(phase: Phase): string {
  return 'because' in phase ? phase.because : '';
}

/** The result of the attempts to undo what an earlier process left. */
export interface FirstUndo {
  readonly mode: EnforcementMode;
  /** Nothing is in force any more. */
  readonly isDone: boolean;
  /**
   * Only quotas are left, and it is known which. They keep rules from no other container: rules decide on its throttle,
   * or leave it alone as long as it is owed.
   */
  readonly areOnlyQuotasLeft: boolean;
  readonly whyNotUndone: string;
}

/** The phase after an attempt to undo what an earlier process left. */
export function afterFirstUndo(phase: Phase, { mode, isDone, areOnlyQuotasLeft, whyNotUndone }: FirstUndo): Phase {
  if (phase.kind !== 'starting') return phase;
  if (isDone || areOnlyQuotasLeft) return { ...phase, kind: 'idle' };
  return mode === 'off' ? phase : delayStart(phase, `what an earlier process left is not undone yet: ${whyNotUndone}`);
}

/** The phase when the start has to wait: rules are not followed before. */
export function delayStart(phase: Phase, because: string): Phase {
  return phase.kind === 'starting' ? { ...phase, because } : phase;
}

/** The phase after a collection was taken, which waits for its turn. */
export function afterCollection(phase: Phase, collectedMs: number): Phase {
  return 'collectedMs' in phase ? { ...phase, collectedMs } : phase;
}

/**
 * The phase when a round begins. Rules count as followed from the first one on, and later rounds when they end. Actions
 * of an earlier round stay in force in a preview round, until they are undone.
 */
export function beginRound(phase: Phase, mode: 'preview' | 'enforce', nowMs: number, collectedMs: number): Phase {
  switch (phase.kind) {
    case 'starting':
    case 'ending':
      return phase;
    case 'idle':
      return { kind: mode === 'enforce' ? 'acting' : 'previewing', followedMs: nowMs, collectedMs };
    case 'previewing':
    case 'acting':
      return mode === 'enforce' ? { ...phase, kind: 'acting' } : phase;
  }
}

/** The phase after a round was followed to its end. */
export function afterRound(phase: Phase, followedMs: number): Phase {
  return 'followedMs' in phase ? { ...phase, followedMs } : phase;
}

/** The phase when rules are not followed any more. */
export function stopRules(phase: Phase, because: string): Phase {
  return { kind: phase.kind === 'starting' || phase.kind === 'ending' ? phase.kind : 'idle', because };
}

/** The phase at the end of the daemon, which no other one follows. */
export function endPhase(phase: Phase): Phase {
  return { kind: 'ending', because: reasonOf(phase) };
}
