import { setMaxListeners } from 'node:events';

/** A part of the daemon that works on its own. */
export interface Task {
  /** Resolves when everything of it has ended after the signal was aborted. Rejects when it can't go on. */
  run(signal: AbortSignal): Promise<void>;
}

/** Tasks that end together: when one of them rejects, the signal of all is aborted with its error. */
export class TaskGroup {
  /** Aborted with the signal from outside, or when a task has rejected. */
  readonly signal: AbortSignal;
  private readonly fault = new AbortController();
  private readonly running: Promise<void>[] = [];

  constructor(signal: AbortSignal) {
    this.signal = AbortSignal.any([signal, this.fault.signal]);
    setMaxListeners(0, this.signal); // one for each part that ends with it
  }

  start(task: Task): void {
    const running = task.run(this.signal);
    this.running.push(running);
    running.catch((error: unknown) => this.fault.abort(error)); // `end` throws it
  }

  /** Ends all tasks. Resolves when all have ended; rejects with the error of the first one that failed. */
  async end(): Promise<void> {
    this.fault.abort('closing');
    const outcomes = await Promise.allSettled(this.running);
    const failed = outcomes.find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected') throw failed.reason;
  }
}
