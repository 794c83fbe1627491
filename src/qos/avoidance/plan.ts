import type { Throttle, Yielded } from './situation';

/** The pod of a step. */
export interface StepPod {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** A quota to write. */
export interface ThrottleStep {
  readonly pod: StepPod;
  readonly container: string;
  /** Of the container. */
  readonly id: string;
  /** In µs for each period; -1 = no quota. */
  readonly fromUs: number;
  readonly toUs: number;
  readonly periodUs: number;
  readonly rule: string;
  readonly action: string;
  readonly because: string;
}

/** A pod to evict. */
export interface EvictionStep {
  readonly pod: StepPod;
  /** Of the action, else of the pod; absent = the API server decides. */
  readonly graceSeconds?: number;
  readonly rule: string;
  readonly action: string;
  readonly because: string;
}

/** An action that was left out, though a rule asked for it. */
export interface Skipped {
  /** A pod as `namespace/name`, a container as `namespace/name/container`, or a rule. */
  readonly subject: string;
  readonly because: string;
  /** The action that the budget of the hour does not allow; absent = the reason is another one. */
  readonly beyondBudget?: 'evict' | 'throttle';
  /** Only the share of this namespace is spent; others have theirs. */
  readonly shareOf?: string;
}

export interface AvoidanceSteps {
  readonly throttles: readonly ThrottleStep[];
  readonly restores: readonly ThrottleStep[];
  readonly evictions: readonly EvictionStep[];
  readonly skipped: readonly Skipped[];
}

/**
 * The steps of one round. `throttled` is to be saved before they are carried out: the next round finds what was not
 * written, and plans it again.
 */
export interface AvoidancePlan extends AvoidanceSteps {
  /** The steps that rules with the strategy Preview would have taken. */
  readonly previewed: AvoidanceSteps;
  /** All throttles when the steps are done. */
  readonly throttled: readonly Throttle[];
  /** Containers that are left to who has changed their quota, those of before and new ones. */
  readonly yielded: readonly Yielded[];
  /** Throttles that end without a step: nothing is written for them. */
  readonly ended: readonly Skipped[];
}
