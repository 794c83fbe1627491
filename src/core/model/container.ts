import type { CpuSet } from '../cpuset';
import { whole } from '../whole';
import type { ContainerInfo, ContainerPhase, CpuResources, PodInfo } from './events';

/** The CPUs and memory nodes of a container. An empty `mems` means that memory nodes are left alone. */
export interface CpuPromise {
  readonly cpus: CpuSet;
  readonly mems: CpuSet;
  /** Set when the quota changed while the container ran; absent = left as it is. */
  readonly quota?: PromisedQuota;
}

/** A CFS quota: `quotaUs` of CPU time in each period, -1 = no limit. Without `periodUs` the period stays as it is. */
export interface PromisedQuota {
  readonly quotaUs: number;
  readonly periodUs?: number;
}

/**
 * The place of a container: `exclusive` on CPUs of its own, `immovable` on CPUs that only shared containers use beside
 * it, `numa` on what is shared on its NUMA nodes, `shared` in the shared pool, `left-alone` on the CPUs that it started
 * with.
 */
export type Placement = 'exclusive' | 'immovable' | 'numa' | 'shared' | 'left-alone';

/** A pod sandbox that the runtime has. */
export interface Pod extends PodInfo {
  /** The sandbox was stopped; its CPUs are given back when its last container is gone. */
  readonly stopped: boolean;
}

/** Rules for the pause container of a sandbox. */
export interface PauseRules {
  /** It is never moved; the container's `because` says why. */
  readonly stays?: true;
  /** CPUs that the operator gave it in the runtime's configuration. */
  readonly configured?: CpuSet;
}

/** The name of a pause container: no container of a pod may have such a name. */
export const PAUSE_NAME = '(pause)';

/** A container that the runtime has and that has not exited. */
export interface Container {
  readonly id: string;
  readonly sandboxId: string;
  readonly podUid: string;
  readonly name: string;
  /** Set for the pause container of a sandbox, whose id is that of the sandbox; absent for containers of pods. */
  readonly pause?: PauseRules;
  readonly cgroupsPath: string;
  /** Its first process; absent before it runs, and where the runtime does not say. */
  readonly pid?: number;
  readonly phase: ContainerPhase;
  /** The request of the kubelet, all updates included; not the answer of cpusetd. */
  readonly resources: CpuResources;
  readonly oomScoreAdj?: number;
  readonly placement: Placement;
  /** Whole CPUs that it is entitled to by its policy; 0 for a container of the shared pool. */
  readonly entitledCpus: number;
  /** cpusetd never touches it, whatever changes: a rule of the operator, or an annotation of its pod, says so. */
  readonly leftAlone?: true;
  /** Its pod asks to be kept off reserved CPUs. */
  readonly avoidsReserved?: true;
  /** Digest of its annotations at the time of its placement (`digestAnnotations`); absent = there were none. */
  readonly annotationDigest?: string;
  /** Its pod's annotations ask for another policy by now, and it could not be switched yet. */
  readonly blockedSwitch?: BlockedSwitch;
  /** The CFS quota that it has to have since it was switched while it ran; absent = as it was created. */
  readonly quota?: 'lifted' | 'as-asked';
  /** Absent when left alone. */
  readonly promise?: CpuPromise;
  /** The time of the promise, RFC 3339. */
  readonly promisedAt?: string;
  /**
   * The last values that the runtime or the kernel got; they differ from the promise until a pending move is carried
   * out.
   */
  readonly applied?: CpuPromise;
  /** The runtime's own record (the OCI spec), as far as known; it follows the promise in the background. */
  readonly runtimeRecord?: CpuPromise;
  /**
   * The time since which it waits for CPUs of its own, RFC 3339. It ran already when cpusetd found it, and there were
   * not enough CPUs. It shares until there are.
   */
  readonly waitingSince?: string;
  /** All its CPUs were free before its creation: if the creation fails, they are free again. */
  readonly freshAssignment: boolean;
  /** Written for the operator: why it is placed as it is. */
  readonly because: string;
  /**
   * The part of it that is about its CPUs: it holds for another creation of the container too. Absent where there is no
   * such part, or it is not known.
   */
  readonly becauseOfCpus?: string;
}

/** A switch of the policy that the pod asks for and that could not be made yet. */
export interface BlockedSwitch {
  /** Written for the operator. */
  readonly because: string;
  /** The first time that it could not be made, RFC 3339. The oldest is tried first. */
  readonly since: string;
}

/** True when both have the same CPUs, memory nodes and quota, or both are absent. */
export function samePromise(a: CpuPromise | undefined, b: CpuPromise | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return (
    a.cpus.equals(b.cpus) &&
    a.mems.equals(b.mems) &&
    a.quota?.quotaUs === b.quota?.quotaUs &&
    a.quota?.periodUs === b.quota?.periodUs
  );
}

/** True while there is a cgroup to be written: from the start of the container to its exit. */
export function hasCgroup({ phase }: Pick<Container, 'phase'>): boolean {
  return phase === 'starting' || phase === 'running';
}

/** The container in the form of a message of the runtime. */
export function infoOf(container: Container): ContainerInfo {
  const { id, sandboxId, name, phase, cgroupsPath, pid, resources, oomScoreAdj } = container;
  return whole<ContainerInfo>()({
    id,
    sandboxId,
    name,
    phase,
    cgroupsPath,
    ...(pid !== undefined && { pid }),
    resources,
    ...(oomScoreAdj !== undefined && { oomScoreAdj }),
  });
}
