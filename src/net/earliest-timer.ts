/**
 * A timer that fires once, at the earliest of the times that it was started for, and never after the signal was
 * aborted.
 *
 * `onDue` may return a promise. Until it has settled the timer does not fire; a start meanwhile counts from when it was
 * made. The promise must not reject.
 */
export class EarliestTimer {
  private dueMs = Infinity;
  private handle: NodeJS.Timeout | undefined;
  private isRunning = false;

  constructor(
    private readonly onDue: () => void | Promise<void>,
    private readonly signal: AbortSignal,
  ) {
    signal.addEventListener('abort', () => clearTimeout(this.handle), { once: true });
  }

  /** Fires after this many milliseconds, and never early; sooner when it was started for a sooner time. */
  startIn(delayMs: number): void {
    const dueMs = performance.now() + delayMs;
    if (dueMs < this.dueMs) this.setDue(dueMs);
  }

  /** Fires after this many milliseconds, whatever it was started for before. */
  restartIn(delayMs: number): void {
    this.setDue(performance.now() + delayMs);
  }

  private setDue(dueMs: number): void {
    this.dueMs = dueMs;
    if (!this.isRunning) this.arm();
  }

  private arm(): void {
    clearTimeout(this.handle);
    if (this.signal.aborted || this.dueMs === Infinity) return;
    const delayMs = Math.max(0, this.dueMs - performance.now());
    this.handle = setTimeout(() => this.fire(), delayMs + 1).unref(); // Node may fire up to 1 ms early
  }

  private fire(): void {
    this.dueMs = Infinity;
    const running = this.onDue();
    if (running === undefined) return;
    this.isRunning = true;
    const finish = (): void => {
      this.isRunning = false;
      this.arm();
    };
    running.then(finish, (error: unknown) => {
      finish();
      throw error; // a fault of the caller: it must be seen
    });
  }
}
