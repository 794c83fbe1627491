/** A timer that fires once, at the earliest of the times that it was started for; never after the signal was aborted. */
export class EarliestTimer {
  private set: { readonly dueMs: number; readonly handle: NodeJS.Timeout } | undefined;

  constructor(
    private readonly onDue: () => void,
    private readonly signal: AbortSignal,
  ) {
    signal.addEventListener('abort', () => clearTimeout(this.set?.handle), { once: true });
  }

  /** Fires after so many milliseconds, and never early; sooner where it was started for a sooner time. */
  startIn(delayMs: number): void {
    const dueMs = performance.now() + delayMs;
    if (this.signal.aborted || (this.set && this.set.dueMs <= dueMs)) return;
    clearTimeout(this.set?.handle);
    const fire = (): void => {
      this.set = undefined;
      this.onDue();
    };
    this.set = { dueMs, handle: setTimeout(fire, delayMs + 1).unref() };
  }
}
