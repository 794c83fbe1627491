import type { ActionLog } from './action-log';
import type { QosActionsNote } from './qos-actions-note';
import type { SaveGuard } from './save-guard';
import type { StepGate } from './step-gate';

/** Everything that a step needs, of whatever action: it is noted before it is done, and recorded after. */
export interface StepParts {
  readonly note: QosActionsNote;
  readonly gate: StepGate;
  readonly saves: SaveGuard;
  readonly log: ActionLog;
  /** The clock, in ms since 1970. */
  readonly nowMs: () => number;
  /** The monotonic clock, in ms. */
  readonly elapsedMs: () => number;
}
