/**
 * Decides which steps may still begin. An interruption ends when rules are followed again; nothing begins after the
 * gate is closed.
 */
export class StepGate {
  private interruption = new AbortController();
  private isClosed = false;

  /** True when an action may begin. */
  get mayAct(): boolean {
    return !this.isClosed && !this.interruption.signal.aborted;
  }

  /** True when a step that undoes an action may begin. */
  get mayUndo(): boolean {
    return !this.isClosed;
  }

  /** Aborted by the next interruption, and stays so. */
  get signal(): AbortSignal {
    return this.interruption.signal;
  }

  /** No further action begins: everything is undone next. */
  interrupt(): void {
    this.interruption.abort();
  }

  /** Actions may begin again. */
  resume(): void {
    this.interruption = new AbortController();
  }

  /** No step begins any more. */
  close(): void {
    this.isClosed = true;
  }

  /** The result; undefined when no action may begin any more before it is there. */
  orInterrupted<T>(work: Promise<T>): Promise<T | undefined> {
    const { signal } = this;
    work.catch(() => undefined);
    if (signal.aborted) return Promise.resolve(undefined);
    return new Promise((resolve, reject) => {
      const interrupt = (): void => resolve(undefined);
      signal.addEventListener('abort', interrupt, { once: true });
      work.then(resolve, reject).finally(() => signal.removeEventListener('abort', interrupt));
    });
  }
}
