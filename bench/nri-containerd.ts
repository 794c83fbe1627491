/**
 * CreateContainer of a container with exclusive CPUs on a real containerd, with shared containers running that have to
 * leave these CPUs first.
 *
 * Method: containerd and runc of Debian in a private root, a kubelet's part played over CRI, the bundled daemon beside
 * it; the time is that of the CRI call alone. Three ways in alternation, on the same containers: without cpusetd, with
 * it writing cgroups itself, and with `--cgroup-writes off`, where the answer to the runtime carries an update for each
 * container. Before each try the runtime's records are waited for, which follow in the background. Each try checks
 * that the shared containers were off the CPUs when the call came back. Needs root; CPU 0 is reserved, all others are
 * given out. Compare the ratios between the numbers of containers.
 *
 * Arguments: --quick, --bundle FILE, and the ways that are wanted: without, writes, fallback (all).
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { readOnline } from '../src/host';
import {
  type Daemon,
  type RunningContainer,
  type RunningPod,
  type Runtime,
  startDaemon,
  startRuntime,
  waitUntil,
} from '../test/e2e/rig';
import { percentile } from '../test/support/percentile';
import { readArguments } from './nri/arguments';
import { takeBundle } from './nri/daemon';
import { median, printMachine, printTable, timeMs } from './nri/figures';

const { quick, bundle: bundleFile, isWanted } = readArguments();
const counts = quick ? [0, 3] : [0, 10, 100];
const rounds = quick ? 1 : 4;
const triesPerRound = quick ? 2 : 5;
const machine = readOnline('/sys').toString();
const exclusiveCpus = readOnline('/sys').size - 1;
const PATIENCE_MS = 120_000;
/** Longer than the recorder waits before it begins. */
const QUIET_MS = 400;

const WAYS = { without: undefined, writes: 'on', fallback: 'off' } as const;
type Way = keyof typeof WAYS;
const ways = (Object.keys(WAYS) as Way[]).filter(isWanted);

async function main(): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'nri-'));
  const bundle = takeBundle(dir, bundleFile);
  const runtime = await startRuntime({ suite: 'trixie', nri: true });
  try {
    const { containerd, runc } = runtime.packages;
    printMachine();
    console.log(`containerd ${containerd!}, runc ${runc!}, ${rounds * triesPerRound} tries each`);
    const pod = await runtime.kubelet.runPod({
      containers: Array.from({ length: Math.max(...counts) }, (_, i) => ({ name: `web-${i}`, cpuRequestMilli: 10 })),
    });
    const shared: RunningContainer[] = [];
    const times = new Map<string, number[]>();
    for (const count of counts) {
      await growTo(count, pod, shared);
      for (let round = 0; round < rounds; round++) {
        for (const way of ways) {
          const key = `${way}/${count}`;
          const daemon = await startWay(way, runtime, bundle, dir);
          for (let i = 0; i < triesPerRound; i++) {
            const ms = await measureCreation(runtime, shared, way);
            times.set(key, [...(times.get(key) ?? []), ms]);
          }
          await daemon?.dispose();
        }
      }
    }
    await pod.remove();
    report(times);
  } finally {
    await runtime.stop();
    rmSync(dir, { recursive: true });
  }
}

async function growTo(count: number, pod: RunningPod, shared: RunningContainer[]): Promise<void> {
  while (shared.length < count) shared.push(await pod.startContainer(`web-${shared.length}`));
}

async function startWay(way: Way, runtime: Runtime, bundle: string, dir: string): Promise<Daemon | undefined> {
  const writes = WAYS[way];
  if (writes === undefined) return undefined;
  const args = ['--reserved-cpus', '0', '--reconcile-period', '1s', '--cgroup-writes', writes];
  const daemon = startDaemon({ runtime, args, bundle, stateDir: join(dir, 'state') });
  await daemon.waitForLog('synchronized with the runtime');
  return daemon;
}

/** One creation, in milliseconds; the pod is removed again. */
async function measureCreation(runtime: Runtime, shared: readonly RunningContainer[], way: Way): Promise<number> {
  const isPinned = way !== 'without';
  if (isPinned) await settle(shared);
  const pod = await runtime.kubelet.runPod({ containers: [{ name: 'db', cpus: exclusiveCpus }] });
  const ms = await timeMs(() => pod.createContainer('db'));
  const late = shared.filter((container) => container.cpuset().cpus !== '0').map(({ name }) => name);
  if (isPinned && late.length > 0) throw new Error(`${way}: ${late.join(', ')} had not left the CPUs`);
  await pod.remove();
  return ms;
}

/** Waits until all have all CPUs, and no update of the runtime is in flight any more, as far as can be seen. */
async function settle(shared: readonly RunningContainer[]): Promise<void> {
  const isStable = async (): Promise<boolean> => {
    if (!(await haveAll(shared))) return false;
    await delay(QUIET_MS);
    return haveAll(shared);
  };
  await waitUntil('the shared containers to have all CPUs', isStable, PATIENCE_MS);
}

/** In the kernel and in the runtime's record. */
async function haveAll(shared: readonly RunningContainer[]): Promise<boolean> {
  for (const container of shared) {
    if (container.cpuset().cpus !== machine) return false;
    if ((await container.status()).resources?.linux?.cpusetCpus !== machine) return false;
  }
  return true;
}

function report(times: ReadonlyMap<string, readonly number[]>): void {
  const each = (way: Way, count: number): readonly number[] => times.get(`${way}/${count}`) ?? [];
  for (const way of ways) {
    const rows = counts.map((count) => [
      `${count} shared containers`,
      {
        p50: median(each(way, count)),
        min: percentile(each(way, count), 0),
        max: percentile(each(way, count), 1),
        'times none': median(each(way, count)) / median(each(way, 0)),
        'times without cpusetd': isWanted('without') ? median(each(way, count)) / median(each('without', count)) : '',
      },
    ]);
    printTable(`CreateContainer of an exclusive container, ${way}, ms`, Object.fromEntries(rows));
  }
  if (!isWanted('writes')) return;
  const most = counts.at(-1)!;
  const ratio = median(each('writes', most)) / median(each('writes', 0));
  console.log(`with ${most} shared containers ${ratio.toFixed(2)} times the time with none (target: at most 1.3)`);
}

void main();
