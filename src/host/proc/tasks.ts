import { closeSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs';
import { tryParseCpuList, type CpuSet } from '../../core/cpuset';
import { systemCodeOf } from '../../core/system-errors';

/** One thread, of a process or of the kernel. */
export interface TaskInfo {
  readonly pid: number;
  readonly tid: number;
  /** As the kernel has it, chosen by the program. */
  readonly name: string;
  readonly isKernelThread: boolean;
  /** The kernel refuses to change its affinity. */
  readonly isFixed: boolean;
  readonly allowed: CpuSet;
  /** The CPU that it ran on last. */
  readonly lastCpu: number;
  /** Time of its start since the boot, in ticks of 10 ms. */
  readonly startTicks: number;
  /**
   * Time on a CPU since its start, and time in which it was ready and had none, in ns; 0 where the kernel does not
   * count.
   */
  readonly runNs: number;
  readonly waitNs: number;
  /** Times that it had to leave its CPU for another thread. */
  readonly preemptions: number;
}

/** PF_KTHREAD and PF_NO_SETAFFINITY of linux/sched.h. */
const KERNEL_THREAD = 0x0020_0000;
const NO_SETAFFINITY = 0x0400_0000;

/**
 * The ids of the threads of a process; none when it has ended. Throws the system's error when they can't be read for
 * another reason.
 */
export function listTids(pid: number, procRoot = '/proc'): readonly number[] {
  return (unlessEnded(() => readdirSync(`${procRoot}/${pid}/task`)) ?? []).map(Number);
}

/** The ids of all processes that are visible here, those of kernel threads included. */
export function listPids(procRoot = '/proc'): readonly number[] {
  return readdirSync(procRoot)
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

/**
 * True where all threads of the machine are visible: in its first PID namespace, of which process 2 is a thread of the
 * kernel.
 */
export function seesAllTasks(procRoot = '/proc'): boolean {
  const stat = readText(`${procRoot}/2/stat`);
  return stat !== undefined && (Number(fieldsOf(stat)?.[6]) & KERNEL_THREAD) !== 0;
}

/** The cgroups of a process, a line for each hierarchy as in proc_pid_cgroup(5); empty when it has ended. */
export function readCgroupsOf(pid: number, procRoot = '/proc'): string {
  return readText(`${procRoot}/${pid}/cgroup`) ?? '';
}

/**
 * A thread; undefined when it has ended, or may run on none of these CPUs. Throws the system's error when it could not
 * be read for another reason, such as too many open files.
 */
export function readTask(pid: number, tid: number, within: CpuSet, procRoot = '/proc'): TaskInfo | undefined {
  const path = `${procRoot}/${pid}/task/${tid}`;
  const status = readText(`${path}/status`);
  const allowed = tryParseCpuList(/^Cpus_allowed_list:\s*(\S*)$/m.exec(status ?? '')?.[1] ?? '');
  if (status === undefined || !allowed?.overlaps(within)) return undefined;
  const stat = readText(`${path}/stat`);
  const fields = fieldsOf(stat ?? '');
  if (stat === undefined || fields === undefined) return undefined;
  const [flags, startTicks, lastCpu] = [6, 19, 36].map((at) => Number(fields[at])) as [number, number, number];
  if (![flags, startTicks, lastCpu].every(Number.isSafeInteger)) return undefined;
  const [runNs = 0, waitNs = 0] = (readText(`${path}/schedstat`) ?? '').split(' ').map((field) => Number(field) || 0);
  return {
    pid,
    tid,
    name: stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')')),
    isKernelThread: (flags & KERNEL_THREAD) !== 0,
    isFixed: (flags & NO_SETAFFINITY) !== 0,
    allowed,
    lastCpu,
    startTicks,
    runNs,
    waitNs,
    preemptions: Number(/^nonvoluntary_ctxt_switches:\s*(\d+)$/m.exec(status)?.[1] ?? 0),
  };
}

/**
 * The fields from the third on. The name before them is in brackets and may have any character. See proc_pid_stat(5).
 */
function fieldsOf(stat: string): readonly string[] | undefined {
  const end = stat.lastIndexOf(')');
  return end < 0 ? undefined : stat.slice(end + 2).split(' ');
}

/** The files of a thread are shorter, but for the cgroups of some. */
const FIRST_READ_BYTES = 4096;

/** With three system calls where readFileSync needs six: a node has thousands of threads. */
function readText(path: string): string | undefined {
  return unlessEnded(() => {
    const fd = openSync(path, 'r');
    try {
      const buffer = Buffer.allocUnsafe(FIRST_READ_BYTES);
      const length = readSync(fd, buffer, 0, FIRST_READ_BYTES, null);
      const text = buffer.toString('utf8', 0, length);
      return length < FIRST_READ_BYTES ? text : readFileSync(path, 'utf8');
    } finally {
      closeSync(fd);
    }
  });
}

/** Undefined where the thread is gone, or hidden from this process. */
function unlessEnded<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes(systemCodeOf(error) ?? '')) return undefined;
    throw error;
  }
}
