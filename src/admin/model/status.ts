import type { AllocationStep } from '../../core/allocation/take';
import type { CpuSet } from '../../core/cpuset';
import type { AssignmentKind, Rules } from '../../core/model/assignment';
import type { CpuPromise, Placement } from '../../core/model/container';
import type { Topology } from '../../core/topology';
import type { VerdictKind } from '../../core/verdict/judge';
import type { ThreadSample } from '../../core/verdict/observation';
import type { Connection, ConnectionState } from '../../net/connection-state';

export type { Connection, ConnectionState };

/** What the daemon tells about itself. The admin server asks for nothing else. */
export interface AdminBackend {
  /** The whole, as of now. */
  status(): Status;
  /** Calls the listener at every change until the returned function is called. The listener never throws and must not be called inside `watch`. */
  watch(listener: (change: StatusChange) => void): () => void;
  /** Who has what beyond the shared pool, idle ones included. */
  assignments(): readonly AssignmentStatus[];
  /** The machine, and who has which CPU. */
  topology(): TopologyStatus;
  /** What belongs to whom alone, as the PodResources API tells it. */
  podResources(): NodeResources;
  /** Throws CpusetdError NOT_FOUND for an unknown pod or container, FAILED_PRECONDITION for an ambiguous one. */
  explain(query: ExplainQuery): Explanation;
}

export interface Status {
  readonly node: NodeStatus;
  readonly containers: readonly ContainerStatus[];
  readonly idle: readonly IdleAssignment[];
}

export type StatusChange =
  | { readonly kind: 'full'; readonly status: Status }
  | { readonly kind: 'node'; readonly node: NodeStatus }
  | { readonly kind: 'container'; readonly container: ContainerStatus }
  | { readonly kind: 'container-removed'; readonly id: string }
  | { readonly kind: 'idle'; readonly idle: readonly IdleAssignment[] };

export interface NodeStatus {
  readonly policy: string;
  /** Names of the policy options that are on. */
  readonly policyOptions: readonly string[];
  readonly online: CpuSet;
  readonly reserved: CpuSet;
  readonly allocatable: CpuSet;
  readonly sharedPool: CpuSet;
  readonly free: CpuSet;
  readonly isolated: CpuSet;
  readonly mode: 'nri' | 'cri-proxy';
  /** Empty until the runtime has told. */
  readonly runtimeName: string;
  readonly runtimeVersion: string;
  readonly nri: Connection;
  readonly cri: Connection;
  /** To the API server; absent = off. */
  readonly kube?: PodSource;
  /** Counts the durable changes of the state. */
  readonly generation: number;
  /** RFC 3339, as all times here. */
  readonly startedAt: string;
  readonly version: string;
  /** The last time that containers could start without cpusetd. */
  readonly gap?: Gap;
  /** What an operator has to look at, as long as it lasts. */
  readonly alarms: readonly Alarm[];
}

/** The words for an alarm, fixed because metrics count by them. */
export const ALARM_KINDS = [
  'repairs-stopped',
  'kubelet-cpu-manager',
  'state-not-saved',
  'kubelet-reservation',
  'api-server',
  'internal-fault',
  'not-listening',
  'not-watched',
  'rounds-stuck',
] as const;

export type AlarmKind = (typeof ALARM_KINDS)[number];

export interface Alarm {
  /** An `AlarmKind`, or a word of another version. */
  readonly kind: string;
  /** Id of the container, name of the option, or name of the part of cpusetd, that it is about; empty for the node. */
  readonly subject: string;
  readonly because: string;
  readonly since: string;
}

/** The API server, as the source of what is known of pods. What it told last stays true while it is away. */
export interface PodSource extends Connection {
  /** When it told something last; absent before the first time. */
  readonly heardAt?: string;
  /** How many pods are known from it. */
  readonly pods: number;
}

export interface Gap {
  readonly from: string;
  /** Absent while it lasts. */
  readonly to?: string;
  /** How many containers started meanwhile. */
  readonly containers: number;
  /** Some of them, as namespace/pod/container. */
  readonly names: readonly string[];
}

export interface ContainerStatus {
  readonly id: string;
  readonly podUid: string;
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  /** It is the pause container of its pod, and `id` that of the sandbox. */
  readonly pause?: true;
  readonly placement: Placement;
  /** Absent when left alone. */
  readonly promise?: QuotaPromise;
  /** Absent when it was not read yet. */
  readonly observation?: Observation;
  readonly verdict: Verdict;
  readonly because: string;
  readonly since: string;
  /** Whole CPUs that it asked for; 0 for a container of the shared pool. */
  readonly requested: number;
  /** What its assignment is; these only where it has one. */
  readonly kind?: AssignmentKind;
  readonly nodes?: CpuSet;
  readonly scope?: 'pod';
  readonly rules?: Rules;
}

