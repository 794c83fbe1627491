import type { QosPod } from './objects';

/** The default grace of a pod is 30 s. */
const ENDING_MS = 120_000;

/**
 * True for a pod that is about to end: no action is taken against it, since it may need CPU time for that, and what it
 * uses counts as released. Its author sets how long it may take, up to for ever; so a pod that goes on for long is like
 * any other.
 */
export function isEnding({ isBeingDeleted, deletion }: QosPod, nowMs: number): boolean {
  return isBeingDeleted && (deletion === undefined || nowMs - deletion.askedAtMs < ENDING_MS);
}
