import type { CpuSet } from '../cpuset';

/**
 * What an assignment means to others. `static` is the kubelet's: the CPUs belong to one container alone.
 * Further kinds (Crane's) bring their own rules of overlap: see `kinds.ts`.
 */
export type AssignmentKind = 'static';

/** The rules under which a decision was made; a running container keeps them when the operator changes his mind. */
export interface Rules {
  /** cpu-manager-policy, e.g. `static`. */
  readonly policy: string;
  /** cpu-manager-policy-options that are on, sorted, e.g. `full-pcpus-only`. */
  readonly options: readonly string[];
  readonly reserved: CpuSet;
}

/** Exclusive CPUs of one container of one pod. Kept on disk. */
export interface Assignment {
  readonly podUid: string;
  readonly podNamespace: string;
  readonly podName: string;
  readonly containerName: string;
  readonly kind: AssignmentKind;
  readonly cpus: CpuSet;
  /** Memory nodes promised with the CPUs; the empty set when memory is left alone. */
  readonly mems: CpuSet;
  /** How many CPUs the container asked for. */
  readonly requested: number;
  /** The runtime's id of the container that holds the CPUs now; null when it has exited: the CPUs stay, idle, with the pod. */
  readonly containerId: string | null;
  /** Whether the container's own CFS quota was lifted with the decision. */
  readonly quotaLifted: boolean;
  readonly rules: Rules;
  /** Written for the operator. */
  readonly because: string;
  /** When it was decided, RFC 3339. */
  readonly since: string;
}

/** Assignments are known by pod and container name, not by container id: a restarted container is the same. */
export type AssignmentKey = `${string}/${string}`;

export function keyOf(of: { readonly podUid: string; readonly containerName: string }): AssignmentKey {
  return `${of.podUid}/${of.containerName}`;
}
