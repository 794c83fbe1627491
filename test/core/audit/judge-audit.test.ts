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
  isFixed: false,
  lastCpu: 0,
  startTicks: 10,
  runNs: 0,
  waitNs: 0,
  preemptions: 0,
  ...fields,
  allowed: cpus(fields.allowed ?? '0-3'),
});
/** At tick 100; threads began at tick 10 unless they say otherwise. */
const sample = (fields: Partial<AuditSample>): AuditSample => ({
  atTicks: 100,
  tasks: [],
  irqs: [],
  interrupts: [],
  softirqs: [],
  stealMs: new Map(),
  ...fields,
});
const judge = (
  before: Partial<AuditSample>,
  after: Partial<AuditSample>,
  ...between: readonly (readonly TaskSample[])[]
) => judgeAudit([owner], { before: sample(before), between, after: sample(after) })[0]!;
const shown = (audit: ReturnType<typeof judge>) =>
  audit.foreign.map(
    ({ name, kind, threads, cpus: on, ran, ranMs }) =>
      `${name} ${kind} ${threads} on ${on.toString()} ${ran ? `ran ${ranMs}` : 'may'}`,
  );

test('threads that may not run there, and those of the owner, are no foreign ones', () => {
  const tasks = [task(1, { allowed: '0-1', runNs: 9e6 }), task(2, { containerIds: ['c1'], lastCpu: 2, runNs: 9e6 })];
  expect(judge({}, { tasks }).foreign).toEqual([]);
});

test('a thread ran there when it was last seen there and its time has grown', () => {
  const before = [task(1, { runNs: 1e6 }), task(2, { runNs: 1e6 }), task(3, { runNs: 1e6 })];
  const after = [
    task(1, { runNs: 5e6, lastCpu: 2 }),
    task(2, { runNs: 1e6, lastCpu: 2 }), // slept
    task(3, { runNs: 9e6, lastCpu: 1 }), // elsewhere
    task(4, { runNs: 2e6, lastCpu: 3, startTicks: 150, containerIds: ['c9'] }), // began meanwhile, in another container
    task(5, { runNs: 8e6, lastCpu: 3 }), // could not run there before: nobody knows what is new of its time
  ];
  expect(shown(judge({ tasks: before }, { tasks: after }))).toEqual([
    'task-1 process 1 on 2-3 ran 4',
    'task-4 process 1 on 2-3 ran 2',
    'task-2 process 1 on 2-3 may',
    'task-3 process 1 on 2-3 may',
    'task-5 process 1 on 2-3 may',
  ]);
});

test('a thread that came and went between the samples has run there where a reading in between found it', () => {
  const before = [task(1, { runNs: 1e6 })];
  const between = [
    [task(1, { runNs: 3e6, lastCpu: 2 }), task(2, { runNs: 5e6, lastCpu: 3, startTicks: 120 })],
    [task(1, { runNs: 4e6, lastCpu: 0 })],
  ];
  const after = [task(1, { runNs: 9e6, lastCpu: 3 })];
  // Of the first thread: 2 ms on CPU 2, 1 ms elsewhere, 5 ms on CPU 3.
  expect(shown(judge({ tasks: before }, { tasks: after }, ...between))).toEqual([
    'task-1 process 1 on 2-3 ran 7',
    'task-2 process 1 on 2-3 ran 5',
  ]);
});

test('a container within the container of the owner is the owner, the one around it is not', () => {
  const after = [
    task(1, { containerIds: ['c1', 'inner'], lastCpu: 2, runNs: 1e6 }),
    task(2, { containerIds: ['outer'], lastCpu: 2, runNs: 1e6 }),
  ];
  expect(judge({}, { tasks: after }).foreign.map(({ pid }) => pid)).toEqual([2]);
});

test('another thread with the number of one that ended counts from zero', () => {
  const before = [task(1, { runNs: 9e6 }), task(2, { runNs: 1e6 })];
  const after = [
    task(1, { startTicks: 101, runNs: 2e6, lastCpu: 2 }),
    task(2, { startTicks: 102, runNs: 3e6, lastCpu: 2 }),
  ];
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
  const tasks = after.map((each) => ({ ...each, runNs: 0 }));
  expect(shown(judge({ tasks }, { tasks: after }))).toEqual(['app process 2 on 2-3 ran 3']);
});

test.each`
  name                          | fields                                                                               | want
  ${'a program'}                | ${{ name: 'app' }}                                                                   | ${'process'}
  ${'a program like a kthread'} | ${{ name: 'kworker/u8:1' }}                                                          | ${'process'}
  ${'an affinity to set'}       | ${{ isKernelThread: true, name: 'rcu_preempt', allowed: '2' }}                       | ${'kernel'}
  ${'an unbound worker'}        | ${{ isKernelThread: true, isFixed: true, name: 'kworker/u8:1-events_unbound' }}      | ${'workqueue'}
  ${'a rescuer'}                | ${{ isKernelThread: true, isFixed: true, name: 'kworker/R-netns' }}                  | ${'workqueue'}
  ${'the thread of an IRQ'}     | ${{ isKernelThread: true, isFixed: true, name: 'irq/24-nvme' }}                      | ${'irq'}
  ${'a worker of a CPU'}        | ${{ isKernelThread: true, isFixed: true, name: 'kworker/2:0-events', allowed: '2' }} | ${'bound'}
  ${'another one for a CPU'}    | ${{ isKernelThread: true, isFixed: true, name: 'migration/2', allowed: '2' }}        | ${'bound'}
`('kind of a thread: $name', ({ fields, want }: { fields: Parameters<typeof task>[1]; want: string }) => {
  expect(judge({}, { tasks: [task(20, fields)] }).foreign.map(({ kind }) => kind)).toEqual([want]);
});

test('interrupts: sent there, allowed there, or handled there all the same; others are left out', () => {
  const counts = (...pairs: (readonly [number, number])[]) => new Map(pairs);
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

test('softirqs of its CPUs and interrupts of the kernel, most first', () => {
  const interruptOf = (name: string, ...counts: (readonly [number, number])[]) => ({
    name,
    source: '',
    counts: new Map(counts),
  });
  const { softirqs, kernelInterrupts } = judge(
    {
      softirqs: [interruptOf('TIMER', [2, 10], [0, 10]), interruptOf('NET_RX', [3, 1])],
      interrupts: [interruptOf('LOC', [2, 5])],
    },
    {
      softirqs: [interruptOf('TIMER', [2, 12], [0, 99]), interruptOf('NET_RX', [3, 8]), interruptOf('BLOCK', [0, 5])],
      interrupts: [interruptOf('LOC', [2, 9]), interruptOf('24', [2, 3])],
    },
  );
  expect(kernelInterrupts).toEqual([{ name: 'LOC', count: 4 }]);
  expect(softirqs).toEqual([
    { name: 'NET_RX', count: 7 },
    { name: 'TIMER', count: 2 },
  ]);
});

test('time that the owner did not get', () => {
  const own = { containerIds: ['c1'], lastCpu: 2 };
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
        task(2, { ...own, startTicks: 150, runNs: 2e6, waitNs: 1e6, preemptions: 1 }),
      ],
      stealMs: new Map([
        [2, 40],
        [3, 10], // came online meanwhile
        [0, 500],
      ]),
    },
  );
  expect(audit.stolen).toEqual({ ranMs: 7, waitedMs: 3, preemptions: 8, stealMs: 30 });
});
