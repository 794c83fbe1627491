/**
 * Measures a sweep over 500 containers beside the bare reading of the same files. Cgroups are those of the real
 * kernel, made and removed here; needs root. A tenth of the containers are pinned, as their quotas are read too.
 *
 * Alternatives take turns: compare ratios, not runs. Argument: --quick.
 */
import { mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { pino } from 'pino';
import type { Reconciler } from '../src/app/reconcile/reconciler';
import { Transactor } from '../src/app/transaction/transactor';
import { CpuSet, parseCpuList } from '../src/core/cpuset';
import { NodeModel } from '../src/core/model/node-model';
import { NO_OPTIONS } from '../src/core/model/settings';
import { buildTopology } from '../src/core/topology';
import { openCgroups } from '../src/host';
import { contextOf, reconcilerOf } from '../test/support/daemon-context';
import { type Cost, costOf, readBare } from './cost';
import { median } from './nri/figures';

const CONTAINERS = 500;
const PINNED = CONTAINERS / 10;
const ROUNDS = process.argv.includes('--quick') ? 5 : 40;
const parent = `/cpusetd-sweep-${process.pid}`;
const cgroups = openCgroups({ cgroupRoot: '/sys/fs/cgroup' });
const v1 = cgroups.version === 1;
const cpusetRoot = v1 ? '/sys/fs/cgroup/cpuset' : '/sys/fs/cgroup';
const roots = v1 ? [cpusetRoot, '/sys/fs/cgroup/cpu'] : [cpusetRoot];

void main();

async function main(): Promise<void> {
  const made: string[] = [];
  try {
    const dirs = Array.from({ length: CONTAINERS }, (_, i) => `${parent}/c${i}`);
    for (const dir of [parent, ...dirs]) {
      for (const root of roots) {
        mkdirSync(root + dir);
        made.push(root + dir);
      }
      writeFileSync(`${cpusetRoot}${dir}/cpuset.cpus`, '0-1');
      writeFileSync(`${cpusetRoot}${dir}/cpuset.mems`, '0');
      if (dir === parent && !v1) writeFileSync(`${cpusetRoot}${dir}/cgroup.subtree_control`, '+cpuset +cpu');
    }
    await measure(dirs);
  } finally {
    for (const folder of made.reverse()) rmdirSync(folder);
  }
}

async function measure(dirs: readonly string[]): Promise<void> {
  const reconciler = createReconciler(dirs);
  const files = dirs.flatMap(filesOf);
  const buffer = Buffer.alloc(4096);
  const bare: Cost[] = [];
  const sweep: Cost[] = [];
  for (let round = -5; round < ROUNDS; round++) {
    const b = await costOf(() => files.forEach((path) => readBare(path, buffer)));
    const s = await costOf(() => reconciler.round());
    if (round < 0) continue; // warms up
    bare.push(b);
    sweep.push(s);
  }
  console.log(
    `${CONTAINERS} containers, ${PINNED} of them pinned, cgroup version ${cgroups.version}, ${files.length} files`,
  );
  print('bare reading of the same files', bare);
  print('sweep: read, judged, recorded', sweep);
  const ratio = (figure: keyof Cost): string => (medianOf(sweep, figure) / medianOf(bare, figure)).toFixed(2);
  console.log(`ratio at p50: wall ${ratio('wallMs')}, CPU ${ratio('cpuMs')}`);
}

/** The files that the sweep reads of a container, the pod's quota not counted. */
function filesOf(dir: string, i: number): string[] {
  const effective = v1
    ? ['cpuset.effective_cpus', 'cpuset.effective_mems']
    : ['cpuset.cpus.effective', 'cpuset.mems.effective'];
  const quota = v1
    ? ['cpu.cfs_quota_us', 'cpu.cfs_period_us'].map((name) => `/sys/fs/cgroup/cpu${dir}/${name}`)
    : [`${cpusetRoot}${dir}/cpu.max`];
  return [
    ...['cpuset.cpus', 'cpuset.mems', ...effective].map((name) => `${cpusetRoot}${dir}/${name}`),
    ...(i < PINNED ? quota : []),
  ];
}

function createReconciler(dirs: readonly string[]): Reconciler {
  const log = pino({ level: 'silent' });
  const cpus = [0, 1].map((id) => ({ id, core: id, socket: 0, numaNode: 0, uncoreCache: 0 }));
  const model = new NodeModel(buildTopology({ cpus }), {
    cpuManagerPolicy: 'static',
    options: NO_OPTIONS,
    reserved: parseCpuList('0'),
    minSharedCpus: 1,
    onInsufficientCpu: 'refuse',
    liftCpuQuota: false,
  });
  const promise = { cpus: parseCpuList('0-1'), mems: CpuSet.empty };
  dirs.forEach((dir, i) =>
    model.apply({
      kind: 'put-container',
      container: {
        id: `c${i}`,
        sandboxId: 'pod',
        podUid: 'uid',
        name: `c${i}`,
        cgroupsPath: dir,
        phase: 'running',
        resources: {},
        placement: i < PINNED ? 'exclusive' : 'shared',
        entitledCpus: i < PINNED ? 2 : 0,
        promise,
        applied: promise,
        runtimeRecord: promise,
        freshAssignment: false,
        because: 'bench',
      },
    }),
  );
  const now = (): string => new Date().toISOString();
  const transactor = new Transactor({ model, save: () => undefined, mover: { move: () => undefined }, now, log });
  return reconcilerOf(contextOf({ model, cgroups, log, now }), { transactor });
}

function medianOf(costs: readonly Cost[], figure: keyof Cost): number {
  return median(costs.map((cost) => cost[figure]));
}

function print(what: string, costs: readonly Cost[]): void {
  const best = Math.min(...costs.map(({ wallMs }) => wallMs));
  console.log(
    `${what.padEnd(34)} wall p50 ${medianOf(costs, 'wallMs').toFixed(2).padStart(7)} ms (min ${best.toFixed(2)})   CPU p50 ${medianOf(costs, 'cpuMs').toFixed(2).padStart(7)} ms`,
  );
}
