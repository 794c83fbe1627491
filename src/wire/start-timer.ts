/** Longest delay that Node's timers take; they fire at once for a longer one. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Starts a timer for a deadline. Without a deadline, or with one that is too far away for a timer, there is none. */
export function startTimer(timeoutMs: number | undefined, onExpired: () => void): NodeJS.Timeout | undefined {
  return timeoutMs === undefined || timeoutMs > MAX_TIMER_MS ? undefined : setTimeout(onExpired, timeoutMs);
}
