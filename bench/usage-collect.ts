/**
 * CPU time of one round of the state collector over 200 containers, beside the bare reading of the same files, and as a
 * part of one CPU at an interval of 10 s. Cgroups and processes are real ones, made and removed here; needs root. Every
 * second container has two processes, every second one a quota, and a tenth own CPUs, so that each of their threads is
 * read.
 *
 * Alternatives take turns: compare ratios, not runs. Fails above 1 % of a CPU, but for --quick.
 */
import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { pino } from 'pino';
import { StateCollector } from '../src/app/qos/state-collector';
import { CpuSet } from '../src/core/cpuset';
import { NodeModel } from '../src/core/model/node-model';
import { NO_OPTIONS } from '../src/core/model/settings';
import { buildTopology } from '../src/core/topology';
import { openCgroups } from '../src/host';
import { KernelCgroups } from '../test/support/container-cgroups-on-kernel';
import { contextOf } from '../test/support/daemon-context';
import { type Cost, costOf, readBare } from './cost';
import { median, printMachine, printTable } from './nri/figures';

const CONTAINERS = 200;
const ROUNDS = process.argv.includes('--quick') ? 5 : 40;
const WARM_UP = 5;
const INTERVAL_MS = 10_000;
const MOST_PERCENT = 1;
const ROOT = '/sys/fs/cgroup';

interface BenchContainer {
  readonly id: string;
  readonly path: string;
  readonly pids: readonly number[];
  readonly hasQuota: boolean;
  readonly hasOwnCpus: boolean;
}

void main();

async function main(): Promise<void> {
  const cgroups = new KernelCgroups(`/cpusetd-bench-usage-${process.pid}`);
  try {
    const containers: BenchContainer[] = [];
    for (let i = 0; i < CONTAINERS; i++) containers.push(await makeContainer(cgroups, i));
    await measure(containers);
  } finally {
    await cgroups.remove();
  }
}

async function makeContainer(cgroups: KernelCgroups, i: number): Promise<BenchContainer> {
  const id = `c${i}`;
  const path = cgroups.make(id, '0-1');
  const hasQuota = i % 2 === 0;
  if (hasQuota)
    if (openCgroups({ cgroupRoot: ROOT }).version === 1) cgroups.write(path, 'cpu', 'cpu.cfs_quota_us', '50000');
    else cgroups.write(path, 'cpu', 'cpu.max', '50000 100000');
  const pids: number[] = [];
  for (let process = 0; process <= i % 2; process++) pids.push((await cgroups.run(path, 'sleep', '100000')).pid!);
  return { id, path, pids, hasQuota, hasOwnCpus: i % 10 === 0 };
}

async function measure(containers: readonly BenchContainer[]): Promise<void> {
  const collector = createCollector(containers);
  const files = listFiles(containers);
  const buffer = Buffer.alloc(64 * 1024);
  const [bare, rounds]: [Cost[], Cost[]] = [[], []];
  const turns = monitorEventLoopDelay({ resolution: 1 });
  for (let round = -WARM_UP; round < ROUNDS; round++) {
    const bareCost = await costOf(() => files.forEach((path) => readBare(path, buffer)));
    await nextTurn(); // that of the bare reading is over
    turns.enable();
    const roundCost = await costOf(() => collector.round());
    turns.disable();
    if (round < 0) {
      turns.reset();
      continue;
    }
    bare.push(bareCost);
    rounds.push(roundCost);
  }
  const found = collector.latest?.metrics.get('container_cpu_total_usage')?.length;
  if (found !== CONTAINERS) throw new Error(`${CONTAINERS} containers are expected, and ${found ?? 0} were measured`);

  printMachine();
  const processes = containers.reduce((sum, { pids }) => sum + pids.length, 0);
  const percentOf = (costs: readonly Cost[]): number => (100 * median(costs.map(({ cpuMs }) => cpuMs))) / INTERVAL_MS;
  const row = (costs: readonly Cost[]) => ({
    'CPU ms p50': median(costs.map(({ cpuMs }) => cpuMs)),
    'CPU ms most': Math.max(...costs.map(({ cpuMs }) => cpuMs)),
    'wall ms p50': median(costs.map(({ wallMs }) => wallMs)),
    '% of a CPU at 10 s': percentOf(costs),
  });
  printTable(`One round: ${CONTAINERS} containers, ${processes} processes, ${files.length} files`, {
    'bare reading of the same files': row(bare),
    'a round of the collector': row(rounds),
  });
  const ms = (ns: number): string => (ns / 1e6 - 1).toFixed(1);
  console.log(
    `ratio of the CPU time ${(percentOf(rounds) / percentOf(bare)).toFixed(2)}; ` +
      `turns of the event loop p50 ${ms(turns.percentile(50))} p99 ${ms(turns.percentile(99))} longest ${ms(turns.max)} ms`,
  );
  if (percentOf(rounds) > MOST_PERCENT && !process.argv.includes('--quick')) {
    console.error(`FAILED: more than ${MOST_PERCENT} % of a CPU`);
    process.exitCode = 1;
  }
}

