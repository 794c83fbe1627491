import { judgeAudit } from '../../../src/core/audit/judge-audit';
import type { AuditSample, ExclusiveOwner, TaskSample } from '../../../src/core/audit/sample';
import { parseCpuList } from '../../../src/core/cpuset';

const cpus = parseCpuList;
const owner: ExclusiveOwner = { pod: 'shop/db', containers: ['app'], containerIds: ['c1'], cpus: cpus('2-3') };
const task = (
  tid: number,
  fields: Partial<Omit<TaskSample, 'allowed'>> & { readonly allowed?: string },
): TaskSample => ({
  pid: tid,
  tid,
  name: `task-${tid}`,
  isKernelThread: false,
  lastCpu: 0,
  runNs: 0,
  waitNs: 0,
  preemptions: 0,
  ...fields,
  allowed: cpus(fields.allowed ?? '0-3'),
});
const sample = (fields: Partial<AuditSample>): AuditSample => ({
  ...{ tasks: [], irqs: [], interrupts: [], softirqs: [], stealMs: new Map() },
  ...fields,
});
const judge = (before: Partial<AuditSample>, after: Partial<AuditSample>) =>
  judgeAudit([owner], sample(before), sample(after))[0]!;
const shown = (audit: ReturnType<typeof judge>) =>
  audit.foreign.map(
    ({ name, kind, threads, cpus: on, ran, ranMs }) =>
      `${name} ${kind} ${threads} on ${on.toString()} ${ran ? `ran ${ranMs}` : 'may'}`,
  );

test('threads that may not run there, and those of the owner, are no foreign ones', () => {
  const tasks = [task(1, { allowed: '0-1', runNs: 9e6 }), task(2, { containerId: 'c1', lastCpu: 2, runNs: 9e6 })];
  expect(judge({}, { tasks }).foreign).toEqual([]);
});

test('a thread ran there when it was last seen there and its time has grown', () => {
  const before = [task(1, { runNs: 1e6 }), task(2, { runNs: 1e6 }), task(3, { runNs: 1e6 })];
  const after = [
    task(1, { runNs: 5e6, lastCpu: 2 }),
    task(2, { runNs: 1e6, lastCpu: 2 }), // slept
    task(3, { runNs: 9e6, lastCpu: 1 }), // elsewhere
    task(4, { runNs: 2e6, lastCpu: 3, containerId: 'c9' }), // began meanwhile, in another container
  ];
  expect(shown(judge({ tasks: before }, { tasks: after }))).toEqual([
    'task-1 process 1 on 2-3 ran 4',
    'task-4 process 1 on 2-3 ran 2',
    'task-2 process 1 on 2-3 may',
    'task-3 process 1 on 2-3 may',
  ]);
});

test('another thread with the number of one that ended counts from zero', () => {
  const before = [task(1, { runNs: 9e6 }), task(2, { pid: 7, runNs: 1e6 })];
  const after = [task(1, { runNs: 2e6, lastCpu: 2 }), task(2, { pid: 8, runNs: 3e6, lastCpu: 2 })];
  expect(shown(judge({ tasks: before }, { tasks: after }))).toEqual([
    'task-2 process 1 on 2-3 ran 3',
    'task-1 process 1 on 2-3 ran 2',
  ]);
});

test('threads of a process are one entry, with all CPUs of the owner that one of them may use', () => {
  const after = [
    task(10, { pid: 10, name: 'app', allowed: '2', lastCpu: 2, runNs: 1e6 }),
    task(11, { pid: 10, allowed: '3', lastCpu: 3, runNs: 2e6 }),
    task(12, { pid: 10, allowed: '0-1', lastCpu: 0, runNs: 4e6 }),
  ];
  expect(shown(judge({}, { tasks: after }))).toEqual(['app process 2 on 2-3 ran 3']);
});

test('a thread of the kernel for one CPU is bound, another one is not', () => {
  const after = [
    task(20, { isKernelThread: true, allowed: '2', lastCpu: 2, runNs: 1e6 }),
    task(21, { isKernelThread: true, allowed: '0-3', lastCpu: 2, runNs: 2e6 }),
  ];
  expect(shown(judge({}, { tasks: after }))).toEqual(['task-21 kernel 1 on 2-3 ran 2', 'task-20 bound 1 on 2 ran 1']);
});

test('interrupts: sent there, allowed there, or handled there all the same; others are left out', () => {
  const counts = (...of: (readonly [number, number])[]) => new Map(of);
  const { irqs } = judge(
    { interrupts: [{ name: '24', source: 'eth0', counts: counts([2, 100], [0, 5]) }] },
    {
      irqs: [
        { irq: 24, allowed: cpus('0-3'), effective: cpus('2') },
        { irq: 25, allowed: cpus('3'), effective: cpus('0') },
        { irq: 26, allowed: cpus('2') },
        { irq: 27, allowed: cpus('0-1') },
        { irq: 28, allowed: cpus('0-1') },
      ],
      interrupts: [
        { name: '24', source: 'eth0', counts: counts([2, 107], [0, 9]) },
        { name: '28', source: 'nvme', counts: counts([3, 4]) },
      ],
    },
  );
  expect(
    irqs.map(({ irq, source, cpus: on, isEffective, count }) => [irq, source, on.toString(), isEffective, count]),
  ).toEqual([
    [24, 'eth0', '2-3', true, 7],
    [25, '', '3', false, 0],
    [26, '', '2', true, 0],
    [28, 'nvme', '', false, 4],
  ]);
});

test('softirqs of its CPUs, most first', () => {
  const of = (name: string, ...counts: (readonly [number, number])[]) => ({
    name,
    source: '',
    counts: new Map(counts),
  });
  const { softirqs } = judge(
    { softirqs: [of('TIMER', [2, 10], [0, 10]), of('NET_RX', [3, 1])] },
    { softirqs: [of('TIMER', [2, 12], [0, 99]), of('NET_RX', [3, 8]), of('BLOCK', [0, 5])] },
  );
  expect(softirqs).toEqual([
    { name: 'NET_RX', count: 7 },
    { name: 'TIMER', count: 2 },
  ]);
});

test('time that the owner did not get', () => {
  const own = { containerId: 'c1', lastCpu: 2 };
  const audit = judge(
    {
      tasks: [task(1, { ...own, runNs: 1e6, waitNs: 1e6, preemptions: 3 })],
      stealMs: new Map([
        [2, 10],
        [0, 5],
      ]),
    },
    {
      tasks: [
        task(1, { ...own, runNs: 6e6, waitNs: 3e6, preemptions: 10 }),
        task(2, { ...own, runNs: 2e6, waitNs: 1e6, preemptions: 1 }),
      ],
      stealMs: new Map([
        [2, 40],
        [3, 10],
        [0, 500],
      ]),
    },
  );
  expect(audit.stolen).toEqual({ ranMs: 7, waitedMs: 3, preemptions: 8, stealMs: 40 });
});
