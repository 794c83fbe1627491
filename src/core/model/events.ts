import type { CpuSet } from '../cpuset';
import type { CpuIdentity, IdentityMount } from './cpu-identity';
import type { HugePages } from '../huge-pages';
import type { PodSpec } from './pod-spec';

/**
 * A pod sandbox as the runtime describes it. Only `sandboxId` and `uid` identify it: other texts come from the pod and
 * can be forged.
 */
export interface PodInfo {
  readonly sandboxId: string;
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly annotations: Readonly<Record<string, string>>;
  /**
   * The pod's cgroup as the kubelet names it; carries the QoS class. Empty when the kubelet runs without cgroups per
   * QoS.
   */
  readonly cgroupParent: string;
  /** Sums over the pod from the kubelet; absent when the runtime does not send them. */
  readonly podResources?: CpuResources;
  /** Its pause container; absent when the runtime does not send it. */
  readonly pause?: PauseInfo;
}

/** The pause container of a sandbox as the runtime describes it. */
export interface PauseInfo {
  /** As in the OCI spec. */
  readonly cgroupsPath: string;
  /** Its process, in the PID namespace of the node; absent when it is not known. */
  readonly pid?: number;
  /** CPUs that the runtime's configuration gives to pause containers, in kernel list format. */
  readonly cpus?: string;
}

/** The pause container of a sandbox as the kernel has it. */
export interface FoundPause extends PauseInfo {
  readonly sandboxId: string;
  /** The kernel's cpuset of it; empty where nothing was written. */
  readonly found: CpuSet;
  /** The reason why it must not be moved; absent when it may be. */
  readonly staysBecause?: string;
}

/** CPU and memory numbers of a CRI or NRI message. Absent means: not set. */
export interface CpuResources {
  readonly shares?: number;
  /** µs per period; -1 = no limit. */
  readonly quotaUs?: number;
  readonly periodUs?: number;
  readonly memoryLimitBytes?: number;
  readonly hugePages?: HugePages;
  /** Kernel list format; absent when empty (which means "no change"). */
  readonly cpus?: string;
  readonly mems?: string;
}

/** The phase of a container, as far as it matters for its cgroup. */
export type ContainerPhase =
  | 'creating' // asked for; the runtime has not confirmed it
  | 'created' // exists in the runtime; no process and, on containerd, no cgroup
  | 'starting' // its cgroup exists, its own process has not run yet
  | 'running'
  | 'exited';

export interface ContainerInfo {
  readonly id: string;
  readonly sandboxId: string;
  readonly name: string;
  readonly phase: ContainerPhase;
  /**
   * As in the OCI spec: `/kubepods/.../<id>` (cgroupfs driver) or `<slice>:<prefix>:<id>` (systemd driver); empty when
   * unknown.
   */
  readonly cgroupsPath: string;
  /** Its first process, in the PID namespace of the node; absent before it runs, and where the runtime does not say. */
  readonly pid?: number;
  readonly resources: CpuResources;
  readonly oomScoreAdj?: number;
}

/** A request or report of the container runtime, over NRI or through the CRI proxy. */
export type RuntimeEvent =
  | {
      readonly kind: 'synchronize';
      readonly pods: readonly PodInfo[];
      readonly containers: readonly ContainerInfo[];
      /** The model before the lists were asked for. Absent when nothing can have changed meanwhile. */
      readonly baseline?: ListBaseline;
      /** Id of the container that this very process runs in. Absent outside of one. */
      readonly own?: string;
    }
  | { readonly kind: 'pod-started'; readonly pod: PodInfo }
  /** The pause containers run already: the runtime reports a sandbox only after it has started them. */
  | { readonly kind: 'pauses-found'; readonly pauses: readonly FoundPause[] }
  | { readonly kind: 'pod-stopped'; readonly sandboxId: string }
  | { readonly kind: 'pod-removed'; readonly sandboxId: string }
  | {
      readonly kind: 'create-container';
      readonly pod: PodInfo;
      readonly container: ContainerInfo;
      /** The reason why it shares: other containers could not be moved off the CPUs for it. */
      readonly shareBecause?: string;
      /**
       * Containers of the pod that were seen to run when the request came; asked only where it decides
       * (`listWitnesses`).
       */
      readonly runsBeside?: readonly string[];
      readonly counts?: AnswerCounts;
    }
  /** The runtime has created a container that had a temporary id, since a CRI request to create one carries no id. */
  | {
      readonly kind: 'container-named';
      readonly temporaryId: string;
      readonly containerId: string;
      readonly cgroupsPath: string;
    }
  | { readonly kind: 'container-created'; readonly pod: PodInfo; readonly container: ContainerInfo }
  /** The cgroup exists and is set, the container's own process has not run yet. */
  | { readonly kind: 'container-starting'; readonly pod: PodInfo; readonly container: ContainerInfo }
  | { readonly kind: 'container-started'; readonly pod: PodInfo; readonly container: ContainerInfo }
  /** The kubelet, or cpusetd itself, changes resources of a container: fields that are absent stay as they are. */
  | {
      readonly kind: 'update-container';
      readonly pod: PodInfo;
      readonly container: ContainerInfo;
      readonly resources: CpuResources;
      readonly counts?: AnswerCounts;
    }
  /** `carriedOut`: the values that the runtime has just written, where they are known. */
  | {
      readonly kind: 'container-updated';
      readonly containerId: string;
      readonly carriedOut?: { readonly cpus: CpuSet; readonly mems: CpuSet };
    }
  /** The runtime refused an update, or it is not known whether it did. */
  | { readonly kind: 'update-failed'; readonly containerId: string }
  /** The process is gone; its CPUs may be used again at once. */
  | { readonly kind: 'container-stopped'; readonly containerId: string }
  | { readonly kind: 'container-removed'; readonly containerId: string };

