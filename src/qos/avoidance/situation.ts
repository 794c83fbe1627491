import type { AvoidanceAction, PodQos, QosPod } from '../objects/objects';
import type { Metrics } from '../usage/metrics';

/** A rule that is triggered, or calm again, with the action that it names. */
export interface AvoidanceOrder {
  /** `<NodeQOS>/<rule>`. */
  readonly rule: string;
  /** Name of the metric that the rule is about. */
  readonly metric: string;
  /** The watermark: the rule fires above it. */
  readonly threshold: number;
  /** Values of the series that the rule looked at, for the reason that an operator reads. */
  readonly values: readonly number[];
  readonly action: AvoidanceAction;
  /** Its strategy is Preview: it only says what it would do. */
  readonly isPreview: boolean;
}

/** A running container of this node. */
export interface ContainerState {
  readonly id: string;
  /** `uid` of its QosPod. */
  readonly podUid: string;
  readonly name: string;
  /**
   * It has exclusive or immovable CPUs, or a promise of a NUMA policy, or cpusetd manages its quota, or leaves it
   * alone. No action is taken against it or its pod.
   */
  readonly isPinned: boolean;
  /** Latest use; absent = unknown. */
  readonly milliCpu?: number;
  readonly memoryBytes?: number;
  /** CFS quota and period in µs as the kernel has them; -1 or 0 = no quota. Absent = unknown. */
  readonly quotaUs?: number;
  readonly periodUs?: number;
}

/** A quota of a container that this daemon lowered. This is what has to outlive the process. */
export interface Throttle {
  /** Of the container. */
  readonly id: string;
  readonly podUid: string;
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  readonly periodUs: number;
  /** Quota before the first step; -1 = none. */
  readonly originalUs: number;
  /** CPU limit of that time; absent = none. */
  readonly limitMilliCpu?: number;
  /** Quota after the latest step. */
  readonly quotaUs: number;
  /** Quota before the latest step: the kernel has it if that step was not written. */
  readonly previousUs: number;
  /** Its use at the first step: the minimum of a container without a limit is a share of it. */
  readonly baseMilliCpu?: number;
  /** Rules that asked for it, sorted by rule. */
  readonly causes: readonly ThrottleCause[];
  readonly sinceMs: number;
}

/** A container that is not throttled any more, since someone else has changed its quota. */
export interface Yielded {
  /** Of the container. */
  readonly id: string;
  /** The rules that had lowered it. */
  readonly rules: readonly string[];
}

export interface ThrottleCause {
  readonly rule: string;
  readonly action: string;
}

export interface AvoidanceOptions {
  /** Share that is taken beyond the gap: 0.1 = 10 %. */
  readonly excess: number;
  /** Steps that throttle, and evictions, that are left; what gives back is not counted. */
  readonly actionsLeft: number;
  /** Evictions that are left; each is an action too. */
  readonly evictionsLeft: number;
  /** The spent part of both in the hour, by the namespace of the pod; empty text = of the Node. */
  readonly spentBy: ReadonlyMap<string, SpentBudget>;
}

export interface SpentBudget {
  readonly actions: number;
  readonly evictions: number;
}

/** Everything that a plan depends on. */
export interface AvoidanceSituation {
  readonly triggered: readonly AvoidanceOrder[];
  /** Every rule that is calm, in each round as long as it is: one round raises a quota by one step only. */
  readonly restored: readonly AvoidanceOrder[];
  /**
   * Names of all rules that apply to this node and act (strategy None), whatever their state. A throttle of no rule
   * here is undone, so plans begin when the rules have been read.
   */
  readonly actingRules: readonly string[];
  /** All pods of this node. */
  readonly pods: readonly QosPod[];
  readonly podQoses: readonly PodQos[];
  readonly podMatches: (podQos: PodQos, pod: QosPod) => boolean;
  /** Pods whose eviction was refused or has failed a moment ago, by uid, and why: others have their turn. */
  readonly refusedEvictions?: ReadonlyMap<string, string>;
  /** The same of containers whose throttle has failed, by id. */
  readonly refusedThrottles?: ReadonlyMap<string, string>;
  /** All running containers, with or without a reading: a throttle of a container that is not here has ended. */
  readonly containers: readonly ContainerState[];
  readonly cores: number;
  readonly totalMemoryBytes?: number;
  /** Current metrics of the node. The greatest series of a metric counts. */
  readonly metrics: Metrics;
  /** Throttles of this daemon. */
  readonly throttles: readonly Throttle[];
  /**
   * Containers whose quota someone else changed while it was lowered: it is theirs until the rules that lowered it are
   * calm.
   */
  readonly yielded: readonly Yielded[];
  readonly options: AvoidanceOptions;
  readonly nowMs: number;
}
