// One refresh of `cpusetd top` on a full node: 500 containers with CPUs of their own on 1,024 CPUs, each with a process
// in a cgroup of the real kernel, and N threads of others (first argument, 5000) that may run anywhere and sleep. CPU
// time and time of a refresh, and the same as a part of one CPU at the interval of 2 s. Needs root, python3, and CPUs 0
// and 1. Beside: the same threads, read by `ps`.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { ContainerStatus, Status } from '../src/admin/model/status';
import { TopMeter } from '../src/cli/top/meter';
import { CpuSet } from '../src/core/cpuset';
import { KernelCgroups } from '../test/support/container-cgroups-on-kernel';
import { costOf } from './cost';
import { median, printMachine, printTable } from './nri/figures';

const CONTAINERS = 500;
const ROUNDS = process.argv.includes('--quick') ? 3 : 20;
const PER_PROCESS = 100;
const INTERVAL_MS = 2_000;
const SLEEPERS = `
import threading, time
threading.stack_size(65536)
for _ in range(${PER_PROCESS - 1}): threading.Thread(target=time.sleep, args=(1e6,), daemon=True).start()
print('ready', flush=True)
time.sleep(1e6)`;

const idOf = (i: number): string => i.toString(16).padStart(64, '0');

/** The owners have all CPUs but the first 24: two each. */
function statusOf(): Status {
  const containers = Array.from({ length: CONTAINERS }, (_, i) => ({
    id: idOf(i),
    podUid: `u${i}`,
    namespace: 'bench',
    pod: `p${i}`,
    container: 'app',
    kind: 'static',
    placement: 'exclusive',
    verdict: { kind: 'kept', reason: '', since: '' },
    promise: { cpus: CpuSet.of([24 + 2 * i, 25 + 2 * i]), mems: CpuSet.empty },
  })) as unknown as ContainerStatus[];
  return { node: { online: CpuSet.range(0, 1023) } as Status['node'], containers, idle: [] };
}

async function measure(threads: number): Promise<void> {
  const meter = new TopMeter({ cgroupRoot: '/sys/fs/cgroup' });
  const status = statusOf();
  const first = await costOf(async () => {
    await meter.read(status);
  });
  const costs = [];
  let measured = 0;
  for (let round = 0; round < ROUNDS; round++)
    costs.push(
      await costOf(async () => {
        const { containers } = await meter.read(status);
        measured = containers.filter(({ usedPercent }) => usedPercent !== undefined).length;
      }),
    );
  if (measured !== CONTAINERS) throw new Error(`${CONTAINERS} containers are expected, and ${measured} were measured`);
  const ps = await costOf(() => void execFileSync('ps', ['-eLo', 'pid,tid,comm,psr,cgroup'], { maxBuffer: 1e9 }));
  printMachine();
  const cpu = median(costs.map(({ cpuMs }) => cpuMs));
  printTable(`One refresh: ${CONTAINERS} containers, and ${threads} threads of others`, {
    'the first, which finds the cgroups': { 'CPU ms p50': first.cpuMs, 'wall ms p50': first.wallMs },
    'each other one': {
      'CPU ms p50': cpu,
      'CPU ms most': Math.max(...costs.map(({ cpuMs }) => cpuMs)),
      'wall ms p50': median(costs.map(({ wallMs }) => wallMs)),
      '% of a CPU at 2 s': (100 * cpu) / INTERVAL_MS,
    },
    'ps -eL': { 'wall ms p50': ps.wallMs },
  });
}

async function main(): Promise<void> {
  const threads = Number(process.argv.slice(2).find((each) => /^\d+$/.test(each)) ?? 5000);
  const cgroups = new KernelCgroups(`/cpusetd-bench-top-${process.pid}`);
  const sleepers = Array.from({ length: Math.ceil(threads / PER_PROCESS) }, () =>
    spawn('python3', ['-c', SLEEPERS], { stdio: ['ignore', 'pipe', 'inherit'] }),
  );
  try {
    await Promise.all(sleepers.map(({ stdout }) => once(stdout, 'data')));
    for (let i = 0; i < CONTAINERS; i++) await cgroups.run(cgroups.make(idOf(i), '0-1'), 'sleep', '100000');
    await measure(threads);
  } finally {
    for (const child of sleepers) child.kill('SIGKILL');
    await cgroups.remove();
  }
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