/** The files that a round reads. */
function listFiles(containers: readonly BenchContainer[]): readonly string[] {
  const isV1 = openCgroups({ cgroupRoot: ROOT }).version === 1;
  const files = ['stat', '1/net/dev', 'diskstats', 'loadavg', 'meminfo'].map((name) => `/proc/${name}`);
  for (const { path, pids, hasQuota, hasOwnCpus } of containers) {
    const v1 = [
      ...['cpuacct/*/cpuacct.usage', 'cpu/*/cpu.cfs_quota_us', 'cpu/*/cpu.cfs_period_us', 'cpu/*/cpu.shares'],
      ...['memory/*/memory.usage_in_bytes', 'memory/*/memory.stat'],
      `cpuset/*/${hasOwnCpus ? 'tasks' : 'cgroup.procs'}`,
      ...(hasQuota ? ['cpu/*/cpu.stat'] : []),
    ];
    const v2 = ['cpu.stat', 'cpu.max', 'cpu.weight', 'memory.current', 'memory.stat'].map((name) => `*/${name}`);
    const names = isV1 ? v1 : [...v2, `*/${hasOwnCpus ? 'cgroup.threads' : 'cgroup.procs'}`];
    files.push(...names.map((name) => `${ROOT}/${name.replace('*/', `${path}/`)}`.replaceAll('//', '/')));
    files.push(...pids.map((pid) => `/proc/${pid}/schedstat`));
  }
  return files;
}

function createCollector(containers: readonly BenchContainer[]): StateCollector {
  const cpus = Array.from({ length: 256 }, (_, id) => ({ id, core: id, socket: 0, numaNode: 0, uncoreCache: 0 }));
  const reserved = CpuSet.of([0]);
  const model = new NodeModel(buildTopology({ cpus }), {
    cpuManagerPolicy: 'static',
    options: NO_OPTIONS,
    reserved,
    minSharedCpus: 1,
    onInsufficientCpu: 'refuse',
    liftCpuQuota: false,
  });
  for (const [i, { id, path, hasOwnCpus }] of containers.entries()) {
    const names = { podUid: `u-${id}`, podNamespace: 'bench', podName: id, containerName: 'app' };
    model.apply({
      kind: 'put-pod',
      pod: {
        sandboxId: `s-${id}`,
        uid: names.podUid,
        namespace: 'bench',
        name: id,
        annotations: {},
        cgroupParent: '',
        stopped: false,
      },
    });
    if (hasOwnCpus)
      model.apply({
        kind: 'put-assignment',
        assignment: {
          ...names,
          kind: 'static',
          cpus: CpuSet.of([i + 1]),
          mems: CpuSet.empty,
          requested: 1,
          containerId: id,
          quotaLifted: false,
          rules: { policy: 'static', options: [], reserved },
          because: 'bench',
          since: '',
        },
      });
    model.apply({
      kind: 'put-container',
      container: {
        id,
        sandboxId: `s-${id}`,
        podUid: names.podUid,
        name: 'app',
        cgroupsPath: path,
        phase: 'running',
        resources: {},
        placement: hasOwnCpus ? 'exclusive' : 'shared',
        entitledCpus: hasOwnCpus ? 1 : 0,
        freshAssignment: false,
        because: 'bench',
      },
    });
  }
  const log = pino({ level: 'warn' });
  const config = { cgroupRoot: ROOT, sysfsRoot: '/sys' };
  return new StateCollector({
    context: contextOf({ model, cgroups: openCgroups({ cgroupRoot: ROOT }), log, config }),
    intervalMs: INTERVAL_MS,
    interfaces: readFileSync('/proc/net/dev', 'utf8').match(/\b(eth\d+|lo)(?=:)/g) ?? [],
    pods: { hasElasticResources: () => true, isStatic: () => false },
    onMetrics: [],
  });
}
