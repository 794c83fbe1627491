import { readFileSync } from 'node:fs';
import type { AuditSample, TaskSample } from '../../core/audit/sample';
import type { CpuSet } from '../../core/cpuset';
import { readCpuTimes, TICK_MS } from './cpu-times';
import { listIrqAffinities, readInterrupts, readSoftirqs } from './interrupts';
import { listPids, listTids, readCgroupsOf, readTask } from './tasks';
import { TimeSlices } from './time-slices';

/**
 * The id of a container in the path of its cgroup, as containerd and CRI-O write it. CRI-O's monitor of a container is
 * not in it.
 */
const CONTAINER_ID = /(?<!conmon-)[0-9a-f]{64}/g;
/** The longest time without a turn for others. */
const SLICE_MS = 3;

export interface ReadOptions {
  /** Only threads that may run on these CPUs are read. */
  readonly within: CpuSet;
  /** Absent: all processes. */
  readonly pids?: readonly number[];
  readonly procRoot?: string;
}

/**
 * Reads everything that an audit compares, with turns for others in between. Throws the system's error when /proc can't
 * be read.
 */
export async function readAuditSample(options: ReadOptions): Promise<AuditSample> {
  const { procRoot = '/proc' } = options;
  const atTicks = readUptimeTicks(procRoot);
  const slices = new TimeSlices(SLICE_MS);
  const tasks: TaskSample[] = [];
  await visitTasks(options, slices, (task) => tasks.push(task));
  const irqs = listIrqAffinities(procRoot);
  await slices.rest();
  const interrupts = readInterrupts(procRoot);
  await slices.rest();
  const softirqs = readSoftirqs(procRoot);
  const stealMs = new Map([...readCpuTimes(procRoot)].map(([cpu, times]) => [cpu, times.stealMs]));
  return { atTicks, tasks, irqs, interrupts, softirqs, stealMs };
}

/** Reads threads alone. */
export async function readTaskSamples(options: ReadOptions): Promise<readonly TaskSample[]> {
  const tasks: TaskSample[] = [];
  await visitTasks(options, new TimeSlices(SLICE_MS), (task) => tasks.push(task));
  return tasks;
}

/** Hands over threads one by one: a node has many, and most of them are of no interest. */
export async function visitTasks(
  { within, pids, procRoot = '/proc' }: ReadOptions,
  slices: TimeSlices,
  visit: (task: TaskSample) => void,
): Promise<void> {
  for (const pid of pids ?? listPids(procRoot)) {
    let containerIds: readonly string[] | undefined;
    for (const tid of listTids(pid, procRoot)) {
      if (slices.isOver) await slices.rest();
      const task = readTask(pid, tid, within, procRoot);
      if (!task) continue;
      containerIds ??= task.isKernelThread ? [] : readContainerIds(pid, procRoot);
      visit(containerIds.length === 0 ? task : { ...task, containerIds });
    }
    if (slices.isOver) await slices.rest();
  }
}

/**
 * Finds a process of each of these containers, wherever it may run. Ended ones are left out. Throws the system's error
 * when /proc can't be read.
 */
export async function findProcesses(
  containerIds: ReadonlySet<string>,
  slices: TimeSlices,
  procRoot = '/proc',
): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>();
  for (const pid of containerIds.size === 0 ? [] : listPids(procRoot)) {
    if (slices.isOver) await slices.rest();
    for (const id of readContainerIds(pid, procRoot)) if (containerIds.has(id) && !found.has(id)) found.set(id, pid);
    if (found.size === containerIds.size) break;
  }
  return found;
}

function readContainerIds(pid: number, procRoot: string): readonly string[] {
  return [...new Set(readCgroupsOf(pid, procRoot).match(CONTAINER_ID) ?? [])];
}

/** Time since the boot in ticks of 10 ms. Throws the system's error when it can't be read. */
export function readUptimeTicks(procRoot = '/proc'): number {
  return Math.floor((Number(readFileSync(`${procRoot}/uptime`, 'utf8').split(' ')[0]) * 1000) / TICK_MS);
}
