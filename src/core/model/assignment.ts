import type { CpuSet } from '../cpuset';
import type { PolicyName } from './policies';

/** The policy that made it. `pool-view.ts` has its claim on CPUs. `none` makes no assignment. */
export type AssignmentKind = Exclude<PolicyName, 'none'>;

/** The rules under which a decision was made. A running container keeps them when the operator changes the settings. */
export interface Rules {
  /** The policy that decided, e.g. `static`: the node's cpu-manager-policy, or the one that the pod chose. */
  readonly policy: string;
  /** The pod's annotation that chose the policy; absent when it was the node's. */
  readonly chosenBy?: string;
  /** cpu-manager-policy-options that are on, sorted, e.g. `full-pcpus-only`. */
  readonly options: readonly string[];
  readonly reserved: CpuSet;
}

/** Rules as they are kept with an assignment. */
export interface KeptRules extends Rules {
  readonly policy: PolicyName;
}

/** The CPUs or NUMA nodes of one container of one pod. Kept on disk. */
export interface Assignment {
  readonly podUid: string;
  readonly podNamespace: string;
  readonly podName: string;
  readonly containerName: string;
  readonly kind: AssignmentKind;
  /** Empty for a kind that follows NUMA nodes. */
  readonly cpus: CpuSet;
  /** The NUMA nodes that it follows; only for a kind that does. */
  readonly nodes?: CpuSet;
  /**
   * `pod`: the CPUs are those of the pod, and its containers of this scope share them. Absent: of this container alone.
   */
  readonly scope?: 'pod';
  /** Memory nodes promised with the CPUs; the empty set when memory is left alone. */
  readonly mems: CpuSet;
  /** Whole CPUs that the container asked for. */
  readonly requested: number;
  /**
   * The runtime's id of the container that holds the CPUs now; null when it has exited: the CPUs stay, idle, with the
   * pod.
   */
  readonly containerId: string | null;
  /**
   * The container is not created yet, and no other container of its pod may take the CPUs over. They can be fewer than
   * `requested`: the CPUs of a container that ends before are not among them yet.
   */
  readonly planned?: true;
  /** True when the container's own CFS quota was lifted with the decision. */
  readonly quotaLifted: boolean;
  readonly rules: KeptRules;
  /** Written for the operator. While it is planned, it is about the CPUs only. */
  readonly because: string;
  /** When it was decided, RFC 3339. */
  readonly since: string;
}

/** The pod and the name of a container, not its id: a restarted container is the same. */
export type AssignmentKey = `${string}/${string}`;

/** The key of an assignment. */
export function keyOf(owner: { readonly podUid: string; readonly containerName: string }): AssignmentKey {
  return `${owner.podUid}/${owner.containerName}`;
}

const MAX_TEXT_LENGTH = 2048;

/** Bounds a text of an assignment, which is kept on disk. Names in Kubernetes are far shorter. */
export function cutText(text: string): string {
  return text.length <= MAX_TEXT_LENGTH ? text : `${text.slice(0, MAX_TEXT_LENGTH)}…`;
}
