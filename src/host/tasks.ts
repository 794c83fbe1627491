import { readdirSync, readFileSync } from 'node:fs';
import { CpuListError, parseCpuList, type CpuSet } from '../core/cpuset';

/** One thread, of a process or of the kernel. */
export interface TaskInfo {
  readonly pid: number;
  readonly tid: number;
  /** As the kernel has it: at most 15 bytes, chosen by the program. */
  readonly name: string;
  readonly isKernelThread: boolean;
  readonly allowed: CpuSet;
  /** The CPU that it ran on last. */
  readonly lastCpu: number;
  /** Time on a CPU since its start, and time in which it was ready and had none, in ns; 0 where the kernel does not count. */
  readonly runNs: number;
  readonly waitNs: number;
  /** Times that it had to leave its CPU for another thread. */
  readonly preemptions: number;
}

/** PF_KTHREAD of linux/sched.h. */
const KERNEL_THREAD = 0x0020_0000;

/** The threads of a process; empty when it has ended. */
export function readTasks(pid: number, procRoot = '/proc'): readonly TaskInfo[] {
  let tids: readonly string[];
  try {
    tids = readdirSync(`${procRoot}/${pid}/task`);
  } catch {
    return []; // has ended meanwhile
  }
  return tids.flatMap((tid) => readTask(`${procRoot}/${pid}/task/${tid}`, pid, Number(tid)) ?? []);
}

/** The ids of all processes that are visible here, those of kernel threads included. */
export function listPids(procRoot = '/proc'): readonly number[] {
  return readdirSync(procRoot)
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

/** The cgroups of a process, a line for each hierarchy as in proc_pid_cgroup(5); empty when it has ended. */
export function readCgroupsOf(pid: number, procRoot = '/proc'): string {
  return readText(`${procRoot}/${pid}/cgroup`) ?? '';
}

function readTask(path: string, pid: number, tid: number): TaskInfo | undefined {
  const stat = readText(`${path}/stat`);
  const status = readText(`${path}/status`);
  if (stat === undefined || status === undefined) return undefined;
  // The name is in brackets and may have any character: fields are counted from the last one. See proc_pid_stat(5).
  const end = stat.lastIndexOf(')');
  const fields = stat.slice(end + 2).split(' ');
  const [flags, lastCpu] = [Number(fields[6]), Number(fields[36])];
  const allowed = parseList(/^Cpus_allowed_list:\s*(\S*)$/m.exec(status)?.[1]);
  if (end < 0 || !Number.isSafeInteger(flags) || !Number.isSafeInteger(lastCpu) || !allowed) return undefined;
  const [runNs = 0, waitNs = 0] = (readText(`${path}/schedstat`) ?? '').split(' ').map((field) => Number(field) || 0);
  return {
    pid,
    tid,
    name: stat.slice(stat.indexOf('(') + 1, end),
    isKernelThread: (flags & KERNEL_THREAD) !== 0,
    allowed,
    lastCpu,
    runNs,
    waitNs,
    preemptions: Number(/^nonvoluntary_ctxt_switches:\s*(\d+)$/m.exec(status)?.[1] ?? 0),
  };
}

function parseList(text: string | undefined): CpuSet | undefined {
  try {
    return text === undefined ? undefined : parseCpuList(text);
  } catch (error) {
    if (error instanceof CpuListError) return undefined;
    throw error;
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
