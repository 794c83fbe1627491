import { CpuListError, parseCpuList, type CpuSet } from '../../core/cpuset';
import { GONE, listChildren, malformed, type CgroupFailure, type CgroupFiles, type Gone } from './cgroup-file';
import type { Hierarchies } from './find-hierarchies';

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
      /** Threads of another PID namespace, which the kernel lists as 0: cpusetd runs without the node's PID namespace. */
      readonly hidden: number;
    }
  | Gone
  | CgroupFailure;

export interface ThreadsQuery {
  readonly maxThreads: number;
  /** Mount point of the proc file system. */
  readonly procRoot: string;
}

const MAX_DIRECTORIES = 1000;
/** A thread id has at most 7 digits. */
const BYTES_PER_THREAD = 8;

/** The threads of a cgroup and of the cgroups below it, with their allowed CPUs. Threads that end meanwhile are left out. */
export function listThreads(
  files: CgroupFiles,
  { version, cpusetRoot }: Hierarchies,
  cgroupPath: string,
  { maxThreads, procRoot }: ThreadsQuery,
): ThreadsReading {
  const listFile = version === 1 ? 'tasks' : 'cgroup.threads';
  const threads: ThreadInfo[] = [];
  let hidden = 0;
  let more = false;
  const directories = [`${cpusetRoot}${cgroupPath}`];
  for (let i = 0; i < directories.length && threads.length < maxThreads; i++) {
    const directory = directories[i]!;
    const list = files.readLines(`${directory}/${listFile}`, (maxThreads + 1) * BYTES_PER_THREAD);
    if ('kind' in list) {
      if (i === 0) return list;
      continue; // a child that was removed meanwhile
    }
    more ||= list.more;
    for (const tid of list.lines) {
      if (tid === '0') hidden++;
      else if (threads.length >= maxThreads) more = true;
      else {
        const thread = readThread(files, `${procRoot}/${tid}/status`, Number(tid));
        if (thread.kind === 'error') return thread;
        if (thread.kind === 'found') threads.push(thread.thread);
      }
    }
    if (directories.length < MAX_DIRECTORIES) directories.push(...listChildren(directory));
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
