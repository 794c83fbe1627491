import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import type { AuditFigures } from '../../../src/admin/metrics/audit-metrics';
import type { AssignmentStatus, ForeignLoad, TopologyStatus } from '../../../src/admin/model/status';
import { Alarms } from '../../../src/app/alarms/alarms';
import { Faults } from '../../../src/app/alarms/faults';
import { AuditJob } from '../../../src/app/audit/audit-job';
import type { Config } from '../../../src/app/config';
import { parseCpuList } from '../../../src/core/cpuset';
import { useTempDirs } from '../../state/support/temp-dir';

const makeDir = useTempDirs();
const id = 'a'.repeat(64);

/** The /proc of a machine with four CPUs. */
class FakeProc {
  readonly root = makeDir();

  constructor() {
    this.task(2, { flags: 0x20_8040, allowed: '0-3' });
    this.at(100, { device: 0, local: 0, softirq: 0, steal: 0 });
  }

  task(
    pid: number,
    { flags = 0, allowed = '0-3', lastCpu = 0, runNs = 0, waitNs = 0, start = 10, cgroup = '0::/\n' },
  ): void {
    const dir = join(this.root, `${pid}/task/${pid}`);
    mkdirSync(dir, { recursive: true });
    const zeros = (count: number): string => Array<number>(count).fill(0).join(' ');
    const stat = `${pid} (t${pid}) S 1 0 0 0 -1 ${flags} ${zeros(12)} ${start} ${zeros(16)} ${lastCpu} 0`;
    writeFileSync(join(this.root, `${pid}/stat`), stat);
    writeFileSync(join(this.root, `${pid}/cgroup`), cgroup);
    writeFileSync(join(dir, 'stat'), stat);
    writeFileSync(join(dir, 'status'), `Cpus_allowed_list:\t${allowed}\n`);
    writeFileSync(join(dir, 'schedstat'), `${runNs} ${waitNs} 1\n`);
  }

  /** Sets the counts of CPU 3; the other CPUs have a thousand times as many. Steal is in ticks. */
  at(seconds: number, counts: { device: number; local: number; softirq: number; steal: number }): void {
    const others = (count: number): string =>
      Array<number>(3)
        .fill(count * 1000)
        .join(' ');
    const row = (name: string, count: number): string => `${name}: ${others(count)} ${count} x\n`;
    writeFileSync(join(this.root, 'uptime'), `${seconds}.00 1.00\n`);
    const header = ' CPU0 CPU1 CPU2 CPU3\n';
    writeFileSync(
      join(this.root, 'interrupts'),
      header + row('24', counts.device) + row('LOC', counts.local) + 'ERR: 9\n',
    );
    writeFileSync(join(this.root, 'softirqs'), header + row('TIMER', counts.softirq));
    const cpu = (cpuId: number, steal: number): string => `cpu${cpuId} 1 1 1 1 1 1 1 ${steal} 0 0\n`;
    writeFileSync(join(this.root, 'stat'), cpu(0, counts.steal * 1000) + cpu(3, counts.steal));
  }
}

function jobOn(proc: FakeProc, cpus: { list: string }) {
  const noted: AuditFigures[] = [];
  const warned: string[] = [];
  const log = pino(
    { level: 'warn' },
    { write: (line: string) => void warned.push((JSON.parse(line) as { msg: string }).msg) },
  );
  const alarms = new Alarms({ log, now: () => '', onChange: () => undefined });
  const assigned = () => ({
    topology: { online: parseCpuList('0-3') } as TopologyStatus['topology'],
    assignments: (cpus.list === ''
      ? []
      : [
          {
            podUid: 'u',
            namespace: 'shop',
            pod: 'db',
            container: 'app',
            containerId: id,
            kind: 'static',
            scope: 'container',
            cpus: parseCpuList(cpus.list),
          },
        ]) as unknown as AssignmentStatus[],
  });
  const context = { config: { auditPeriodMs: 5 } as Config, faults: new Faults({ log, alarms }), log };
  const metrics = { note: (figures: AuditFigures) => void noted.push(figures) };
  const loads: ReadonlyMap<string, ForeignLoad>[] = [];
  const onForeign = (each: ReadonlyMap<string, ForeignLoad>) => void loads.push(each);
  return { job: new AuditJob({ context, assigned, metrics, onForeign, procRoot: proc.root }), noted, loads, warned };
}

