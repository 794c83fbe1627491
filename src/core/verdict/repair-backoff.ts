import { samePromise, type CpuPromise } from '../model/container';

/** The number of repairs of one promise that are made at once; from then on each waits. */
export const IMMEDIATE_REPAIRS = 5;
/** The number of repairs after which there is an alarm instead: another program keeps writing this cpuset. */
export const MAX_REPAIRS = 8;
/** The first wait; it doubles with each repair. */
export const BASE_BACKOFF_MS = 1_000;
export const MAX_BACKOFF_MS = 30_000;
/** Time without another writer after which the count begins anew. Longer than the longest wait. */
export const QUIET_MS = 60_000;

/** The repairs of one container's promise so far. Kept as long as the container runs. */
export interface RepairRecord {
  readonly promise: CpuPromise;
  readonly repairs: number;
  readonly repairedAtMs: number;
  /** The last time that another writer was seen. */
  readonly lastDriftAtMs: number;
  readonly phase: 'repaired' | 'waiting' | 'stopped';
  /** The kernel refused the last repair: there is no other writer, but each attempt waits all the same. */
  readonly refused: boolean;
}

export interface DriftSeen {
  readonly promise: CpuPromise;
  readonly nowMs: number;
  /** It was just written, not merely found. */
  readonly written: boolean;
}

export type RepairDecision =
  | { readonly action: 'repair'; readonly history: RepairRecord }
  | { readonly action: 'wait'; readonly history: RepairRecord; readonly untilMs: number }
  | { readonly action: 'stop'; readonly history: RepairRecord };

/**
 * Decides on the repair of a drift. The first few repairs are made at once; then each waits twice as long as the one
 * before; then they stop, until no other program has written for a while or the promise has changed. So a fight over a
 * cpuset costs a bounded number of writes, and a single mistake is put right within milliseconds. Pure: time is a
 * parameter.
 */
export function decideRepair(before: RepairRecord | undefined, { promise, nowMs, written }: DriftSeen): RepairDecision {
  if (before === undefined || !samePromise(before.promise, promise)) return repair(promise, 1, nowMs);
  const { repairs, repairedAtMs, refused } = before;
  const history = { ...before, lastDriftAtMs: written ? nowMs : before.lastDriftAtMs };

  if (before.phase === 'stopped') {
    // One attempt: if it is undone again, the repairs stop again at once.
    return nowMs - history.lastDriftAtMs >= QUIET_MS
      ? repair(promise, MAX_REPAIRS, nowMs)
      : { action: 'stop', history };
  }
  if (before.phase === 'repaired' && !refused && nowMs - repairedAtMs >= QUIET_MS) return repair(promise, 1, nowMs);
  if (repairs >= MAX_REPAIRS && !refused) {
    return { action: 'stop', history: { ...history, lastDriftAtMs: nowMs, phase: 'stopped' } };
  }
  const untilMs = repairedAtMs + waitAfter(repairs);
  if (nowMs < untilMs) return { action: 'wait', history: { ...history, phase: 'waiting' }, untilMs };
  return repair(promise, repairs + 1, nowMs);
}

/** The wait after the nth repair. */
function waitAfter(repairs: number): number {
  return repairs < IMMEDIATE_REPAIRS
    ? 0
    : Math.min(MAX_BACKOFF_MS, BASE_BACKOFF_MS * 2 ** (repairs - IMMEDIATE_REPAIRS));
}

function repair(promise: CpuPromise, repairs: number, nowMs: number): RepairDecision {
  return {
    action: 'repair',
    history: { promise, repairs, repairedAtMs: nowMs, lastDriftAtMs: nowMs, phase: 'repaired', refused: false },
  };
}
