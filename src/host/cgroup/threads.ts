import { CpuListError, parseCpuList, type CpuSet } from '../../core/cpuset';
import { GONE, malformed, type CgroupFailure, type CgroupFiles, type Gone } from './cgroup-file';
import type { Hierarchies } from './find-hierarchies';
import { listIds } from './list-ids';

export interface ThreadInfo {
  readonly tid: number;
  /** The process that the thread belongs to. */
  readonly pid: number;
  /** The kernel's short name of it. */
  readonly name: string;
  /** The CPUs that the kernel allows: the cpuset, cut by the thread's own affinity mask. */
  readonly allowed: CpuSet;
}

export type ThreadsReading =
  | {
      readonly kind: 'found';
      readonly threads: readonly ThreadInfo[];
      /** There are more threads than `maxThreads`. */
      readonly more: boolean;
      /**
       * Threads of another PID namespace, which the kernel lists as 0: cpusetd runs without the node's PID namespace.
       */
      readonly hidden: number;
    }
  | Gone
  | CgroupFailure;

export interface ThreadsQuery {
  readonly maxThreads: number;
  /** Most cgroups that are looked at; 1000 if absent. */
  readonly maxDirectories?: number | undefined;
  /** Mount point of the proc file system. */
  readonly procRoot: string;
}

/**
 * The threads of a cgroup and of the cgroups below it, with their allowed CPUs. Threads that end meanwhile are left
 * out.
 */
export function listThreads(
  files: CgroupFiles,
  { version, cpusetRoot }: Hierarchies,
  cgroupPath: string,
  { maxThreads, maxDirectories, procRoot }: ThreadsQuery,
): ThreadsReading {
  const list = listIds(files, `${cpusetRoot}${cgroupPath}`, {
    listFile: version === 1 ? 'tasks' : 'cgroup.threads',
    maxIds: maxThreads,
    ...(maxDirectories !== undefined && { maxDirectories }),
  });
  if (list.kind !== 'found') return list;
  const { ids, more, hidden } = list;
  const threads: ThreadInfo[] = [];
  for (const tid of ids) {
    const thread = readThread(files, `${procRoot}/${tid}/status`, Number(tid));
    if (thread.kind === 'error') return thread;
    if (thread.kind === 'found') threads.push(thread.thread);
  }
  return { kind: 'found', threads, more, hidden };
}

function readThread(
  files: CgroupFiles,
  path: string,
  tid: number,
): { readonly kind: 'found'; readonly thread: ThreadInfo } | Gone | CgroupFailure {
  const text = files.read(path);
  // ESRCH: it ended between open and read.
  if (typeof text !== 'string') return text.kind === 'error' && text.errno === 'ESRCH' ? GONE : text;
  const name = /^Name:\t(.*)$/m.exec(text)?.[1] ?? '';
  const pid = /^Tgid:\t(\d+)$/m.exec(text)?.[1];
  const list = /^Cpus_allowed_list:\t(.*)$/m.exec(text)?.[1];
  if (pid === undefined || list === undefined) return malformed(path, text, 'Tgid and Cpus_allowed_list are expected');
  try {
    return { kind: 'found', thread: { tid, pid: Number(pid), name, allowed: parseCpuList(list) } };
  } catch (error) {
    if (!(error instanceof CpuListError)) throw error;
    return malformed(path, list, 'Cpus_allowed_list must be a list like 0-3,8');
  }
}