test('the load of others on the CPUs of a container, once it is known what was before', async () => {
  const proc = new FakeProc();
  const { job, loads } = jobOn(proc, { list: '2-3' });
  proc.task(50, { runNs: 1e9, lastCpu: 3 });
  proc.task(60, { allowed: '2-3', lastCpu: 2, cgroup: `0::/kubepods/${id}\n`, runNs: 1e9 });
  await job.look();
  proc.task(50, { runNs: 1.5e9, lastCpu: 3 });
  proc.task(60, { allowed: '2-3', lastCpu: 2, cgroup: `0::/kubepods/${id}\n`, runNs: 2e9 });
  proc.at(110, { device: 0, local: 0, softirq: 0, steal: 0 }); // 10 s later: 0.5 s of 20 s
  await job.look();
  expect(loads[0]!.size).toBe(0);
  expect(loads[1]!.get(id)).toMatchObject({ percent: 2.5, threads: 1, most: 't50' });
});

test('the second audit tells what was on exclusive CPUs since the first', async () => {
  const proc = new FakeProc();
  const { job, noted } = jobOn(proc, { list: '3' });
  const own = { allowed: '3', lastCpu: 3, cgroup: `0::/kubepods/${id}\n` };
  proc.task(50, { runNs: 1e9, lastCpu: 3 });
  proc.task(60, { ...own, runNs: 1e9, waitNs: 1e9 });
  await job.look();
  expect(noted[0]).toMatchObject({ interrupts: { device: 0, kernel: 0, softirq: 0 }, stealMs: 0 });
  expect(noted[0]!.tasks).toMatchObject({ foreignTasks: { process: 0 }, ownerWaitNs: 0 });

  proc.task(50, { runNs: 3e9, lastCpu: 3 });
  proc.task(60, { ...own, runNs: 9e9, waitNs: 2e9 });
  proc.at(110, { device: 5, local: 7, softirq: 9, steal: 4 });
  await job.look();
  expect(noted[1]).toMatchObject({ interrupts: { device: 5, kernel: 7, softirq: 9 }, stealMs: 40 });
  expect(noted[1]!.tasks).toMatchObject({
    foreignTasks: { process: 1 },
    foreignNs: { process: 2e9 },
    ownerWaitNs: 1e9,
  });
  expect(noted[1]!.busyMs).toBeGreaterThan(0);
});

test('of CPUs that became exclusive in between nothing is told', async () => {
  const proc = new FakeProc();
  const cpus = { list: '2' };
  const { job, noted } = jobOn(proc, cpus);
  proc.task(50, { runNs: 1e9, lastCpu: 3 });
  await job.look();
  cpus.list = '3';
  proc.task(50, { runNs: 3e9, lastCpu: 3 });
  proc.at(110, { device: 5, local: 7, softirq: 9, steal: 4 });
  await job.look();
  expect(noted[1]).toMatchObject({ interrupts: { device: 0 }, stealMs: 0, tasks: { foreignTasks: { process: 0 } } });
});

test('without hostPID interrupts are told, threads are not, and the log says so once', async () => {
  const proc = new FakeProc();
  rmSync(join(proc.root, '2'), { recursive: true });
  const { job, noted, warned } = jobOn(proc, { list: '3' });
  await job.look();
  proc.at(110, { device: 5, local: 0, softirq: 0, steal: 0 });
  await job.look();
  expect(noted.map(({ tasks, interrupts }) => [tasks, interrupts.device])).toEqual([
    [undefined, 0],
    [undefined, 5],
  ]);
  expect(warned).toEqual(['the audit sees no threads, only interrupts and steal time']);
});

test('an audit that fails is a fault, nothing is shown as of now, and the next one is made', async () => {
  const proc = new FakeProc();
  rmSync(join(proc.root, 'softirqs'));
  const { job, noted, loads, warned } = jobOn(proc, { list: '3' });
  const end = new AbortController();
  const running = job.run(end.signal);
  while (warned.length === 0) await new Promise(setImmediate);
  expect(warned).toEqual(['a fault of cpusetd; everything else goes on']);
  expect(loads).toEqual([new Map()]);
  proc.at(110, { device: 5, local: 0, softirq: 0, steal: 0 });
  while (noted.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  end.abort();
  await running;
  expect(noted[0]!.tasks).toBeDefined();
});
