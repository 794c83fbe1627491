/** Calls pass while it is open and wait while it is closed. It is closed at first. */
export class ReadinessGate {
  private waiters: (() => void)[] | undefined = [];

  get isOpen(): boolean {
    return this.waiters === undefined;
  }

  open(): void {
    const waiters = this.waiters ?? [];
    this.waiters = undefined;
    for (const go of waiters) go();
  }

  close(): void {
    this.waiters ??= [];
  }

  /** True when it is open, at once or within the time; false when that is over, or the signal aborts. */
  whenOpen({
    signal,
    timeoutMs,
  }: {
    readonly signal: AbortSignal;
    readonly timeoutMs: number;
  }): boolean | Promise<boolean> {
    const { waiters } = this;
    if (waiters === undefined) return true;
    return new Promise((resolve) => {
      const settle = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', settle);
        this.waiters = this.waiters?.filter((each) => each !== settle);
        resolve(this.isOpen);
      };
      const timer = setTimeout(settle, timeoutMs);
      signal.addEventListener('abort', settle, { once: true });
      if (signal.aborted) settle();
      else waiters.push(settle);
    });
  }
}
