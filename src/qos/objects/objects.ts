import type { QosClass } from '../../core/model/pod-kinds';

// Crane's objects of the group ensurance.crane.io/v1alpha1, reduced to what decides. Fields that no code of Crane reads
// are left out.

/** A label selector of Kubernetes (metav1.LabelSelector). Without terms it matches everything. */
export interface LabelSelector {
  readonly matchLabels: Readonly<Record<string, string>>;
  readonly matchExpressions: readonly LabelExpression[];
}

export interface LabelExpression {
  readonly key: string;
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
  readonly values: readonly string[];
}

/** A NodeQOS: rules over the metrics of the nodes that its selector matches. */
export interface NodeQos {
  readonly name: string;
  readonly uid: string;
  /** Absent = every node. */
  readonly selector?: LabelSelector;
  readonly rules: readonly QosRule[];
}

export interface QosRule {
  readonly name: string;
  readonly metric: {
    readonly name: string;
    /** Over the labels of the metric's series. Absent = all series. */
    readonly selector?: LabelSelector;
    /** It fires when a series is greater than this. Whole units, as Crane takes the quantity. */
    readonly threshold: number;
  };
  /** Rounds in a row above the threshold before it triggers; at least 1. */
  readonly avoidanceThreshold: number;
  /** Rounds in a row not above it before it restores; at least 1. */
  readonly restoreThreshold: number;
  readonly actionName: string;
  /** Preview = it only reports. */
  readonly strategy: 'None' | 'Preview';
}

/** A PodQOS: the pods that actions of these names may be taken against. */
export interface PodQos {
  readonly name: string;
  readonly labelSelector?: LabelSelector;
  readonly scopes: readonly PodScope[];
  readonly allowedActions: readonly string[];
}

export interface PodScope {
  readonly name: 'QOSClass' | 'Priority' | 'Namespace';
  readonly operator: 'In' | 'NotIn';
  /** For Priority: `1000` or `1000-3000`, both ends included. */
  readonly values: readonly string[];
}

/** An AvoidanceAction. */
export interface AvoidanceAction {
  readonly name: string;
  readonly coolDownSeconds: number;
  /** Per cent, 0 to 100. */
  readonly throttle?: { readonly minCpuRatio: number; readonly stepCpuRatio: number };
  /** `graceSeconds` absent = the pod's own. */
  readonly eviction?: { readonly graceSeconds?: number };
}

/** A pod of this node, as far as actions against it depend on it. */
export interface QosPod {
  readonly uid: string;
  /** The uid that the runtime knows it by; differs for static pods. */
  readonly runtimeUid: string;
  readonly namespace: string;
  readonly name: string;
  /** Absent = they are not known, since they are too many: every term of a label selector holds for them. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly qos: QosClass;
  readonly priority: number;
  /** A static pod, or one of a priority class system-…: no action is ever taken against it. */
  readonly isCritical: boolean;
  readonly isStatic: boolean;
  readonly phase: string;
  readonly isBeingDeleted: boolean;
  /**
   * The time at which its deletion was asked for, ms since 1970, and the seconds that it has to end. Absent = unknown.
   */
  readonly deletion?: { readonly askedAtMs: number; readonly graceSeconds: number };
  /** The kubelet has not taken it yet. Who may create a pod can name a node in it, past the scheduler. */
  readonly awaitsKubelet?: true;
  /** An in-place resize waits for the kubelet, or can't be granted: containers have the limits of before. */
  readonly isResizePending?: true;
  readonly graceSeconds?: number;
  /** Time of its start, else of its creation; ms since 1970. */
  readonly startedAtMs: number;
  /** All of them: init containers, sidecars, app and ephemeral containers. */
  readonly containers: readonly QosContainer[];
  /**
   * The amount that scheduler and kubelet count for the pod, init containers included, of `gocrane.io/cpu` in
   * thousandths of a CPU and of `gocrane.io/memory`. Absent = none.
   */
  readonly heldMilliCpu?: number;
  readonly heldMemoryBytes?: number;
}

/** Absent = not set in the spec. */
export interface QosContainer {
  readonly name: string;
  /** It has to end before the app containers start, which sidecars have not: sums over a pod leave it out. */
  readonly isInit?: true;
  readonly requestMilliCpu?: number;
  readonly limitMilliCpu?: number;
  readonly requestMemoryBytes?: number;
  readonly limitMemoryBytes?: number;
  /** Of `gocrane.io/cpu`, in thousandths of a CPU, and of `gocrane.io/memory`. */
  readonly elasticRequestMilliCpu?: number;
  readonly elasticLimitMilliCpu?: number;
  readonly elasticRequestMemoryBytes?: number;
  readonly elasticLimitMemoryBytes?: number;
}
