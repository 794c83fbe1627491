// The questions and answers of kubelet-oracle (scripts/go-programs/kubelet-oracle), which has the same in Go.
import type { CpuRow } from '../scenarios/scenario';

/** A hint of a topology manager: the ids of its NUMA nodes, null for any. */
export interface ShownHint {
  readonly nodes: readonly number[] | null;
  readonly preferred: boolean;
}

/** Amounts by the id of the NUMA node, in bytes; distances by node, in the order of nodes. */
export interface MachineQuestion {
  readonly op: 'machine';
  readonly cpus: readonly CpuRow[];
  readonly memory: Readonly<Record<string, number>>;
  readonly distances: readonly (readonly number[])[];
}

export interface PolicyQuestion {
  readonly op: 'policy';
  /** By the kubelet's names. */
  readonly options: Readonly<Record<string, string>>;
  /** A CPU list; absent: `count` CPUs that the policy chooses. */
  readonly reserved?: string;
  readonly count?: number;
}

export interface AllocateQuestion {
  readonly op: 'allocate' | 'hints';
  /** A CPU list without reserved CPUs. */
  readonly available: string;
  readonly count: number;
  /** The NUMA nodes that the topology manager chose. */
  readonly nodes?: readonly number[];
}

export interface TimeQuestion {
  readonly op: 'time';
  readonly available: string;
  readonly count: number;
  readonly repeats: number;
}

export interface MergeQuestion {
  readonly op: 'merge';
  readonly policy: string;
  readonly options: Readonly<Record<string, string>>;
  /** Hints by resource: null is no opinion, an empty list can't be met. */
  readonly providers: readonly (Readonly<Record<string, readonly ShownHint[] | null>> | null)[];
}

export interface KubeletQuestion {
  readonly op: 'kubelet' | 'restart';
  readonly options: Readonly<Record<string, string>>;
  readonly reserved: string;
  readonly topologyManager: {
    readonly policy: string;
    readonly scope: string;
    readonly options: Readonly<Record<string, string>>;
  };
  /** Bytes by NUMA node; absent: the memory manager has the policy None. */
  readonly reservedMemory?: Readonly<Record<string, number>>;
  /** The feature gate PodLevelResourceManagers. */
  readonly podLevel: boolean;
}

/** Millicores and bytes. */
export interface Amounts {
  readonly cpu?: number;
  readonly memory?: number;
}

export interface ContainerQuestion {
  readonly name: string;
  readonly sidecar?: boolean;
  readonly requests: Amounts;
  readonly limits: Amounts;
}

export interface PodQuestion {
  readonly uid: string;
  readonly init: readonly ContainerQuestion[];
  readonly containers: readonly ContainerQuestion[];
  /** Resources of the pod as a whole. */
  readonly requests?: Amounts;
  readonly limits?: Amounts;
}

export type Question =
  | MachineQuestion
  | PolicyQuestion
  | AllocateQuestion
  | TimeQuestion
  | MergeQuestion
  | KubeletQuestion
  | { readonly op: 'admit'; readonly pod: PodQuestion }
  | { readonly op: 'remove'; readonly uid: string };

/** The kubelet's own error, for most questions. */
export interface Failure {
  readonly error: string;
}

export interface Admission {
  readonly uid: string;
  readonly admitted: boolean;
  readonly reason?: string;
  readonly message?: string;
  /** CPU lists by container. */
  readonly cpus: Readonly<Record<string, string>>;
  /** NUMA nodes by container. */
  readonly memory: Readonly<Record<string, readonly number[]>>;
  readonly podCpus?: string;
  readonly asked: readonly {
    readonly provider: string;
    readonly container: string;
    readonly hints: Readonly<Record<string, readonly ShownHint[] | null>> | null;
  }[];
  readonly affinity: Readonly<Record<string, ShownHint>>;
  /** The shared pool, reserved CPUs included. */
  readonly default: string;
}

interface Answers {
  readonly machine: { readonly ok: true };
  readonly policy: { readonly reserved: string };
  readonly allocate: { readonly cpus: string };
  readonly time: { readonly cpus: string; readonly medianNs: number };
  readonly hints: { readonly hints: readonly ShownHint[] | null };
  readonly merge: { readonly hint: ShownHint; readonly admit: boolean };
  readonly kubelet: { readonly default: string; readonly pods: readonly Admission[] };
  readonly restart: Answers['kubelet'];
  readonly admit: Admission;
  readonly remove: Answers['kubelet'];
}

export type AnswerTo<Q extends Question> = Answers[Q['op'] & keyof Answers] | Failure;
