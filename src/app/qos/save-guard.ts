import { systemCodeOf } from '../../core/system-errors';
import { explainFsError } from '../../files/durable-write';
import type { DaemonContext } from '../context';
import type { QosActionsNote } from './qos-actions-note';

/**
 * Saves changes of the note. What can't be made durable must not be done: that is an alarm, until a whole round could
 * be saved.
 */
export class SaveGuard {
  /** Something could not be saved since the round, or the undoing, began. */
  private hasFailed = false;

  constructor(
    private readonly alarms: Pick<DaemonContext['alarms'], 'update' | 'clear'>,
    private readonly note: Pick<QosActionsNote, 'path'>,
  ) {}

  /** A round, or the undoing, begins. */
  begin(): void {
    this.hasFailed = false;
  }

  /** False when it can't be made durable: nothing may be done then. */
  save(change: () => void): boolean {
    try {
      change();
    } catch (error) {
      if (systemCodeOf(error) === undefined) throw error;
      this.hasFailed = true;
      this.alarms.update('qos-actions', 'save', explainFsError('save QoS actions in', this.note.path, error));
      return false;
    }
    return true;
  }

  /** Ends the alarm when all could be saved. */
  end(): void {
    if (!this.hasFailed) this.alarms.clear('qos-actions', 'save');
  }
}
