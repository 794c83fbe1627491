import { backOffMs } from '../../net/back-off';

/** The pauses before what somebody else has changed is put right. */
const PAUSE_MS = { leastMs: 1_000, mostMs: 10 * 60_000 };
/** After this time without an answer the rival is forgotten. It is longer than the longest pause. */
const QUIET_MS = 60 * 60_000;

/**
 * Answers to somebody who changes or deletes what we keep: before each one the pause is longer, so that two programs do
 * not write at each other. After a quiet hour the pauses begin anew.
 */
export class RivalPauses {
  private answers = 0;
  private answeredAtMs = -Infinity;
  private dueAtMs: number | undefined;

  /** `elapsedMs`: the monotonic clock, in ms. */
  constructor(private readonly elapsedMs: () => number = () => performance.now()) {}

  /**
   * Time until what is changed, or gone, may be put right; 0 = now. The first time, what is gone is made anew at once.
   */
  waitMs(change: 'changed' | 'gone'): number {
    const nowMs = this.elapsedMs();
    if (this.dueAtMs === undefined) {
      if (nowMs - this.answeredAtMs >= QUIET_MS) this.answers = 0;
      const isAtOnce = change === 'gone' && this.answers === 0;
      this.dueAtMs = nowMs + (isAtOnce ? 0 : backOffMs(this.answers, PAUSE_MS));
    }
    return Math.max(0, this.dueAtMs - nowMs);
  }

  /** It was put right. Returns how often that was so since the last quiet hour. */
  noteAnswer(): number {
    this.dueAtMs = undefined;
    this.answeredAtMs = this.elapsedMs();
    return ++this.answers;
  }

  /** There is nothing to put right now. */
  rest(): void {
    this.dueAtMs = undefined;
  }

  /** Forgets everything: something else is kept from now on. */
  forget(): void {
    this.answers = 0;
    this.dueAtMs = undefined;
  }
}
