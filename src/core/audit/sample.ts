import type { CpuSet } from '../cpuset';

/** A container, or the containers of a pod, that have CPUs for themselves. */
export interface ExclusiveOwner {
  /** `namespace/name`. */
  readonly pod: string;
  readonly containers: readonly string[];
  readonly containerIds: readonly string[];
  readonly cpus: CpuSet;
}

/** What ran on a node up to one moment. All counts are since the boot, or since the start of the thread. */
export interface AuditSample {
  readonly tasks: readonly TaskSample[];
  readonly irqs: readonly IrqSample[];
  readonly interrupts: readonly CountSample[];
  readonly softirqs: readonly CountSample[];
  /** Time that the hypervisor gave to others, in ms, by the id of the CPU. */
  readonly stealMs: ReadonlyMap<number, number>;
}

export interface TaskSample {
  readonly pid: number;
  readonly tid: number;
  readonly name: string;
  readonly isKernelThread: boolean;
  /** The container that it is in; absent for all others. */
  readonly containerId?: string;
  readonly allowed: CpuSet;
  readonly lastCpu: number;
  readonly runNs: number;
  readonly waitNs: number;
  readonly preemptions: number;
}

export interface IrqSample {
  readonly irq: number;
  readonly allowed: CpuSet;
  readonly effective?: CpuSet;
}

export interface CountSample {
  readonly name: string;
  readonly source: string;
  readonly counts: ReadonlyMap<number, number>;
}
