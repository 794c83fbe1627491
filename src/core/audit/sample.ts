import type { CpuSet } from '../cpuset';

/** A container, or the containers of a pod, that have CPUs for themselves. */
export interface ExclusiveOwner {
  /** `namespace/name`. */
  readonly pod: string;
  readonly containers: readonly string[];
  readonly containerIds: readonly string[];
  readonly cpus: CpuSet;
}

/**
 * The threads and interrupts of a node up to one moment. All counts are since the boot, or since the start of the
 * thread.
 */
export interface AuditSample {
  /** Time since the boot at which the reading began, in ticks of 10 ms. */
  readonly atTicks: number;
  /** Threads that may run on exclusive CPUs, those of the owners included. */
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
  /** The kernel refuses to change its affinity. */
  readonly isFixed: boolean;
  /** The ids of containers in the path of its cgroup, from the outermost on; absent without any. */
  readonly containerIds?: readonly string[];
  readonly allowed: CpuSet;
  readonly lastCpu: number;
  /** Time of its start since the boot, in ticks of 10 ms: with the number it identifies the thread. */
  readonly startTicks: number;
  readonly runNs: number;
  readonly waitNs: number;
  readonly preemptions: number;
}

export interface IrqSample {
  readonly irq: number;
  readonly allowed: CpuSet;
  readonly effective?: CpuSet;
  /** The kernel refused to move it. */
  readonly isFixed?: boolean;
}

export interface CountSample {
  readonly name: string;
  readonly source: string;
  readonly counts: ReadonlyMap<number, number>;
}

/**
 * The kinds of threads, by the way in which they are kept off a CPU; they are labels of metrics and therefore fixed.
 */
export const TASK_KINDS = ['process', 'kernel', 'workqueue', 'irq', 'bound'] as const;

/**
 * - `process`: a program; by a cpuset or an affinity
 * - `kernel`: a thread of the kernel with an affinity that can be set
 * - `workqueue`: by the mask of unbound workqueues
 * - `irq`: the thread of an interrupt; it follows that
 * - `bound`: a thread of the kernel for one CPU; not at all
 */
export type TaskKind = (typeof TASK_KINDS)[number];

export function kindOfTask({ isKernelThread, isFixed, name }: TaskSample): TaskKind {
  if (!isKernelThread) return 'process';
  if (!isFixed) return 'kernel';
  if (/^irq\/\d+-/.test(name)) return 'irq';
  // u: unbound workers; R: rescuers of workqueues.
  return /^kworker\/[uR]/.test(name) ? 'workqueue' : 'bound';
}

/** The time that a thread got and did not get since it was seen before. */
export interface TaskProgress {
  readonly ranNs: number;
  readonly waitedNs: number;
  readonly preemptions: number;
}

/**
 * The progress of a thread since an earlier reading of the same thread. One that began after `sinceTicks` counts from
 * its start; any other without an earlier reading has no known progress.
 */
export function progressOf(
  task: TaskSample,
  earlier: Pick<TaskSample, 'startTicks' | 'runNs' | 'waitNs' | 'preemptions'> | undefined,
  sinceTicks: number,
): TaskProgress {
  const isSame = earlier?.startTicks === task.startTicks;
  if (!isSame && task.startTicks < sinceTicks) return { ranNs: 0, waitedNs: 0, preemptions: 0 };
  const from = isSame ? earlier : { runNs: 0, waitNs: 0, preemptions: 0 };
  return {
    ranNs: Math.max(0, task.runNs - from.runNs),
    waitedNs: Math.max(0, task.waitNs - from.waitNs),
    preemptions: Math.max(0, task.preemptions - from.preemptions),
  };
}
