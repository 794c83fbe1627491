import type { RuntimeAnswer, RuntimeEvent } from '../core/model/events';

interface Waiting {
  readonly event: RuntimeEvent;
  readonly resolve: (answer: RuntimeAnswer) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Collects the events of one turn of the loop, so that they share one transaction and its durable write. Keeps their order.
 * When the transaction throws, each event has one of its own: what can't be handled does not take others with it.
 */
export class EventQueue {
  private waiting: Waiting[] = [];

  /** `handleAll` answers in the order of the events; when it throws, nothing of them has happened. */
  constructor(private readonly handleAll: (events: readonly RuntimeEvent[]) => readonly RuntimeAnswer[]) {}

  readonly handle = (event: RuntimeEvent): Promise<RuntimeAnswer> =>
    new Promise((resolve, reject) => {
      this.waiting.push({ event, resolve, reject });
      if (this.waiting.length === 1) setImmediate(() => this.flush());
    });

  private flush(): void {
    const batch = this.waiting;
    this.waiting = [];
    if (this.answer(batch)) return;
    for (const each of batch) this.answer([each]);
  }

  /** False when several were handled together and failed together. */
  private answer(batch: readonly Waiting[]): boolean {
    try {
      const answers = this.handleAll(batch.map(({ event }) => event));
      batch.forEach(({ resolve }, i) => resolve(answers[i]!));
    } catch (error) {
      if (batch.length > 1) return false;
      batch[0]?.reject(error);
    }
    return true;
  }
}