/**
 * The moment at which an answer is final; absent = at once. `when-cleared`: when the containers that it moves have left
 * the CPUs; the interceptor that waits for that reports the end. `never`: the kubelet did not ask, since the update
 * takes something back.
 */
export type AnswerCounts = 'when-cleared' | 'never';

/** The ids in the model when the runtime was asked for lists. Whatever came later is not judged by an older list. */
export interface ListBaseline {
  readonly sandboxIds: ReadonlySet<string>;
  readonly containerIds: ReadonlySet<string>;
  readonly podUids: ReadonlySet<string>;
}

/** The answer to the runtime. A CPU list is never the empty text, which means "no change" there. */
export type RuntimeAnswer =
  | {
      readonly kind: 'ok';
      readonly adjust?: CpuAdjustment;
      readonly updates?: readonly ContainerCpuUpdate[];
      /** The container that is created gets a file with its CPUs. */
      readonly identity?: CpuIdentity;
      /** Made of `identity` when the file was written. */
      readonly mount?: IdentityMount;
    }
  | { readonly kind: 'refuse'; readonly code: RefusalCode; readonly message: string };

/** Ids of the others that an answer to this request moves. */
export function listOthers(
  { container }: { readonly container: { readonly id: string } },
  answer: RuntimeAnswer,
): readonly string[] {
  if (answer.kind === 'refuse') return [];
  return (answer.updates ?? []).flatMap(({ containerId }) => (containerId === container.id ? [] : [containerId]));
}

/** The values for the container that is created or updated; absent fields stay as requested. */
export interface CpuAdjustment {
  readonly cpus?: CpuSet;
  readonly mems?: CpuSet;
  /** µs per period; -1 lifts the limit. */
  readonly quotaUs?: number;
}

/** A change of another container that the runtime makes with the answer. */
export interface ContainerCpuUpdate {
  readonly containerId: string;
  readonly cpus?: CpuSet;
  readonly mems?: CpuSet;
}

/** The reason of a refusal, as a gRPC status code. */
export type RefusalCode =
  | 'RESOURCE_EXHAUSTED' // does not fit now
  | 'FAILED_PRECONDITION' // can't fit by rule, or something must be put right first
  | 'UNAVAILABLE' // try again: the promise could not be made durable
  | 'INVALID_ARGUMENT'
  | 'INTERNAL';

/** The pods and containers that the runtime lists. */
export interface NodeInventory {
  readonly pods: readonly PodInfo[];
  readonly containers: readonly ContainerInfo[];
}

/**
 * An event of the API server about the pods of this node. It may come later than the runtime's events, or never:
 * nothing waits for it, and nothing follows from its absence.
 */
export type PodEvent =
  /** A pod was added or has changed. The same spec again changes nothing. */
  | { readonly kind: 'pod-spec'; readonly spec: PodSpec }
  /** The pod was removed from the API server; `uid` is the one in its spec. */
  | { readonly kind: 'pod-spec-gone'; readonly uid: string }
  /** The complete list of the pods of the node. */
  | { readonly kind: 'pod-specs'; readonly specs: readonly PodSpec[] };

/** Any event, of the runtime or of the API server. */
export type NodeEvent = RuntimeEvent | PodEvent;
