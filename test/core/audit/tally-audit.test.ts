import type { ExclusiveOwner, TaskSample } from '../../../src/core/audit/sample';
import { AuditTally } from '../../../src/core/audit/tally-audit';
import { parseCpuList } from '../../../src/core/cpuset';

const owner = (id: string, cpus: string): ExclusiveOwner => ({
  pod: `shop/${id}`,
  containers: ['app'],
  containerIds: [id],
  cpus: parseCpuList(cpus),
});
const task = (tid: number, fields: Partial<TaskSample>): TaskSample => ({
  pid: tid,
  tid,
  name: `task-${tid}`,
  isKernelThread: false,
  isFixed: false,
  allowed: parseCpuList('0-7'),
  lastCpu: 0,
  startTicks: 10,
  runNs: 0,
  waitNs: 0,
  preemptions: 0,
  ...fields,
});
const owners = [owner('a', '2-3'), owner('b', '4')];

/** The tally of a second reading, at tick 200, after a first one at tick 100. */
function tally(before: readonly TaskSample[], after: readonly TaskSample[]) {
  const first = new AuditTally(owners, 100);
  for (const each of before) first.add(each);
  const second = new AuditTally(owners, 200, first.memory());
  for (const each of after) second.add(each);
  return second;
}

test('the first reading is compared with nothing', () => {
  const first = new AuditTally(owners, 100);
  first.add(task(1, { runNs: 5e9, lastCpu: 2 }));
  expect(first.totals()).toMatchObject({ foreignTasks: { process: 0 }, foreignNs: { process: 0 }, ownerWaitNs: 0 });
  expect(first.cpus.toString()).toBe('2-4');
});

test('threads that ran and were found on CPUs of another owner, by kind', () => {
  const kernel = { isKernelThread: true, lastCpu: 4 };
  const { foreignTasks, foreignNs } = tally(
    [task(1, {}), task(2, { runNs: 7 }), task(3, {}), task(6, { containerIds: ['a'] })],
    [
      task(1, { runNs: 5, lastCpu: 2 }),
      task(2, { runNs: 7, lastCpu: 2 }), // slept
      task(3, { runNs: 9, lastCpu: 7 }), // elsewhere
      task(4, { runNs: 3, lastCpu: 3, startTicks: 150 }), // began meanwhile
      task(5, { runNs: 8, lastCpu: 3 }), // unknown before
      task(6, { runNs: 6, lastCpu: 4, containerIds: ['a'] }), // one owner on the CPU of the other
      task(7, { ...kernel, runNs: 2, startTicks: 150 }),
      task(8, { ...kernel, runNs: 1, startTicks: 150, isFixed: true, name: 'kworker/4:1' }),
    ],
  ).totals();
  expect(foreignTasks).toEqual({ process: 3, kernel: 1, workqueue: 0, irq: 0, bound: 1 });
  expect(foreignNs).toEqual({ process: 14, kernel: 2, workqueue: 0, irq: 0, bound: 1 });
});

test('time that threads of owners waited; they are not foreign on their own CPUs', () => {
  const own = { containerIds: ['outer', 'a'], lastCpu: 2 };
  const totals = tally([task(1, { ...own, waitNs: 10 })], [task(1, { ...own, waitNs: 25, runNs: 9 })]).totals();
  expect(totals).toMatchObject({ ownerWaitNs: 15, foreignTasks: { process: 0 } });
});

test('a thread with the number of another that ended counts from its start', () => {
  const after = [task(1, { startTicks: 150, runNs: 4, lastCpu: 2 })];
  expect(tally([task(1, { runNs: 3 })], after).totals().foreignNs.process).toBe(4);
});

test('the load of others as a part of the time of the CPUs, for each container of an owner; none before a second reading', () => {
  expect(new AuditTally(owners, 100).loads().size).toBe(0);
  const second = tally(
    [task(1, {}), task(2, {})],
    [task(1, { runNs: 2e8, lastCpu: 2 }), task(2, { runNs: 1e8, lastCpu: 3, name: 'small' })],
  );
  expect(Object.fromEntries(second.loads())).toEqual({
    a: { percent: 15, threads: 2, most: 'task-1' }, // 0.3 s of two CPUs in 1 s
    b: { percent: 0, threads: 0, most: '' },
  });
});

test('the load is 100 % at most: a thread counts with all of its time where it ran last', () => {
  const { percent } = tally([task(1, {})], [task(1, { runNs: 5e9, lastCpu: 4 })])
    .loads()
    .get('b')!;
  expect(percent).toBe(100);
});
