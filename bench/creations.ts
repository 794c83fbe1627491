/**
 * CreateContainer of a container with exclusive CPUs on a real containerd where creations follow one another: the
 * shared containers that had to leave have stale records in the runtime, and the writing of these competes with the
 * next creation.
 *
 * Method: containerd and runc of Debian in a private root, a kubelet's part played over CRI, the bundled daemon beside
 * it. A creation is a new pod and its container (the time is that of this call alone); it is removed after the pause,
 * and the next follows after another: so each comes one pause after the last change of the pool. Beside no and 100
 * shared containers, in turns, and each with both bundles in turns where `--before` names a second. Each try checks
 * that the shared containers were off the CPUs when the call came back. The bare writing of as many cpusets, by which
 * no creation beside them can be less, is measured in between. After the last creation it is calm, until the runtime's
 * records are all right. Needs root; CPU 0 is reserved, all others are given out. Compare the ratios.
 *
 * Arguments: --quick, --bundle FILE, --before FILE.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { readOnline } from '../src/host';
import {
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

const { quick, bundle: bundleFile, before: beforeFile } = readArguments();
const counts = quick ? [0, 3] : [0, 100];
const cycles = quick ? 1 : 3;
const paces = quick
  ? [{ pauseMs: 200, tries: 2 }]
  : [
      { pauseMs: 200, tries: 15 },
      { pauseMs: 1_500, tries: 8 },
    ];
const BARE_ROUNDS = 10;
/** Creations that come first, with code still to compile and records that are right. */
const WARM_UP = 2;
const machine = readOnline('/sys').toString();
const exclusiveCpus = readOnline('/sys').size - 1;
const PATIENCE_MS = 60_000;

interface Visit {
  readonly count: number;
  readonly pauseMs: number;
  readonly version: string;
}

const nameOf = ({ count, pauseMs, version }: Visit): string => `${version}, ${pauseMs} ms apart, ${count} shared`;

async function main(): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'nri-'));
  const bundles = new Map([['now', takeBundle(join(dir), bundleFile)]]);
  if (beforeFile !== undefined) bundles.set('before', takeBundle(mkdtempSync(join(dir, 'before-')), beforeFile));
  const runtime = await startRuntime({ suite: 'trixie', nri: true });
  const times = new Map<string, number[]>();
  const calmMs = new Map<string, number[]>();
  const bareMs: number[] = [];
  try {
    const { containerd, runc } = runtime.packages;
    printMachine();
    console.log(`containerd ${containerd!}, runc ${runc!}`);
    for (let cycle = 0; cycle < cycles; cycle++) {
      for (const count of counts) {
        const pod = await runtime.kubelet.runPod({
          containers: Array.from({ length: count }, (_, i) => ({ name: `web-${i}`, cpuRequestMilli: 10 })),
        });
        const shared = await startAll(pod, count);
        for (const { pauseMs, tries } of paces) {
          const inTurn = [...bundles];
          if (cycle % 2 === 1) inTurn.reverse();
          for (const [version, bundle] of inTurn) {
            const name = nameOf({ count, pauseMs, version });
            const visit = await measure({ runtime, shared, bundle, dir, pauseMs, tries });
            times.set(name, [...(times.get(name) ?? []), ...visit.times]);
            calmMs.set(name, [...(calmMs.get(name) ?? []), visit.calmMs]);
            console.log(
              `${name}: ${median(visit.times).toFixed(1)} ms, records right after ${(visit.calmMs / 1000).toFixed(1)} s`,
            );
          }
        }
        if (count > 0) bareMs.push(await timeBareWrites(shared));
        await pod.remove();
      }
    }
    report(times, calmMs, [...bundles.keys()], median(bareMs));
  } finally {
    await runtime.stop();
    rmSync(dir, { recursive: true });
  }
}

async function startAll(pod: RunningPod, count: number): Promise<RunningContainer[]> {
  const shared: RunningContainer[] = [];
  while (shared.length < count) shared.push(await pod.startContainer(`web-${shared.length}`));
  return shared;
}

interface Ground {
  readonly runtime: Runtime;
  readonly shared: readonly RunningContainer[];
  readonly bundle: string;
  readonly dir: string;
  readonly pauseMs: number;
  readonly tries: number;
}

/**
 * Creations one after the other with one daemon, in milliseconds, and how long afterwards until all records are right.
 */