export interface QuotaPromise extends CpuPromise {
  /** µs a period; -1 = no limit; absent = left alone. */
  readonly quotaUs?: number;
  /** Since when it is this one: an observation of before says nothing about it. Absent from a version that does not tell. */
  readonly since?: string;
}

export interface Observation {
  readonly cpus: CpuSet;
  /** What the kernel really lets it run on. */
  readonly effectiveCpus: CpuSet;
  readonly mems: CpuSet;
  /** µs a period; -1 = no limit; absent = not known. */
  readonly quotaUs?: number;
  /** The same of the pod's cgroup. */
  readonly podQuotaUs?: number;
  /** Absent until its turn in the sampling came. */
  readonly threads?: ThreadSample;
  readonly at: string;
}

export interface Verdict {
  readonly kind: VerdictKind;
  readonly reason: string;
  readonly since: string;
}

/** What a container was given beyond the shared pool. */
export interface AssignmentStatus {
  readonly podUid: string;
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  /** Empty: the container has exited, or is still to come; its CPUs are idle. */
  readonly containerId: string;
  readonly kind: AssignmentKind;
  /** Offline ones included; empty for a kind that follows nodes. */
  readonly cpus: CpuSet;
  /** The NUMA nodes that it follows; only for a kind that does. */
  readonly nodes?: CpuSet;
  /** `pod`: other containers of the pod have the same CPUs. */
  readonly scope?: 'pod';
  /** The container was not created yet. */
  readonly planned?: true;
  readonly mems: CpuSet;
  readonly requested: number;
  readonly because: string;
  readonly since: string;
  readonly rules: Rules;
}

/** CPUs of a container that exited, or of one that is still to come; they stay with its pod. */
export type IdleAssignment = Omit<AssignmentStatus, 'containerId'>;

export interface TopologyStatus {
  /** Online CPUs only. */
  readonly topology: Topology;
  /** CPUs that are there and not online. */
  readonly offline: CpuSet;
  readonly node: NodeStatus;
  readonly assignments: readonly AssignmentStatus[];
}

/** What is exclusive on the node, and what could be. */
export interface NodeResources {
  readonly pods: readonly PodResources[];
  readonly allocatable: Resources;
}

export interface Resources {
  readonly cpus: CpuSet;
  readonly memory: readonly MemoryBlock[];
}

export interface PodResources {
  readonly namespace: string;
  readonly pod: string;
  /** What its containers share, and none of them names. */
  readonly shared: Resources;
  readonly containers: readonly (Resources & { readonly container: string })[];
}

/** Memory that may lie on these nodes, as far as memory nodes follow CPUs. */
export interface MemoryBlock {
  readonly bytes: number;
  readonly nodes: CpuSet;
}

export type ExplainQuery =
  | {
      readonly kind: 'pod';
      /** Empty: any, and `pod` may be a uid. */
      readonly namespace: string;
      readonly pod: string;
      /** Empty: all. */
      readonly container: string;
    }
  | { readonly kind: 'cpus'; readonly count: number };

export type Explanation =
  | {
      readonly kind: 'containers';
      readonly containers: readonly ContainerExplanation[];
      /** CPUs of containers that exited. */
      readonly idle: readonly IdleAssignment[];
      /** Containers that were refused, and not served since. */
      readonly refused: readonly RefusedContainer[];
    }
  | {
      readonly kind: 'what-if';
      readonly fits: boolean;
      readonly cpus: CpuSet;
      readonly because: string;
      readonly steps: readonly AllocationStep[];
    };

export interface ContainerExplanation {
  readonly container: ContainerStatus;
  /** How the allocation went; empty when it is not remembered. */
  readonly steps: readonly AllocationStep[];
}

/** A container that was refused: when, what it asked for, what was in the way, and what helps. */
export interface RefusedContainer {
  readonly podUid: string;
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  readonly asked: 'creation' | 'start' | 'change' | 'unknown';
  /** Whole CPUs that it is entitled to; 0 for a container that would have shared. */
  readonly requested: number;
  readonly policy: string;
  /** The pod's annotation that chose the policy. */
  readonly chosenBy?: string;
  /** gRPC's name of the status that it was answered with. */
  readonly code: string;
  /** As of the last time. */
  readonly because: string;
  readonly firstAt: string;
  readonly lastAt: string;
  /** Times that it was refused, retries included. */
  readonly times: number;
  readonly zones: readonly ZoneRoom[];
  /** The outcome that it would have now; empty when that is not known. */
  readonly now: string;
  readonly fitsNow: boolean;
  readonly remedy: string;
}

/** CPUs of one NUMA node. */
export interface ZoneRoom {
  readonly node: number;
  readonly allocatable: number;
  /** Free when the container was refused last. */
  readonly free: number;
  readonly freeNow: number;
  /** Pods that have CPUs there for themselves now. */
  readonly podsNow: number;
}
