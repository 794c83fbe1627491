import { formatAudit } from '../../../src/cli/audit/format-audit';
import { isIntruder } from '../../../src/core/audit/judge-audit';
import { PLAIN } from '../../../src/cli/format/terminal';
import { widthOf } from '../../../src/cli/format/width';
import type { ForeignTask, OwnerAudit } from '../../../src/core/audit/judge-audit';
import { parseCpuList } from '../../../src/core/cpuset';

const thread = (name: string, kind: ForeignTask['kind'], ranMs: number): ForeignTask => ({
  pid: 4711,
  name,
  kind,
  threads: 1,
  cpus: parseCpuList('2'),
  ran: ranMs > 0,
  ranMs,
});
const audit: OwnerAudit = {
  owner: { pod: 'shop/db-7f9c', containers: ['postgres'], containerIds: ['c1'], cpus: parseCpuList('2-3') },
  foreign: [
    { ...thread('a-very-long-name', 'process', 1234.4), threads: 3 },
    thread('rcu_preempt', 'kernel', 0.02),
    thread('kworker/2:0-events', 'bound', 3.14),
    thread('sshd', 'process', 0),
  ],
  irqs: [
    {
      irq: 24,
      source: 'PCI-MSIX-0000:00:03.0 0-edge eth0-rx-0',
      cpus: parseCpuList('2'),
      isEffective: true,
      count: 7,
      isFixed: false,
    },
    { irq: 25, source: 'nvme0q1', cpus: parseCpuList('3'), isEffective: true, count: 0, isFixed: false },
    { irq: 26, source: 'nvme0q2', cpus: parseCpuList('3'), isEffective: false, count: 0, isFixed: true },
  ],
  softirqs: [{ name: 'NET_RX', count: 7 }],
  kernelInterrupts: [{ name: 'LOC', count: 12 }],
  stolen: { ranMs: 4990, waitedMs: 10.4, preemptions: 1, stealMs: 30 },
};

test('who was there and can be kept off, with the means', () => {
  expect(formatAudit([audit], { seconds: 5, all: false })).toBe(`shop/db-7f9c postgres: 2-3
  its threads ran 4990 ms in 5 s, waited 10 ms for a CPU, and made room 1 time; the hypervisor took 30 ms
  softirqs on its CPUs: NET_RX 7
WHAT           WHO                                        CPUS  SEEN         REMARK
process        a-very-long-name (4711), 3 threads         2     ran 1234 ms  -
kernel thread  rcu_preempt (4711)                         2     ran <0.1 ms  has an affinity that can be set
interrupt      24 PCI-MSIX-0000:00:03.0 0-edge eth0-rx-0  2     7 times      -
`);
});

test('all: also who may be there, who can not leave, and interrupts of the kernel', () => {
  const lines = formatAudit([audit], { seconds: 5, all: true }).split('\n');
  expect(lines).toContain('  interrupts of the kernel: LOC 12');
  expect(lines.map((line) => line.replaceAll(/ {2,}/g, '|'))).toEqual(
    expect.arrayContaining([
      'kernel thread|kworker/2:0-events (4711)|2|ran 3.1 ms|of this CPU, stays',
      'process|sshd (4711)|2|may run|-',
      'interrupt|25 nvme0q1|3|may come|-',
      'interrupt|26 nvme0q2|3|may be sent|the kernel refuses to move it',
    ]),
  );
});

test.each([80, 100, 160])('no line is wider than a terminal of %d columns', (width) => {
  const lines = formatAudit([audit], { seconds: 5, all: true, terminal: { ...PLAIN, width } }).split('\n');
  expect(Math.max(...lines.map(widthOf))).toBeLessThanOrEqual(width);
});

test('names can not control the terminal', () => {
  const evil = { ...audit, foreign: [thread('x\u001b[2Jy', 'process', 1)] };
  expect(formatAudit([evil], { seconds: 1, all: false })).toContain('x\\u001b[2Jy');
});

test('an interrupt that can not be moved is shown, and is no intruder', () => {
  const fixed = { ...audit.irqs[0]!, isFixed: true };
  const text = formatAudit([{ ...audit, foreign: [], irqs: [fixed] }], { seconds: 1, all: false });
  expect(text).toMatch(/eth0-rx-0 +2 +7 times +the kernel refuses to move it/);
  expect(isIntruder(fixed)).toBe(false);
});

test('nobody else', () => {
  const text = formatAudit([{ ...audit, foreign: [], irqs: [] }], { seconds: 1, all: false });
  expect(text).toMatch(/\n {2}nobody else was seen on its CPUs\n$/);
  expect(formatAudit([], { seconds: 1, all: false })).toBe('No container had CPUs for itself all the time.\n');
});

test('threads of the kernel that are bound, and who only may run there, are no intruders', () => {
  expect([...audit.foreign, ...audit.irqs].map(isIntruder)).toEqual([true, true, false, false, true, false, false]);
});
