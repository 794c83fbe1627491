import { kindOfTask, progressOf, type TaskKind, type TaskSample } from '../../core/audit/sample';

/** One who ran on a CPU: the threads of a container together, a program, or a thread of the kernel. */
export interface Runner {
  /** The id of the container; absent for processes of the host and threads of the kernel. */
  readonly containerId?: string;
  /** The name of the program or thread; of a container that of the thread that ran most. */
  readonly name: string;
  /** Absent for a container. */
  readonly pid?: number;
  readonly kind: TaskKind;
  readonly threads: number;
  readonly ranMs: number;
}

/** The threads that may run on the CPU, up to one moment. */
export interface Reading {
  /** Time since the boot at which it began, in ticks of 10 ms. */
  readonly atTicks: number;
  readonly tasks: readonly TaskSample[];
}

/**
 * Tells who ran on a CPU between the first and the last of several readings, who ran most first. The run of a thread
 * between two readings counts where the later one found it on this CPU: the kernel reports only the last CPU of a
 * thread, so the shorter the time between them the truer. `isKnown`: the containers; a thread of none of them counts as
 * a program.
 */
export function judgeRuns(
  cpu: number,
  readings: readonly Reading[],
  isKnown: (containerId: string) => boolean,
): readonly Runner[] {
  const runners = new Map<
    string,
    { runner: Omit<Runner, 'threads' | 'ranMs'>; tids: Set<number>; ns: number; most: number }
  >();
  let before = new Map<number, TaskSample>();
  let sinceTicks: number | undefined;
  for (const { atTicks, tasks } of readings) {
    for (const task of sinceTicks === undefined ? [] : tasks) {
      const { ranNs } = progressOf(task, before.get(task.tid), sinceTicks!);
      if (ranNs === 0 || task.lastCpu !== cpu) continue;
      const containerId = task.containerIds?.find(isKnown);
      const key = containerId ?? String(task.pid);
      const kind = kindOfTask(task);
      const named = { name: task.name, kind, ...(containerId === undefined ? { pid: task.pid } : { containerId }) };
      const seen = runners.get(key) ?? { runner: named, tids: new Set(), ns: 0, most: 0 };
      seen.tids.add(task.tid);
      seen.ns += ranNs;
      if (ranNs > seen.most) Object.assign(seen, { runner: named, most: ranNs });
      runners.set(key, seen);
    }
    before = new Map(tasks.map((task) => [task.tid, task]));
    sinceTicks = atTicks;
  }
  return [...runners.values()]
    .sort((a, b) => b.ns - a.ns)
    .map(({ runner, tids, ns }) => ({ ...runner, threads: tids.size, ranMs: Math.round(ns / 1e4) / 100 }));
}
