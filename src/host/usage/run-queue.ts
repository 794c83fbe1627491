import type { CgroupFiles } from '../cgroup/cgroup-file';
import type { Hierarchies } from '../cgroup/find-hierarchies';
import { listIds } from '../cgroup/list-ids';
import type { TimeSlices } from '../proc/time-slices';

/** Most threads or processes of one container, and most cgroups below it. */
const MAX_TASKS = 1000;
const MAX_DIRECTORIES = 100;

export interface RunQueueParts {
  readonly files: CgroupFiles;
  readonly hierarchies: Hierarchies;
  readonly procRoot: string;
}

/** `threads`: every thread. `leaders`: the first thread of each process, as cAdvisor counts. */
export type RunQueueScope = 'threads' | 'leaders';

/**
 * The time that the tasks of a container were ready and had no CPU. The kernel keeps it for each thread and forgets it
 * with the thread, so the sum can fall. Undefined where it would be a part of the sum only: tasks are hidden by a PID
 * namespace, or there are more than `maxTasks`.
 */
export async function readRunQueue(
  { files, hierarchies: { version, cpusetRoot }, procRoot }: RunQueueParts,
  {
    cgroupPath,
    scope,
    maxTasks,
  }: { readonly cgroupPath: string; readonly scope: RunQueueScope; readonly maxTasks: number },
  slices: TimeSlices,
): Promise<{ readonly ns: number; readonly tasks: number } | undefined> {
  const list = listIds(files, `${cpusetRoot}${cgroupPath}`, {
    listFile: scope === 'leaders' ? 'cgroup.procs' : version === 1 ? 'tasks' : 'cgroup.threads',
    maxIds: Math.min(maxTasks, MAX_TASKS),
    maxDirectories: MAX_DIRECTORIES,
  });
  if (list.kind !== 'found' || list.more || list.hidden > 0) return undefined;
  let ns = 0;
  for (const id of list.ids) {
    if (slices.isOver) await slices.rest();
    const text = files.read(`${procRoot}/${id}/schedstat`);
    // Time on a CPU, time in the run queue, number of times on a CPU; see Documentation/scheduler/sched-stats.rst of
    // Linux.
    const match = typeof text === 'string' ? /^\d+ (\d{1,20}) \d+$/.exec(text) : undefined;
    ns += Number(match?.[1] ?? 0); // 0: it has ended meanwhile
  }
  return { ns, tasks: list.ids.length };
}
