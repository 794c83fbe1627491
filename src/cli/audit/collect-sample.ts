import type { AuditSample, TaskSample } from '../../core/audit/sample';
import {
  listIrqAffinities,
  listPids,
  readCgroupsOf,
  readCpuTimes,
  readInterrupts,
  readSoftirqs,
  readTasks,
} from '../../host';

/** The id of a container in the path of its cgroup, as containerd and CRI-O write it. */
const CONTAINER_ID = /[0-9a-f]{64}/g;

/** Reads what `judgeAudit` compares: some 20 µs for each thread of the node. Throws the system's error when /proc can't be read. */
export function collectSample(procRoot = '/proc'): AuditSample {
  return {
    tasks: listPids(procRoot).flatMap((pid) => readOwned(pid, procRoot)),
    irqs: listIrqAffinities(procRoot),
    interrupts: readInterrupts(procRoot),
    softirqs: readSoftirqs(procRoot),
    stealMs: new Map([...readCpuTimes(procRoot)].map(([cpu, { stealMs }]) => [cpu, stealMs])),
  };
}

function readOwned(pid: number, procRoot: string): readonly TaskSample[] {
  const tasks = readTasks(pid, procRoot);
  if (tasks.length === 0 || tasks[0]!.isKernelThread) return tasks;
  // The innermost one: a container in a container belongs to the outer one's pod in Kubernetes, and has an id of its own.
  const containerId = readCgroupsOf(pid, procRoot).match(CONTAINER_ID)?.[0];
  return containerId === undefined ? tasks : tasks.map((task) => ({ ...task, containerId }));
}
