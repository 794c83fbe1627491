import type { CpuSet } from '../cpuset';
import type { ContainerInfo, ContainerPhase, CpuResources, PodInfo } from './events';

/** What a container was told that it has. An empty `mems` means that memory nodes are left alone. */
export interface CpuPromise {
  readonly cpus: CpuSet;
  readonly mems: CpuSet;
  /** Where it changed while the container ran; absent = left as it is. */
  readonly quota?: PromisedQuota;
}

/** A CFS quota; `quotaUs` of CPU time in each period, -1 = no limit. Without a period that stays as it is. */
export interface PromisedQuota {
  readonly quotaUs: number;
  readonly periodUs?: number;
}

/**
 * Where a container runs:
 * `exclusive` on CPUs of its own, `immovable` on CPUs that only shared containers use beside it, `numa` on what is shared
 * on its NUMA nodes, `shared` in the shared pool, `left-alone` where the runtime put it (policy none).
 */
export type Placement = 'exclusive' | 'immovable' | 'numa' | 'shared' | 'left-alone';

/** A pod sandbox that the runtime has. */
export interface Pod extends PodInfo {
  /** The sandbox was stopped; its CPUs are given back when its last container is gone. */
  readonly stopped: boolean;
}

/** Rules for the pause container of a sandbox. */
export interface PauseRules {
  /** It stays where it is, always; the container's `because` says why. */
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
  readonly phase: ContainerPhase;
  /** As the kubelet asked for them, all updates included; not what cpusetd answered. */
  readonly resources: CpuResources;
  readonly oomScoreAdj?: number;
  readonly placement: Placement;
  /** Whole CPUs that it is entitled to by its policy; 0 for a container of the shared pool. */
  readonly entitled: number;
  /** Its pod asked to be kept off reserved CPUs where it shares. */
  readonly avoidsReserved?: true;
  /** Digest of the annotations about it at the time of its placement (`digestAnnotations`); absent = there were none. */
  readonly saying?: string;
  /** It is still where it was, although its pod's annotations say otherwise by now. */
  readonly unmetSwitch?: UnmetSwitch;
  /** How its CFS quota has to be, where that was switched while it ran; absent = as it was created. */
  readonly quota?: 'lifted' | 'as-asked';
  /** Absent when left alone. */
  readonly promise?: CpuPromise;
  /** Since when the promise is this one, RFC 3339. */
  readonly promisedAt?: string;
  /** What the runtime or the kernel was given last; differs from the promise until a pending move is carried out. */
  readonly told?: CpuPromise;
  /** What the runtime's own record (the OCI spec) says, as far as known; it follows the promise in the background. */
  readonly recorded?: CpuPromise;
  /**
   * Since when it waits, RFC 3339: it is entitled to CPUs of its own, ran already when it was met, and none could be
   * given. It shares until there are some.
   */
  readonly waitsSince?: string;
  /** None of its CPUs were its pod's before this very creation: if that fails, they go back. */
  readonly freshAssignment: boolean;
  /** Written for the operator: why it is placed as it is. */
  readonly because: string;
}

/** A switch that its pod asked for and that could not be made yet. */
export interface UnmetSwitch {
  /** Written for the operator. */
  readonly because: string;
  /** Since when it could not, RFC 3339: who waits longest is served first. */
  readonly since: string;
}

/** Whether both mean the same CPUs and memory nodes; two that are absent do. */
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

/** A running container in the form in which it was asked for. */
export function infoOf({ id, sandboxId, name, phase, cgroupsPath, resources, oomScoreAdj }: Container): ContainerInfo {
  return {
    id,
    sandboxId,
    name,
    phase,
    cgroupsPath,
    resources,
    ...(oomScoreAdj !== undefined && { oomScoreAdj }),
  };
}