async function measure({ runtime, shared, bundle, dir, pauseMs, tries }: Ground) {
  const args = ['--reserved-cpus', '0'];
  const daemon = startDaemon({ runtime, args, bundle, stateDir: join(dir, 'state') });
  const times: number[] = [];
  try {
    await daemon.waitForLog('synchronized with the runtime');
    await waitForRecords(shared, machine);
    for (let i = -WARM_UP; i < tries; i++) {
      const pod = await runtime.kubelet.runPod({ containers: [{ name: 'db', cpus: exclusiveCpus }] });
      const ms = await timeMs(() => pod.createContainer('db'));
      const late = shared.filter((container) => container.cpuset().cpus !== '0').map(({ name }) => name);
      if (late.length > 0) throw new Error(`${late.join(', ')} had not left the CPUs`);
      if (i >= 0) times.push(ms);
      await delay(pauseMs);
      await pod.remove();
      if (i < tries - 1) await delay(pauseMs);
    }
    const last = await runtime.kubelet.runPod({ containers: [{ name: 'db', cpus: exclusiveCpus }] });
    await last.createContainer('db');
    const calmMs = await timeMs(() => waitForRecords(shared, '0')).catch((error: unknown) => {
      console.log(String(error));
      return Infinity;
    });
    await last.remove();
    return { times, calmMs };
  } finally {
    await daemon.dispose();
  }
}

/** Milliseconds, the median, without other load. Leaves them as they were. */
async function timeBareWrites(shared: readonly RunningContainer[]): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < BARE_ROUNDS; round++)
    times.push(await timeMs(() => shared.forEach((each) => each.writeCpuset(round % 2 === 0 ? '0' : machine))));
  return median(times);
}

/** Until kernel and runtime have these CPUs for all of them. */
async function waitForRecords(shared: readonly RunningContainer[], cpus: string): Promise<void> {
  const left = [...shared];
  const areRight = async (): Promise<boolean> => {
    for (let last = left.at(-1); last; left.pop(), last = left.at(-1)) {
      if (last.cpuset().cpus !== cpus) return false;
      if ((await last.status()).resources?.linux?.cpusetCpus !== cpus) return false;
    }
    return true;
  };
  await waitUntil("the runtime's records to be right", areRight, PATIENCE_MS).catch(async (error: unknown) => {
    const wrong = left.at(-1)!;
    const record = (await wrong.status()).resources?.linux?.cpusetCpus;
    throw new Error(`${left.length} left: ${wrong.name} has ${wrong.cpuset().cpus}, its record says ${record}`, {
      cause: error,
    });
  });
}

function report(
  times: ReadonlyMap<string, readonly number[]>,
  calmMs: ReadonlyMap<string, readonly number[]>,
  versions: readonly string[],
  bareMs: number,
): void {
  const [none, most] = [counts[0]!, counts.at(-1)!];
  const timesOf = (visit: Visit): readonly number[] => times.get(nameOf(visit)) ?? [];
  const rows = paces.flatMap(({ pauseMs }) =>
    versions.flatMap((version) =>
      counts.map((count) => {
        const visit = { count, pauseMs, version };
        const p50 = median(timesOf(visit));
        const row = {
          p50,
          p90: percentile(timesOf(visit), 0.9),
          min: percentile(timesOf(visit), 0),
          'times none': count === none ? '' : p50 / median(timesOf({ ...visit, count: none })),
          'records right after, s': Math.max(...(calmMs.get(nameOf(visit)) ?? [])) / 1000,
        };
        return [nameOf(visit), row] as const;
      }),
    ),
  );
  printTable('CreateContainer of an exclusive container, ms', Object.fromEntries(rows));
  console.log(`\nwriting ${most} cpusets and nothing else: ${bareMs.toFixed(1)} ms`);
  for (const { pauseMs } of paces)
    for (const version of versions) {
      const alone = median(timesOf({ count: none, pauseMs, version }));
      const ratio = median(timesOf({ count: most, pauseMs, version })) / alone;
      console.log(
        `${version}, ${pauseMs} ms apart: beside ${most} shared containers ${ratio.toFixed(2)} times the time beside none (target: at most 1.15; with the bare writing alone ${((alone + bareMs) / alone).toFixed(2)})`,
      );
    }
}

void main();
