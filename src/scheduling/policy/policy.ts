/**
 * The policy file of Crane's scheduler, `scheduler.policy.crane.io/v1alpha1`, `DynamicSchedulerPolicy`, and what
 * cpusetd adds to it. Annotator and extender read the same file.
 */
export interface SchedulerPolicy {
  readonly syncPolicy: readonly SyncPolicy[];
  readonly predicate: readonly Predicate[];
  readonly priority: readonly Priority[];
  readonly hotValue: readonly HotValue[];
  /** Absent = off. */
  readonly wholeCpus?: WholeCpus;
}

/** A metric that is read from Prometheus, and the period of reading it. */
export interface SyncPolicy {
  /** The metric's name in Prometheus, and the annotation's. */
  readonly name: string;
  readonly periodMs: number;
}

/** A node is left out when its figure is greater than the limit. */
export interface Predicate {
  readonly name: string;
  /** A ratio; 0 = no limit. The file calls it `maxLimitPecent`. */
  readonly maxLimit: number;
}

export interface Priority {
  readonly name: string;
  readonly weight: number;
}

/** The hot value of a node grows by one with each `count` pods that were bound to it in the last `timeRangeMs`. */
export interface HotValue {
  readonly timeRangeMs: number;
  readonly count: number;
}

/** Scores nodes by the CPUs that a pod of whole CPUs leaves free. */
export interface WholeCpus {
  /** `MostAllocated` packs: it prefers the zone with the fewest CPUs left. `LeastAllocated` spreads. */
  readonly strategy: 'MostAllocated' | 'LeastAllocated';
  /** As a plugin's weight: the score of 0 to 100 counts `round(score * weight / 10)`. */
  readonly weight: number;
}

/** The first period of the metric that is not 0; undefined = its figures are never valid. */
export function periodOf({ syncPolicy }: SchedulerPolicy, metric: string): number | undefined {
  return syncPolicy.find(({ name, periodMs }) => name === metric && periodMs > 0)?.periodMs;
}
