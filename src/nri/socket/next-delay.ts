/** Each second without a connection is one in which containers start unpinned: begin quickly, and never wait long. */
const FIRST_DELAY_MS = 100;
const MAX_DELAY_MS = 3000;

/** A session that lasted this long was a good one: what follows is a new trouble, and is met quickly again. */
const GOOD_SESSION_MS = 10_000;

/** How long to wait for the next connection, after one that lasted so long; `beforeMs` is the wait before that one, if any. */
export function nextDelayMs(beforeMs: number | undefined, lastedMs: number): number {
  if (beforeMs === undefined || lastedMs >= GOOD_SESSION_MS) return FIRST_DELAY_MS;
  return Math.min(beforeMs * 2, MAX_DELAY_MS);
}
