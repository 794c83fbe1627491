// One audit in the background (--audit-period): CPU time, time of its own, and the longest turn of the event loop, with
// 200 owners of exclusive CPUs on a machine with N threads (first argument, 5000), which sleep. `all`: each thread may
// run on exclusive CPUs, and is read in full. `none`: no thread may, as where services and shared containers are kept
// off; each is looked at. Beside: the same threads, read by `ps`.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { pino } from 'pino';
import type { AuditFigures } from '../src/admin/metrics/audit-metrics';
import type { AssignmentStatus, TopologyStatus } from '../src/admin/model/status';
import { Alarms } from '../src/app/alarms/alarms';
import { Faults } from '../src/app/alarms/faults';
import { AuditJob } from '../src/app/audit/audit-job';
import type { Config } from '../src/app/config';
import { CpuSet } from '../src/core/cpuset';

const OWNERS = 200;
const ROUNDS = 20;
const PER_PROCESS = 100;
const SLEEPERS = `
import threading, time, sys
threading.stack_size(65536)
for _ in range(${PER_PROCESS - 1}): threading.Thread(target=time.sleep, args=(1e6,), daemon=True).start()
print('ready', flush=True)
time.sleep(1e6)`;

function jobWith(firstCpu: number): { readonly job: AuditJob; readonly figures: AuditFigures[] } {
  const log = pino({ level: 'error' });
  const alarms = new Alarms({ log, now: () => '', onChange: () => undefined });
  const figures: AuditFigures[] = [];
  const assignments = Array.from({ length: OWNERS }, (_, i) => ({
    podUid: `u${i}`,
    namespace: 'bench',
    pod: `p${i}`,
    container: 'app',
    kind: 'static',
    scope: 'container',
    containerId: i.toString(16).padStart(64, '0'),
    cpus: CpuSet.of([firstCpu + i]),
  })) as unknown as AssignmentStatus[];
  const topology = { online: CpuSet.range(0, 1023) } as TopologyStatus['topology'];
  const job = new AuditJob({
    context: { config: { auditPeriodMs: 1_000 } as Config, faults: new Faults({ log, alarms }), log },
    assigned: () => ({ topology, assignments }),
    metrics: { note: (each) => void figures.push(each) },
    onForeign: () => undefined,
  });
  return { job, figures };
}

async function measure(name: string, firstCpu: number): Promise<void> {
  const { job, figures } = jobWith(firstCpu);
  await job.look(); // warm
  await job.look();
  figures.length = 0;
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const before = process.cpuUsage();
  for (let round = 0; round < ROUNDS; round++) await job.look();
  const { user, system } = process.cpuUsage(before);
  delay.disable();
  const busy = figures.map(({ busyMs }) => busyMs).sort((a, b) => a - b);
  const ms = (value: number): string => value.toFixed(1).padStart(7);
  console.log(
    `${name.padEnd(6)} CPU ${ms((user + system) / 1000 / ROUNDS)} ms an audit, own time p50 ${ms(busy[ROUNDS / 2]!)} most ${ms(busy.at(-1)!)}, ` +
      `turns p99 ${ms(delay.percentile(99) / 1e6 - 1)} longest ${ms(delay.max / 1e6 - 1)} ms`,
  );
}

async function main(): Promise<void> {
  const threads = Number(process.argv[2] ?? 5000);
  const sleepers = Array.from({ length: Math.ceil(threads / PER_PROCESS) }, () =>
    spawn('python3', ['-c', SLEEPERS], { stdio: ['ignore', 'pipe', 'inherit'] }),
  );
  try {
    await Promise.all(sleepers.map(({ stdout }) => once(stdout, 'data')));
    console.log(`${OWNERS} owners, ${threads} threads in ${sleepers.length} processes and those of the machine`);
    await measure('all', 0);
    await measure('none', 512);
    const began = performance.now();
    execFileSync('ps', ['-eLo', 'pid,tid,comm,psr,cgroup'], { maxBuffer: 1e9 });
    console.log(`ps -eL ${(performance.now() - began).toFixed(0)} ms`);
  } finally {
    for (const child of sleepers) child.kill('SIGKILL');
  }
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
