import type { CpuSet } from '../../core/cpuset';

/**
 * The last measured state of the node; absent in status while `collect-interval` is off or before the second reading.
 */
export interface UsageStatus {
  /** Time of the reading, RFC 3339. Values are of the time between it and the reading before. */
  readonly at: string;
  /** Time that cpusetd worked on it, in ms. */
  readonly busyMs: number;
  /** Number of CPUs. */
  readonly cpuCores: number;
  /** Part of their time in which they were busy; absent where it could not be read, as all that may be. */
  readonly cpuPercent?: number;
  readonly memoryBytes?: number;
  readonly memoryTotalBytes?: number;
  readonly load1?: number;
  /** Thousandths of a CPU that exclusive CPUs were idle, in all. */
  readonly exclusiveIdleMilliCpu?: number;
  /** Thousandths of a CPU that the containers used which have exclusive CPUs. */
  readonly exclusiveOwnersMilliCpu?: number;
  /**
   * Thousandths of a CPU that exclusive CPUs were busy beyond that: other processes, threads of the kernel, interrupts.
   */
  readonly exclusiveOthersMilliCpu?: number;
  readonly sets: readonly PromisedSetStatus[];
}

/** The use that a container made of the CPUs that it is promised. */
export interface PromisedSetStatus {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  readonly containerId: string;
  readonly cpus: CpuSet;
  /** Thousandths of a CPU. */
  readonly usedMilliCpu: number;
  /** Time in each second in which its threads were ready and had no CPU, in ms, all threads together. */
  readonly waitMsPerSecond?: number;
  /** Part of the time in which its CFS quota kept it from running, in per cent; absent without a quota. */
  readonly throttledPercent?: number;
}

/** Rules over the node's state, and what was done about them; absent while nothing follows NodeQOS objects. */
export interface QosStatus {
  readonly mode: 'off' | 'preview' | 'enforce';
  /** The reason for which no rule is followed now, for the operator; empty while all is well. */
  readonly because: string;
  readonly rules: readonly RuleStatus[];
  /** The reason and the time since which new pods are kept away; absent while they are not. */
  readonly schedulingDisabled?: { readonly because: string; readonly since: string };
  readonly throttled: readonly ThrottledContainer[];
  /** The last ones, the newest first. In preview: those that would have been. */
  readonly recent: readonly QosActionRecord[];
  /** Actions and evictions that the budget of the hour still allows. */
  readonly actionsLeft: number;
  readonly evictionsLeft: number;
}

export interface RuleStatus {
  /** `<nodeqos>/<rule>`. */
  readonly rule: string;
  readonly state: string;
  readonly action: string;
  readonly because: string;
}

export interface ThrottledContainer {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  readonly containerId: string;
  /** -1 = it had no limit. */
  readonly originalQuotaUs: number;
  readonly quotaUs: number;
  readonly periodUs: number;
  readonly because: string;
  readonly since: string;
}

export interface QosActionRecord {
  readonly at: string;
  /** `throttle`, `restore`, `evict`, `disable-scheduling` or `enable-scheduling`. */
  readonly action: string;
  /** The node, or namespace/pod/container. */
  readonly subject: string;
  /** `done`, `preview`, or `failed`. */
  readonly outcome: string;
  readonly because: string;
}

/**
 * Resources that are lent to pods with `gocrane.io/cpu` and `gocrane.io/memory`; absent while `node-resource` is off.
 */
export interface LentStatus {
  readonly cpuMilli?: number;
  readonly memoryBytes?: number;
  readonly because: string;
  readonly since: string;
}

/** True while the threshold of the rule is passed. */
export function isTriggered({ state }: Pick<RuleStatus, 'state'>): boolean {
  return state.toLowerCase() === 'triggered';
}
