export interface ClockWatchParts {
  /** Wall clock. */
  readonly nowMs: () => number;
  /** The wall clock was set by this number of ms. */
  readonly onStep: (byMs: number) => void;
  readonly signal: AbortSignal;
  readonly everyMs?: number;
}

const EVERY_MS = 10_000;
/** A slower change is the correction of a clock that runs well. */
const STEP_MS = 5_000;

/** Compares the wall clock with the monotonic one, and reports when it was set, or the machine has slept. */
export function watchClock({ nowMs, onStep, signal, everyMs = EVERY_MS }: ClockWatchParts): void {
  const offset = (): number => nowMs() - performance.now();
  let before = offset();
  const timer = setInterval(() => {
    const now = offset();
    const byMs = now - before;
    before = now;
    if (Math.abs(byMs) > STEP_MS) onStep(byMs);
  }, everyMs).unref();
  signal.addEventListener('abort', () => clearInterval(timer), { once: true });
}
