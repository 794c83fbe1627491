import { samePromise, type CpuPromise } from '../model/container';

/** So many repairs of one promise are made at once; from then on each waits. */
export const FREE_REPAIRS = 5;
/** After so many someone else wants this cpuset more than we do: no more repairs, an alarm instead. */
export const MAX_REPAIRS = 8;
/** The first wait; it doubles with each repair. */
export const FIRST_WAIT_MS = 1_000;
export const LAST_WAIT_MS = 30_000;
/** Nobody interfered for so long: the quarrel is over. Longer than the longest wait. */
export const QUIET_MS = 60_000;

/** How it went with one container's promise so far. Kept as long as the container runs. */
export interface Quarrel {
  readonly promise: CpuPromise;
  readonly repairs: number;
  readonly repairedAtMs: number;
  /** When someone was last seen to interfere. */
  readonly disturbedAtMs: number;
  readonly phase: 'repaired' | 'waiting' | 'stopped';
  /** The kernel refused the last repair: nobody to quarrel with, but no reason to try all the time. */
  readonly refused: boolean;
}

export interface Disturbance {
  readonly promise: CpuPromise;
  readonly nowMs: number;
  /** It was just written, not merely found. */
  readonly written: boolean;
}

export type Restraint =
  | { readonly action: 'repair'; readonly quarrel: Quarrel }
  | { readonly action: 'wait'; readonly quarrel: Quarrel; readonly untilMs: number }
  | { readonly action: 'stop'; readonly quarrel: Quarrel };

/**
 * Whether to repair a drift now. The first few repairs are made at once; then each waits twice as long as the one
 * before; then they stop, until nobody has written for a while or the promise is another one. So whoever fights over a
 * cpuset costs a bounded number of writes, and whoever was merely clumsy is put right within milliseconds. Pure: time
 * is a parameter.
 */
export function restrain(before: Quarrel | undefined, { promise, nowMs, written }: Disturbance): Restraint {
  if (before === undefined || !samePromise(before.promise, promise)) return repair(promise, 1, nowMs);
  const { repairs, repairedAtMs, refused } = before;
  const quarrel = { ...before, disturbedAtMs: written ? nowMs : before.disturbedAtMs };

  if (before.phase === 'stopped') {
    // One attempt, not a new beginning: if it is undone again, we stop again at once.
    return nowMs - quarrel.disturbedAtMs >= QUIET_MS
      ? repair(promise, MAX_REPAIRS, nowMs)
      : { action: 'stop', quarrel };
  }
  if (before.phase === 'repaired' && !refused && nowMs - repairedAtMs >= QUIET_MS) return repair(promise, 1, nowMs);
  if (repairs >= MAX_REPAIRS && !refused) {
    return { action: 'stop', quarrel: { ...quarrel, disturbedAtMs: nowMs, phase: 'stopped' } };
  }
  const untilMs = repairedAtMs + waitAfter(repairs);
  if (nowMs < untilMs) return { action: 'wait', quarrel: { ...quarrel, phase: 'waiting' }, untilMs };
  return repair(promise, repairs + 1, nowMs);
}

/** The wait after the nth repair. */
function waitAfter(repairs: number): number {
  return repairs < FREE_REPAIRS ? 0 : Math.min(LAST_WAIT_MS, FIRST_WAIT_MS * 2 ** (repairs - FREE_REPAIRS));
}

function repair(promise: CpuPromise, repairs: number, nowMs: number): Restraint {
  return {
    action: 'repair',
    quarrel: { promise, repairs, repairedAtMs: nowMs, disturbedAtMs: nowMs, phase: 'repaired', refused: false },
  };
}
