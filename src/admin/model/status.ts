import type { ForeignShare } from '../../core/audit/tally-audit';
import type { CpuSet } from '../../core/cpuset';
import type { AssignmentKind, Rules } from '../../core/model/assignment';
import type { CpuPromise, Placement } from '../../core/model/container';
import type { Topology } from '../../core/topology';
import type { VerdictKind } from '../../core/verdict/judge';
import type { ThreadSample } from '../../core/verdict/observation';
import type { Connection } from '../../net/connection-state';
import type { Alarm } from './alarm';
import type { LentStatus, QosStatus, UsageStatus } from './qos-status';

export type { Connection };

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
  /** The name of the Node; absent in messages of older versions. */
  readonly nodeName?: string;
  readonly policy: string;
  /** Names of the policy options that are on. */
  readonly policyOptions: readonly string[];
  readonly online: CpuSet;
  /** CPUs that are online, and that the cgroups of this node's pods do not have; absent without any. */
  readonly barred?: Barred;
  readonly reserved: CpuSet;
  readonly allocatable: CpuSet;
  readonly sharedPool: CpuSet;
  readonly free: CpuSet;
  readonly isolated: CpuSet;
  /** Sentences about sysfs that contradict each other or can't be read: the machine was read without. Absent = none. */
  readonly ignored?: readonly string[];
  readonly mode: 'nri' | 'cri-proxy';
  /** Empty until the runtime has connected. */
  readonly runtimeName: string;
  readonly runtimeVersion: string;
  readonly nri: Connection;
  readonly cri: Connection;
  /** The connection to the API server; absent = off. */
  readonly kube?: PodSource;
  /** Counts the durable changes of the state. */
  readonly generation: number;
  /** RFC 3339, as all times here. */
  readonly startedAt: string;
  readonly version: string;
  /** The last time that containers could start without cpusetd. */
  readonly gap?: Gap;
  /** Present problems for the operator. */
  readonly alarms: readonly Alarm[];
  /** Interrupts on exclusive CPUs that the kernel refuses to move; absent without any. */
  readonly fixedIrqs?: readonly number[];
  /** Each absent while it is off. */
  readonly usage?: UsageStatus;
  readonly qos?: QosStatus;
  readonly lent?: LentStatus;
  /** Options whose configured value is not in force; absent in messages of older versions. */
  readonly pendingOptions?: readonly PendingOption[];
  /** Absent without any. */
  readonly refused?: Refused;
}

/** Containers that were refused, and not served since. */
export interface Refused {
  /** Number of all of them. */
  readonly containers: number;
  /** The latest of them, at most `MOST_SHOWN_REFUSALS`, the latest first. */
  readonly latest: readonly RefusalSummary[];
}

export const MOST_SHOWN_REFUSALS = 20;

export interface RefusalSummary {
  readonly podUid: string;
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  readonly asked: 'creation' | 'start' | 'change' | 'unknown';
  /** The reason of the last refusal. */
  readonly because: string;
  readonly lastAt: string;
  /** Number of refusals, retries included. */
  readonly times: number;
}

export interface Barred {
  readonly cpus: CpuSet;
  /** The outermost cgroup without them. */
  readonly by: string;
}

/** An option that was changed and needs a restart. */
export interface PendingOption {
  /** Its name without dashes. */
  readonly option: string;
  /** As a user writes it; empty = not set. */
  readonly inForce: string;
  readonly configured: string;
  readonly because: string;
}

/** The API server as the source of pod specs. While it is away the last specs stay in use. */
export interface PodSource extends Connection {
  /** Time of its last message; absent before the first. */
  readonly heardAt?: string;
  /** Number of pods that it has listed. */
  readonly pods: number;
}

export interface Gap {
  readonly from: string;
  /** Absent while it lasts. */
  readonly to?: string;
  /** Number of containers that started meanwhile. */
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
  /** It is the pause container of its pod; `id` is that of the sandbox. */
  readonly pause?: true;
  /** A file says its CPUs. */
  readonly cpuIdentity?: true;
  readonly placement: Placement;
  /** Absent for a container that cpusetd does not manage. */
  readonly promise?: QuotaPromise;
  /** Absent when it was not read yet. */
  readonly observation?: Observation;
  readonly verdict: Verdict;
  /** Absent when it has not drifted since cpusetd started. */
  readonly drift?: DriftTally;
  /** Others on its exclusive CPUs; absent without the audit, and before its second look. */
  readonly foreign?: ForeignLoad;
  readonly because: string;
  readonly since: string;
  /** Whole CPUs that it asked for; 0 for a container of the shared pool. */
  readonly requested: number;
  /** Fields of its assignment; absent without one. */
  readonly kind?: AssignmentKind;
  readonly nodes?: CpuSet;
  readonly scope?: 'pod';
  readonly rules?: Rules;
}

/** The drifts of a container since cpusetd started. */
export interface DriftTally {
  readonly drifts: number;
  /** Repairs that the kernel has confirmed. */
  readonly repairs: number;
  readonly failedRepairs: number;
  /** Time of the last drift. */
  readonly lastAt: string;
}

/** Threads of others that ran on exclusive CPUs, between two looks of the audit. */
export interface ForeignLoad extends ForeignShare {
  /** Time of the later look. */
  readonly at: string;
}

export interface QuotaPromise extends CpuPromise {
  /** µs a period; -1 = no limit; absent = left alone. */
  readonly quotaUs?: number;
  /** Time of this promise; an earlier observation does not concern it. Absent in messages of older versions. */
  readonly since?: string;
}

export interface Observation {
  readonly cpus: CpuSet;
  /** The CPUs that the kernel allows. */
  readonly effectiveCpus: CpuSet;
  readonly mems: CpuSet;
  /** µs a period; -1 = no limit; absent = not known. */
  readonly quotaUs?: number;
  /** The quota of the pod's cgroup. */
  readonly podQuotaUs?: number;
  /** Absent until it was sampled. */
  readonly threads?: ThreadSample;
  readonly at: string;
}

export interface Verdict {
  readonly kind: VerdictKind;
  readonly reason: string;
  readonly since: string;
}

/** The resources of a container beyond the shared pool. */
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
  /** The runtime has nothing of the pod any more; only the word of the API server keeps the CPUs. */
  readonly keptByApiServer?: true;
  readonly mems: CpuSet;
  readonly requested: number;
  readonly because: string;
  readonly since: string;
  readonly rules: Rules;
}

/** CPUs of a container that exited or is not created yet; they stay with its pod. */
export type IdleAssignment = Omit<AssignmentStatus, 'containerId'>;

export interface TopologyStatus {
  /** As this node may use it. */
  readonly topology: Topology;
  /** CPUs that are there and not online. */
  readonly offline: CpuSet;
  readonly node: NodeStatus;
  readonly assignments: readonly AssignmentStatus[];
}
