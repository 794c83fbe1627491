import { NOT_SYNCHRONIZED } from '../../qos/phases/plan-round';
import { afterUndo, isUndoDue, RETRY_AT_ONCE, type UndoRetry } from '../../qos/phases/undo-retry';
import { BackOff } from '../../net/back-off';
import type { DaemonContext } from '../context';
import type { ActionExecutor } from './action-executor';
import { findUnknownThrottles, type UnknownThrottlesParts } from './find-unknown-throttles';
import type { QosActionsNote } from './qos-actions-note';

export interface UndoAttemptsParts extends UnknownThrottlesParts {
  readonly context: Pick<DaemonContext, 'alarms' | 'model'>;
  readonly note: QosActionsNote;
  readonly executor: ActionExecutor;
  /** The clock, in ms since 1970. */
  readonly nowMs: () => number;
  /** The monotonic clock, in ms. */
  readonly elapsedMs: () => number;
}

/**
 * Undoes actions. After a failure it is tried again later and later, and when the containers of the runtime are known.
 */
export class UndoAttempts {
  private readonly backOff = new BackOff({ leastMs: 1_000, mostMs: 60_000 });
  private retry: UndoRetry = RETRY_AT_ONCE;

  constructor(private readonly parts: UndoAttemptsParts) {}

  /** The time of the next attempt has come. */
  get isDue(): boolean {
    return isUndoDue(this.retry, this.parts.elapsedMs(), this.parts.context.model.synchronized);
  }

  /**
   * Reads what earlier processes left. Returns the reason for which it can't be read now: nothing may be done then,
   * since it would be forgotten. Undefined = it is known.
   */
  load(): string | undefined {
    const { note, context, executor, nowMs } = this.parts;
    if (!note.isLoaded) {
      const problem = note.load(nowMs());
      const because = problem && `earlier QoS actions are not known, so none is taken: ${problem}`;
      context.alarms.update('qos-actions', 'load', because);
      if (because !== undefined) {
        this.note(false);
        return because;
      }
    }
    executor.takeUp();
    return undefined;
  }

  /** Undoes everything that is in force. Returns true when nothing is any more. */
  async undo(because: string): Promise<boolean> {
    const { note, context, executor } = this.parts;
    const isDone = await executor.undo(because, findUnknownThrottles(this.parts));
    this.note(isDone);
    this.retry = { ...this.retry, waitsForRuntime: note.throttles.length > 0 && !context.model.synchronized };
    return isDone;
  }

  /** Undoes what a lost note may have listed, while rules are followed. */
  async undoUnknown(): Promise<void> {
    const { note, executor } = this.parts;
    await executor.undoUnknownAgain(findUnknownThrottles(this.parts));
    this.note(!note.owesUnknown);
  }

  /** All that could not be undone before is tried as if for the first time. */
  beginAnew(): void {
    this.backOff.reset();
  }

  /** Only quotas are left to undo, and it is known which. */
  get areOnlyQuotasLeft(): boolean {
    const { note, context } = this.parts;
    return context.model.synchronized && !note.tainted && !('because' in findUnknownThrottles(this.parts));
  }

  /** The reason for which something is still in force. */
  get whyNotUndone(): string {
    const { context, executor } = this.parts;
    if (!context.model.synchronized) return NOT_SYNCHRONIZED;
    return executor.whyNotUndone || 'it could not be saved that it is';
  }

  private note(isDone: boolean): void {
    if (isDone) this.backOff.reset();
    this.retry = afterUndo(this.retry, isDone, isDone ? 0 : this.parts.elapsedMs() + this.backOff.next());
  }
}
