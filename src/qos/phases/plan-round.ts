import type { LowQuotas, UnknownThrottles } from '../avoidance/low-quotas';
import type { KnownObjects, ObjectsOfNode } from '../objects/objects-of-node';
import type { EnforcementMode, Phase } from './phase';

/**
 * The facts that decide whether the rules of a collection are followed. Those that cost a reading are read when they
 * decide.
 */
export interface RoundFacts {
  readonly mode: EnforcementMode;
  /** The runtime has listed its containers: those that are not known yet may have promised CPUs. */
  readonly isSynchronized: boolean;
  readonly objects: () => ObjectsOfNode;
  /** The reason for which no action may be taken; undefined = there is none. */
  readonly whyNoAction: () => string | undefined;
  /** The quotas that a lost note may have been about. */
  readonly lost: () => UnknownThrottles;
}

/** The step of a collection, with what it needs. */
export type RoundStep =
  /** Nothing happens: the start is not over, or the end has begun. */
  | { readonly kind: 'skip' }
  /** Rules are not followed any more. */
  | { readonly kind: 'stop'; readonly because: string }
  | { readonly kind: 'preview'; readonly objects: KnownObjects }
  | { readonly kind: 'enforce'; readonly objects: KnownObjects; readonly lost: LowQuotas };

/** The reason while the containers of the runtime are not known. */
export const NOT_SYNCHRONIZED = 'the runtime has not sent its containers yet';

/** Decides what is done with a collection. */
export function planRound(phase: Phase, facts: RoundFacts): RoundStep {
  const { mode, isSynchronized, whyNoAction } = facts;
  if (phase.kind === 'ending') return { kind: 'skip' };
  if (mode === 'off') return { kind: 'stop', because: 'qos-actions is off' };
  if (phase.kind === 'starting') return { kind: 'skip' };
  if (!isSynchronized) return { kind: 'stop', because: NOT_SYNCHRONIZED };
  const objects = facts.objects();
  if (objects.kind === 'unknown') return { kind: 'stop', because: objects.because };
  if (mode === 'preview') return { kind: 'preview', objects };
  const because = whyNoAction();
  if (because !== undefined) return { kind: 'stop', because };
  const lost = facts.lost();
  return 'because' in lost ? { kind: 'stop', because: lost.because } : { kind: 'enforce', objects, lost };
}
