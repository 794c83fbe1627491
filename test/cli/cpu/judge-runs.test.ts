import { judgeRuns, type Reading } from '../../../src/cli/cpu/judge-runs';
import type { TaskSample } from '../../../src/core/audit/sample';
import { CpuSet } from '../../../src/core/cpuset';

const task = (tid: number, given: Partial<TaskSample>): TaskSample => ({
  pid: tid,
  tid,
  name: `t${tid}`,
  isKernelThread: false,
  isFixed: false,
  allowed: CpuSet.of([3]),
  lastCpu: 3,
  startTicks: 1,
  runNs: 0,
  waitNs: 0,
  preemptions: 0,
  ...given,
});
const reading = (atTicks: number, ...tasks: readonly TaskSample[]): Reading => ({ atTicks, tasks });
const isKnown = (id: string): boolean => id === 'db';
const ran = (...readings: readonly Reading[]) =>
  judgeRuns(3, readings, isKnown).map(({ name, containerId, threads, ranMs }) => [containerId ?? name, threads, ranMs]);

test('threads of a container count together, programs for themselves, who ran most is first', () => {
  expect(
    ran(
      reading(100, task(1, { containerIds: ['db'] }), task(2, { containerIds: ['db'] }), task(3, {})),
      reading(
        200,
        task(1, { containerIds: ['db'], runNs: 2e6 }),
        task(2, { containerIds: ['db'], runNs: 1e6 }),
        task(3, { runNs: 5e6 }),
      ),
    ),
  ).toEqual([
    ['t3', 1, 5],
    ['db', 2, 3],
  ]);
});

test('a run counts where the later reading found the thread', () => {
  expect(
    ran(
      reading(100, task(1, {})),
      reading(150, task(1, { runNs: 4e6, lastCpu: 2 })),
      reading(200, task(1, { runNs: 5e6, lastCpu: 3 })),
    ),
  ).toEqual([['t1', 1, 1]]);
});

test('a thread that began meanwhile counts from its start; one that is not known from before does not count', () => {
  expect(
    ran(reading(100), reading(200, task(1, { startTicks: 150, runNs: 3e6 }), task(2, { startTicks: 50, runNs: 9e6 }))),
  ).toEqual([['t1', 1, 3]]);
});

test('nothing is told by one reading, and a thread that did not run is not named', () => {
  expect(ran(reading(100, task(1, { runNs: 9e6 })))).toEqual([]);
  expect(ran(reading(100, task(1, { runNs: 9e6 })), reading(200, task(1, { runNs: 9e6 })))).toEqual([]);
});
