/**
 * Time until all rows say that the promise is kept after a change that moves a whole pool, and processor time of the
 * longest turn of the event loop meanwhile. Cgroups are those of the real kernel, made and removed here; needs root and
 * CPUs 0 and 1. With --files they are plain files instead: making tens of thousands of cgroups takes the kernel
 * minutes. Arguments: numbers of shared containers (500), --files, --quick.
 */
import { mkdirSync, mkdtempSync, rmdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { pino } from 'pino';
import { PostCommit } from '../src/app/transaction/post-commit';
import { DriftWatch } from '../src/app/reconcile/drift-watch';
import { ShownModel } from '../src/app/status/show-status';
import { Transactor } from '../src/app/transaction/transactor';
import { VerdictStore } from '../src/app/status/verdict-store';
import { CpuSet, parseCpuList } from '../src/core/cpuset';
import { NodeModel } from '../src/core/model/node-model';
import { NO_OPTIONS } from '../src/core/model/settings';
import { buildTopology } from '../src/core/topology';
import { openCgroups } from '../src/host';
import { planChanges } from '../src/core/transition';
import { contextOf, reconcilerOf } from '../test/support/daemon-context';
import { percentile } from '../test/support/percentile';

const sizes = process.argv
  .slice(2)
  .filter((argument) => /^\d+$/.test(argument))
  .map(Number);
const ROUNDS = process.argv.includes('--quick') ? 2 : 10;
const parent = `/cpusetd-read-back-${process.pid}`;
const files = process.argv.includes('--files') ? mkdtempSync(join(tmpdir(), 'cpusetd-read-back-')) : undefined;
if (files !== undefined) {
  writeFileSync(`${files}/cgroup.controllers`, 'cpuset cpu\n');
  writeFileSync(`${files}/cpuset.cpus.effective`, '0-2\n');
}
/** The machine, and the CPUs that the pool loses and gets back: a plain file keeps the end of a longer list. */
const [machine, own] = files === undefined ? ['0-1', '1'] : ['0-2', '2'];
const cgroupRoot = files ?? '/sys/fs/cgroup';
const cgroups = openCgroups({ cgroupRoot });
const root = cgroups.version === 1 ? `${cgroupRoot}/cpuset` : cgroupRoot;

void main();

/** Stands for the kernel where there is none: a cpuset applies as it was written. */
function fill(folder: string): void {
  if (files === undefined) return;
  writeFileSync(`${folder}/cgroup.procs`, '');
  for (const name of ['cpus', 'mems']) {
    writeFileSync(`${folder}/cpuset.${name}`, '');
    symlinkSync(`cpuset.${name}`, `${folder}/cpuset.${name}.effective`);
  }
}

async function main(): Promise<void> {
  for (const size of sizes.length > 0 ? sizes : [500]) {
    const dirs = Array.from({ length: size }, (_, i) => `${parent}/c${i}`);
    const made: string[] = [];
    try {
      for (const dir of [parent, ...dirs]) {
        mkdirSync(root + dir);
        made.push(root + dir);
        fill(root + dir);
        writeFileSync(`${root}${dir}/cpuset.cpus`, machine);
        writeFileSync(`${root}${dir}/cpuset.mems`, '0');
        if (dir === parent && cgroups.version !== 1) writeFileSync(`${root}${dir}/cgroup.subtree_control`, '+cpuset');
      }
      await measure(dirs);
    } finally {
      if (files !== undefined) rmSync(`${files}${parent}`, { recursive: true });
      else for (const folder of made.reverse()) rmdirSync(folder);
    }
  }
  if (files !== undefined) rmSync(files, { recursive: true });
}

async function measure(dirs: readonly string[]): Promise<void> {
  const node = createNode(dirs);
  await node.readBack();
  const moves: number[] = [];
  const kept: number[] = [];
  const cpu: number[] = [];
  const turns: number[] = [];
  for (let round = -2; round < ROUNDS; round++) {
    const start = performance.now();
    node.changePool(round % 2 === 0);
    const answered = performance.now();
    if (node.countKept() > 0) throw new Error('a row says kept, and nobody has read it back');
    const longest = await node.readBack();
    const doneMs = node.endedAtMs - answered;
    if (node.countKept() !== dirs.length) throw new Error('a row does not say kept');
    if (round < 0) continue; // warms up
    moves.push(answered - start);
    kept.push(doneMs);
    cpu.push(node.cpuMs);
    turns.push(longest);
  }
  node.end();
  const at = (values: number[], share: number): string => percentile(values, share).toFixed(1);
  console.log(
    `${dirs.length} shared containers, ${files ? 'plain files' : `cgroup version ${cgroups.version}`}: the change ${at(moves, 0.5)} ms; all rows kept ${at(kept, 0.5)} ms (worst ${at(kept, 1)}) after it, with ${at(cpu, 0.5)} ms of processor time; longest turn ${at(turns, 0.5)} ms (worst ${at(turns, 1)})`,
  );
}

function createNode(dirs: readonly string[]) {
  const log = pino({ level: 'silent' });
  const now = (): string => new Date().toISOString();
  const { signal } = new AbortController();
  const cpus = parseCpuList(machine)
    .toArray()
    .map((id) => ({ id, core: id, socket: 0, numaNode: 0, uncoreCache: 0 }));
  const settings = { cpuManagerPolicy: 'static', options: NO_OPTIONS, reserved: parseCpuList('0'), minSharedCpus: 1, onInsufficientCpu: 'refuse', liftCpuQuota: false } as const; // prettier-ignore
  const model = new NodeModel(buildTopology({ cpus }), settings);
  const promise = { cpus: parseCpuList(machine), mems: CpuSet.empty };
  dirs.forEach((dir, i) => {
    const container = { id: `c${i}`, sandboxId: 'pod', podUid: `uid${i}`, name: `c${i}`, cgroupsPath: dir, phase: 'running', resources: {}, placement: 'shared', entitledCpus: 0, promise, applied: promise, runtimeRecord: promise, freshAssignment: false, because: 'bench' } as const; // prettier-ignore
    model.apply({ kind: 'put-container', container });
  });
  const verdicts = new VerdictStore();
  const context = contextOf({ model, cgroups, log, now, signal });
  const { events, faults } = context;
  const transactor = new Transactor({
    model,
    save: () => undefined,
    mover: context.cgroups,
    now,
    log,
    observer: { onTransaction: (done) => postCommit.begin(done) },
  });
  let isDone = false;
  let endedAtMs = 0;
  let cpuMs = 0;
  let begunAt = process.cpuUsage();
  const onSwept = (): void => {
    const last = `c${dirs.length - 1}`;
    if (verdicts.get(last)?.basis.promise !== model.containers.get(last)?.promise) return;
    if (!isDone) {
      endedAtMs = performance.now();
      const { user, system } = process.cpuUsage(begunAt);
      cpuMs = (user + system) / 1_000;
    }
    isDone = true;
  };
  events.on('changed', 'measuring', onSwept);
  const reconciler = reconcilerOf(context, { transactor, verdicts });
  const watch = new DriftWatch({ context, reconciler });
  const postCommit = new PostCommit({ events, widenPod: () => undefined, watch: (ids) => watch.follow(ids), check: (ids) => reconciler.check(ids), readBack: (ids, urgency) => reconciler.readBack(ids, urgency), faults, signal }); // prettier-ignore
  const shown = new ShownModel({ model, verdicts, now });
  reconciler.readBack();
  return {
    changePool: (smaller: boolean): void =>
      transactor.change((draft) => {
        const assignment = { podUid: 'own', podNamespace: '', podName: '', containerName: 'c', kind: 'static', cpus: parseCpuList(own), mems: CpuSet.empty, requested: 1, containerId: null, quotaLifted: false, rules: { policy: 'static', options: [], reserved: parseCpuList('0') }, because: '', since: now() } as const; // prettier-ignore
        draft.put(smaller ? { kind: 'put-assignment', assignment } : { kind: 'drop-assignment', key: 'own/c' });
        return planChanges(draft);
      }),
    countKept: () => shown.containers().filter(({ verdict }) => verdict.kind === 'kept').length,
    /**
     * Waits until all is read back, and until the kernel's notices of our writes have been compared; returns the
     * processor time of the longest turn, ms.
     */
    readBack: async (): Promise<number> => {
      isDone = false;
      begunAt = process.cpuUsage();
      let longest = 0;
      for (let after = 0; !isDone || after < dirs.length / 32 + 10; after += Number(isDone)) {
        const start = process.cpuUsage();
        await nextTurn();
        const { user, system } = process.cpuUsage(start);
        longest = Math.max(longest, (user + system) / 1_000);
      }
      return longest;
    },
    get cpuMs() {
      return cpuMs;
    },
    get endedAtMs() {
      return endedAtMs;
    },
    end: () => watch.close(),
  };
}
