import { CpusetdError } from '../../core/errors';

export interface AnswerQueueLimits {
  /** Most answers in one turn of the event loop, and the time after which no further one begins. */
  readonly perTurn: number;
  readonly perTurnMs: number;
  /** Most calls that wait. */
  readonly waiting: number;
  /** Most bytes of answers that clients have not read. */
  readonly unreadBytes: number;
}

const LIMITS: AnswerQueueLimits = { perTurn: 16, perTurnMs: 4, waiting: 1_024, unreadBytes: 64 * 2 ** 20 };

/** One call that waits for its turn. Both functions are called at most once, and never both. */
interface Waiting {
  readonly answer: () => void;
  readonly fail: (error: unknown) => void;
}

/**
 * Answers calls in their order, a few in each turn of the event loop, so that the calls of the runtime are served in
 * between. When too many wait already, a call gets RESOURCE_EXHAUSTED at once. Health calls are not queued.
 *
 * An answer is made in its turn, so it is never older than the call.
 */
export class AnswerQueue {
  private readonly limits: AnswerQueueLimits;
  private readonly waiting = new Set<Waiting>();
  private scheduled = false;
  private unreadBytes = 0;

  constructor(limits: Partial<AnswerQueueLimits> = {}) {
    this.limits = { ...LIMITS, ...limits };
  }

  /** Calls one of the functions in its turn, unless the returned function was called before. */
  add(answer: () => void, fail: (error: unknown) => void): () => void {
    const { waiting, unreadBytes } = this.limits;
    if (this.waiting.size >= waiting || this.unreadBytes >= unreadBytes) {
      fail(new CpusetdError('RESOURCE_EXHAUSTED', 'too many calls at once wait for cpusetd; try again later'));
      return () => undefined;
    }
    const entry = { answer, fail };
    this.waiting.add(entry);
    this.schedule();
    return () => void this.waiting.delete(entry);
  }

  /**
   * Counts an answer as unread until the returned function is called: when all of it was sent, or its reader is gone.
   */
  holdUnread(bytes: number): () => void {
    this.unreadBytes += bytes;
    let held = true;
    return () => {
      if (held) this.unreadBytes -= bytes;
      held = false;
    };
  }

  private schedule(): void {
    if (this.scheduled || this.waiting.size === 0) return;
    this.scheduled = true;
    setImmediate(() => {
      this.scheduled = false;
      this.takeTurn();
      this.schedule();
    });
  }

  private takeTurn(): void {
    const { perTurn, perTurnMs } = this.limits;
    const endMs = performance.now() + perTurnMs;
    let left = perTurn;
    for (const entry of this.waiting) {
      this.waiting.delete(entry);
      try {
        entry.answer();
      } catch (error) {
        entry.fail(error);
      }
      left -= 1;
      if (left === 0 || performance.now() >= endMs) return;
    }
  }
}
