import type { RuntimeAnswer, RuntimeEvent } from '../../core/model/events';

interface Waiting {
  readonly event: RuntimeEvent;
  readonly resolve: (answer: RuntimeAnswer) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Collects the events of one turn of the loop, so that they share one transaction and its durable write. Keeps their
 * order.
 */
export class EventBatcher {
  private waiting: Waiting[] = [];

  /**
   * `handleAll` returns one answer for each event, in their order, and must not throw. When it throws, the state of the
   * events is not known: all of them are rejected, and none is handed over a second time.
   */
  constructor(private readonly handleAll: (events: readonly RuntimeEvent[]) => readonly RuntimeAnswer[]) {}

  readonly handle = (event: RuntimeEvent): Promise<RuntimeAnswer> =>
    new Promise((resolve, reject) => {
      this.waiting.push({ event, resolve, reject });
      if (this.waiting.length === 1) setImmediate(() => this.flush());
    });

  private flush(): void {
    const batch = this.waiting;
    this.waiting = [];
    try {
      const answers = this.handleAll(batch.map(({ event }) => event));
      batch.forEach(({ resolve }, i) => resolve(answers[i]!));
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}
