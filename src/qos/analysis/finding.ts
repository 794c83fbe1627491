import type { AvoidanceAction } from '../objects/objects';
import type { Series } from '../usage/metrics';
import type { RoundState } from './count-rounds';

/**
 * - `firing`: above the threshold, not yet often enough
 * - `triggered`: above often enough; in each round until it is not above
 * - `restoring`: it has triggered, and is not above, not yet often enough
 * - `restored`: not above often enough; in one round. Also when what had triggered is gone
 * - `calm`: not above, and nothing has triggered
 * - `no-data`: no series; all counts stay
 */
export type FindingState = RoundState | 'no-data';

/** The result of one rule of one NodeQOS in one round. */
export interface Finding {
  /** `<nodeqos>/<rule>`. One finding a key and round. */
  readonly key: string;
  readonly nodeQos: string;
  readonly rule: string;
  readonly state: FindingState;
  /** It has triggered, and has not restored since: so its action stays in force, also in `restoring` and `no-data`. */
  readonly hasTriggered: boolean;
  /** Rounds in a row above the threshold, and not above it; each is counted up to its limit. */
  readonly above: number;
  readonly avoidanceThreshold: number;
  readonly notAbove: number;
  readonly restoreThreshold: number;
  readonly metric: string;
  readonly threshold: number;
  /** Series of the metric that the rule selects, and those of them that are above the threshold. */
  readonly series: readonly Series[];
  readonly fired: readonly Series[];
  readonly actionName: string;
  /**
   * The action of that name; absent = there is none, so nothing is done. When it is gone and has to be undone: as it
   * was last.
   */
  readonly action?: AvoidanceAction;
  /** It only reports. */
  readonly isPreview: boolean;
  /** Only in the round of the change. */
  readonly event?: AvoidanceEvent;
  readonly because: string;
}

/** An Event on the Node, as Crane words it. */
export interface AvoidanceEvent {
  readonly type: 'Warning' | 'Normal';
  readonly reason: 'AvoidanceTriggered' | 'RestoreTriggered';
  readonly message: string;
}

/** True when something is done by a finding, apart from reporting. */
export function isActing({ isPreview, action }: Pick<Finding, 'isPreview' | 'action'>): boolean {
  return !isPreview && action !== undefined;
}

export function triggeredEvent(key: string, actionName: string): AvoidanceEvent {
  return { type: 'Warning', reason: 'AvoidanceTriggered', message: `${key} triggered action ${actionName}` };
}

export function restoredEvent(key: string, actionName: string): AvoidanceEvent {
  return { type: 'Normal', reason: 'RestoreTriggered', message: `${key} restored action ${actionName}` };
}
