import type { CpuSet } from '../cpuset';
import type { AssignmentKind } from './assignment';

/** The kind of its assignment, `shared` without one, `unmanaged` on CPUs that cpusetd does not decide. */
export type IdentityKind = AssignmentKind | 'shared' | 'unmanaged';

/** The facts that a container may know of its own CPUs. */
export interface CpuIdentity {
  readonly kind: IdentityKind;
  /** `pod`: containers of its pod share the CPUs. */
  readonly scope?: 'pod';
  /** Absent when unmanaged. */
  readonly cpus?: CpuSet;
  /** NUMA nodes of the CPUs. */
  readonly numaNodes?: CpuSet;
  /** Memory nodes that it is confined to; absent when memory is left alone. */
  readonly memoryNodes?: CpuSet;
  /** The time since which it has these CPUs, RFC 3339. */
  readonly since?: string;
}

/** A directory of the host that is mounted read-only in a container that is created. */
export interface IdentityMount {
  /** Absolute path. */
  readonly hostDirectory: string;
  /** The CPUs at the creation; absent when cpusetd does not decide them. */
  readonly cpus?: CpuSet;
}
