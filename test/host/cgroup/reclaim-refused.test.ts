import { reclaimTasks } from '../../../src/host/cgroup/reclaim-tasks';
import type { CgroupFiles } from '../../../src/host/cgroup/cgroup-file';

const hierarchies = { version: 1 as const, cpusetRoot: '/cpuset', cpuRoot: '/cpu' };

/** A container whose cpuset is empty, and whose processes are 1, 2 and 3 elsewhere. */
function reclaim(refused: Readonly<Record<string, string>>) {
  const moved: string[] = [];
  const files = {
    readLines: (path: string) => ({ lines: path.startsWith('/cpuset') ? [] : ['1', '2', '3'], more: false }),
    write: (_path: string, pid: string) => {
      const errno = refused[pid];
      if (errno !== undefined) return { kind: 'refused', errno, because: errno };
      moved.push(pid);
      return { kind: 'ok', changed: true };
    },
  } as unknown as CgroupFiles;
  const outcome = reclaimTasks(files, hierarchies as never, { path: '/c', cpuPath: '/c' });
  return { moved, outcome };
}

test('a process that the kernel does not move keeps no other from being moved, and is told', () => {
  const { moved, outcome } = reclaim({ '1': 'EBUSY' });
  expect(moved).toEqual(['2', '3']);
  expect(outcome).toMatchObject({ kind: 'refused', errno: 'EBUSY' });
});

test('a process that has ended meanwhile is no failure', () => {
  expect(reclaim({ '2': 'ESRCH' })).toEqual({ moved: ['1', '3'], outcome: { kind: 'ok', changed: true } });
});
