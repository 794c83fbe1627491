import type { CpuSet } from '../cpuset';
import type { PodSpec } from './pod-spec';

/** A pod sandbox as the runtime describes it. Texts come from the pod and are not to be trusted as identity beyond `sandboxId` and `uid`. */
export interface PodInfo {
  readonly sandboxId: string;
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly annotations: Readonly<Record<string, string>>;
  /** The pod's cgroup as the kubelet names it; carries the QoS class. Empty when the kubelet runs without cgroups per QoS. */
  readonly cgroupParent: string;
  /** Sums over the pod as the kubelet announced them; absent when the runtime does not tell. */
  readonly podResources?: CpuResources;
  /** Its pause container; absent when the runtime does not tell. */
  readonly pause?: PauseInfo;
}

/** The pause container of a sandbox as the runtime describes it. */
export interface PauseInfo {
  /** As in the OCI spec. */
  readonly cgroupsPath: string;
  /** CPUs that the runtime's configuration gives to pause containers, in kernel list format. */
  readonly cpus?: string;
}

/** The pause container of a sandbox as the kernel has it. */
export interface FoundPause extends PauseInfo {
  readonly sandboxId: string;
  /** The kernel's cpuset of it; empty where nothing was written. */
  readonly found: CpuSet;
  /** Why it must not be moved; absent where it may be. */
  readonly staysBecause?: string;
}

/** CPU and memory numbers of a CRI or NRI message. Absent means: not set. */
export interface CpuResources {
  readonly shares?: number;
  /** µs per period; -1 = no limit. */
  readonly quotaUs?: number;
  readonly periodUs?: number;
  readonly memoryLimitBytes?: number;
  /** Kernel list format; absent when empty (which means "no change"). */
  readonly cpus?: string;
  readonly mems?: string;
}

/** What a container is doing, as far as it matters for its cgroup. */
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
  /** As in the OCI spec: `/kubepods/.../<id>` (cgroupfs driver) or `<slice>:<prefix>:<id>` (systemd driver); empty when unknown. */
  readonly cgroupsPath: string;
  readonly resources: CpuResources;
  readonly oomScoreAdj?: number;
}

/** What the container runtime asks or tells, whether it came over NRI or through the CRI proxy. */
export type RuntimeEvent =
  | {
      readonly kind: 'synchronize';
      readonly pods: readonly PodInfo[];
      readonly containers: readonly ContainerInfo[];
      /** Where calls went on while the lists were taken; absent when nothing can have changed meanwhile. */
      readonly before?: ListBaseline;
    }
  | { readonly kind: 'pod-started'; readonly pod: PodInfo }
  /** They run already: a sandbox has its pause container before anybody is told of it. */
  | { readonly kind: 'pauses-found'; readonly pauses: readonly FoundPause[] }
  | { readonly kind: 'pod-stopped'; readonly sandboxId: string }
  | { readonly kind: 'pod-removed'; readonly sandboxId: string }
  | {
      readonly kind: 'create-container';
      readonly pod: PodInfo;
      readonly container: ContainerInfo;
      /** Set when CPUs of its own could not be cleared of others: it shares, and this is why. */
      readonly shareBecause?: string;
      readonly counts?: AnswerCounts;
    }
  /** The runtime has made a container that was known by a temporary id, because requests to make one carry none. */
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
  /** Someone (the kubelet, or ourselves) changes resources of a container: fields that are absent stay as they are. */
  | {
      readonly kind: 'update-container';
      readonly pod: PodInfo;
      readonly container: ContainerInfo;
      readonly resources: CpuResources;
      readonly counts?: AnswerCounts;
    }
  /** `carriedOut`: what the runtime has just written, where that is known. */
  | {
      readonly kind: 'container-updated';
      readonly containerId: string;
      readonly carriedOut?: { readonly cpus: CpuSet; readonly mems: CpuSet };
    }
  /** The runtime did not take an update, or nobody knows whether it did. */
  | { readonly kind: 'update-failed'; readonly containerId: string }
  /** The process is gone; its CPUs may be used again at once. */
  | { readonly kind: 'container-stopped'; readonly containerId: string }
  | { readonly kind: 'container-removed'; readonly containerId: string };

/**
 * When an answer is the last word on what somebody asked for; absent = at once. `when-cleared`: when the others whom it moves have left
 * the CPUs, where there are such, and whoever waits for that tells how it ended. `never`: nobody has asked, it takes something back.
 */
export type AnswerCounts = 'when-cleared' | 'never';

/** What the model knew when the runtime was asked for lists; what came later is not judged by an older list. */
export interface ListBaseline {
  readonly sandboxIds: ReadonlySet<string>;
  readonly containerIds: ReadonlySet<string>;
  readonly podUids: ReadonlySet<string>;
}

/** What goes back to the runtime. Lists are never empty texts: an empty text means "no change" there. */
export type RuntimeAnswer =
  | { readonly kind: 'ok'; readonly adjust?: CpuAdjustment; readonly updates?: readonly ContainerCpuUpdate[] }
  | { readonly kind: 'refuse'; readonly code: RefusalCode; readonly message: string };

/** Ids of the others that an answer to this request moves. */
export function listOthers(
  { container }: { readonly container: { readonly id: string } },
  answer: RuntimeAnswer,
): readonly string[] {
  if (answer.kind === 'refuse') return [];
  return (answer.updates ?? []).flatMap(({ containerId }) => (containerId === container.id ? [] : [containerId]));
}

/** What the container under creation (or update) shall have; absent fields are left as asked. */
export interface CpuAdjustment {
  readonly cpus?: CpuSet;
  readonly mems?: CpuSet;
  /** µs per period; -1 lifts the limit. */
  readonly quotaUs?: number;
}

/** A change of another container that the runtime shall carry out with the answer. */
export interface ContainerCpuUpdate {
  readonly containerId: string;
  readonly cpus?: CpuSet;
  readonly mems?: CpuSet;
}

/** Why a request was refused; named like gRPC status codes, which is what they become. */
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
 * News of the API server about the pods of this node. It comes beside the runtime's events, later than they do or never: nothing
 * waits for it, and nothing follows from its absence.
 */
export type PodEvent =
  /** A pod was added, or something about it changed; told again, it changes nothing. */
  | { readonly kind: 'pod-spec'; readonly spec: PodSpec }
  /** The API server has the pod no more; `uid` is the one in its spec. */
  | { readonly kind: 'pod-spec-gone'; readonly uid: string }
  /** All pods of the node, and no others: a complete list, or not sent at all. */
  | { readonly kind: 'pod-specs'; readonly specs: readonly PodSpec[] };

/** Everything that is told to cpusetd, from whichever side. */
export type NodeEvent = RuntimeEvent | PodEvent;
