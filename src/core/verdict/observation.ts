import { CpuSet } from '../cpuset';

/** The state of a container in the kernel, read back from its cgroup. */
export type Observation =
  | {
      readonly kind: 'seen';
      /** `cpuset.cpus`: what was written there last. Empty on v2 where nothing was. */
      readonly cpus: CpuSet;
      /** The CPUs that its processes may run on now: `cpuset.cpus.effective`, `cpuset.effective_cpus`. */
      readonly effective: CpuSet;
      /**
       * The CPUs that any cgroup can have: the root's. The kernel takes a CPU out of cpusets before it calls it
       * offline, and puts it back after. Read only where the container lacks CPUs.
       */
      readonly active?: CpuSet;
      readonly mems: CpuSet;
      /**
       * The CFS quota of the container's own cgroup; absent when it was not looked at, could not be read, or there is
       * none.
       */
      readonly quota?: Quota;
      /** The CFS quota of the pod's cgroup, which holds for all its containers together. */
      readonly podQuota?: Quota;
      /** Quotas that could not be read. Absent = none. */
      readonly unread?: readonly UnreadQuota[];
      /** Absent when its threads were not sampled in this round. */
      readonly threads?: ThreadSample;
    }
  /**
   * No such cgroup: the container is on its way in or out, or its cgroup could not be found. Without `missing` none is
   * expected.
   */
  | { readonly kind: 'gone'; readonly missing?: Missing }
  | { readonly kind: 'unreadable'; readonly because: string };

/** A cgroup that was looked for in vain. */
export interface Missing {
  /** Written for the operator: the places where it is not. */
  readonly because: string;
  /** Time since it was first missed. */
  readonly forMs: number;
  /**
   * The runtime said after it was first missed that the container runs, or nobody but the runtime's events can say so.
   */
  readonly isConfirmed: boolean;
}

/**
 * Time after which a container without a cgroup is not just ending. A runtime reports an end some milliseconds after it
 * has removed the cgroup.
 */
export const GONE_LIMIT_MS = 10_000;

/**
 * True when the container runs, and its cgroup was not found for too long: its cpuset can be neither seen nor repaired.
 */
export function isLost({ forMs, isConfirmed }: Missing): boolean {
  return isConfirmed && forMs >= GONE_LIMIT_MS;
}

export type Seen = Extract<Observation, { readonly kind: 'seen' }>;

export interface Quota {
  /** CPU time in each period; -1 = no limit. */
  readonly quotaUs: number;
  readonly periodUs: number;
}

export interface UnreadQuota {
  readonly scope: 'container' | 'pod';
  readonly because: string;
}

/** The CPUs that some of a container's threads may run on (`Cpus_allowed_list`). */
export interface ThreadSample {
  /** The number of threads that were read. */
  readonly looked: number;
  /** The number of these that may run on less than the cpuset, by an affinity of their own. */
  readonly narrower: number;
  /** The CPUs of those, all together. */
  readonly narrowerCpus: CpuSet;
  /** CPUs outside of the cpuset that some thread may run on; the kernel lets that happen only while it moves them. */
  readonly outside: CpuSet;
}

/** Compares the CPUs that threads of a container may run on with its effective cpuset. */
export function sampleThreads(effective: CpuSet, allowed: readonly CpuSet[]): ThreadSample {
  const narrower = allowed.filter((cpus) => !effective.isSubsetOf(cpus));
  return {
    looked: allowed.length,
    narrower: narrower.length,
    narrowerCpus: CpuSet.unionOf(narrower),
    outside: CpuSet.unionOf(allowed).minus(effective),
  };
}
