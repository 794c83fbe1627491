/**
 * The time between two rounds, in ms. A change of it ends the pause under way, so that a shorter one counts at once.
 */
export class Period {
  private endPause: (() => void) | undefined;

  constructor(private currentMs: number) {}

  get ms(): number {
    return this.currentMs;
  }

  change(ms: number): void {
    if (ms === this.currentMs) return;
    this.currentMs = ms;
    this.endPause?.();
  }

  /** Resolves after the period, and at once when that is changed or the signal is aborted. One caller at a time. */
  pass(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        this.endPause = undefined;
        resolve();
      };
      const timer = setTimeout(end, this.currentMs);
      signal.addEventListener('abort', end, { once: true });
      this.endPause = end;
    });
  }
}

/**
 * Calls `round` again and again, one at a time, with a pause of the period after each, until the signal is aborted.
 * The returned promise resolves then, when the round under way has ended. A round never rejects: it logs.
 */
export async function repeat(
  round: () => void | Promise<void>,
  { period, signal }: { readonly period: Period; readonly signal: AbortSignal },
): Promise<void> {
  while (!signal.aborted) {
    await round();
    await period.pass(signal);
  }
}
