/**
 * Measures the time until the bundled daemon is registered with the runtime, and its memory.
 *
 * Method: from before the spawn until RegisterPlugin has arrived at the runtime's side (this process), with nothing in
 * the environment but PATH and what the unit in deploy/ sets, state directory empty; in alternation with a plugin that
 * does nothing else. The processor time it took until then (all threads, as the scheduler counts it) says the same with
 * less noise of a busy machine. Resident memory is what the kernel counts (VmRSS): idle after start, with admin socket
 * and reconciliation running; then after Synchronize of 500 running containers, with cgroups of the real kernel, and
 * two rounds of reconciliation; and four rounds later, when what the start left behind is collected. The same with an
 * API server that lists their pods, and in turns with the second bundle, if there is one. Beside it, Node with an empty
 * script, and Node with nothing but the two large libraries, the client library of Kubernetes with a watch on as many
 * pods and a gRPC server: the least that a daemon of this kind can have.
 *
 * Arguments: --quick, --bundle FILE, --before FILE, and the parts that are wanted: start, memory (all).
 */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { readOnline } from '../src/host';
import { FakeApiServer } from '../test/support/kube/api-server';
import { percentile } from '../test/support/percentile';
import { readArguments } from './nri/arguments';
import { startDaemon, takeBundle } from './nri/daemon';
import { median, printMachine, printTable } from './nri/figures';
import { DEPLOYED_ENV, PluginProcess, residentMiB } from './nri/plugin-process';
import { makeSharedContainers } from './nri/shared-cgroups';

const { quick, bundle: bundleFile, before, isWanted } = readArguments();
const starts = quick ? 3 : 15;
const known = quick ? 50 : 500;
/** Long enough for two rounds of reconciliation at the default period. */
const settleMs = quick ? 1000 : 21_000;
/** Long enough for four more. */
const longerMs = quick ? 1000 : 40_000;

async function main(): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'nri-'));
  try {
    const bundle = takeBundle(dir, bundleFile);
    printMachine();
    if (isWanted('start')) await measureStart(dir, bundle);
    if (!isWanted('memory')) return;
    const bundles = new Map([['cpusetd', bundle]]);
    if (before !== undefined) bundles.set('before', takeBundle(makeFolder(dir, 'before'), before));
    await measureMemory(dir, bundles);
  } finally {
    rmSync(dir, { recursive: true });
  }
}

interface Starts {
  readonly wallMs: number[];
  readonly cpuMs: number[];
}

async function measureStart(dir: string, bundle: string): Promise<void> {
  const ofDaemon: Starts = { wallMs: [], cpuMs: [] };
  const ofLeast: Starts = { wallMs: [], cpuMs: [] };
  for (let i = 0; i < starts; i++) {
    await measureOne(ofDaemon, startDaemon(makeFolder(dir, `start-${i}`), bundle));
    await measureOne(ofLeast, startLeast(dir));
  }
  printTable(`From spawn to RegisterPlugin, ${starts} starts each, ms`, {
    cpusetd: rowOf(ofDaemon),
    'the least plugin in Node': rowOf(ofLeast),
  });
  console.log(
    `cpusetd is registered after ${Math.round(median(ofDaemon.wallMs))} ms (target: at most 150), ` +
      `${(median(ofDaemon.cpuMs) / median(ofLeast.cpuMs)).toFixed(1)} times the processor time of the least plugin`,
  );
}

async function measureOne({ wallMs, cpuMs }: Starts, starting: Promise<PluginProcess>): Promise<void> {
  const plugin = await starting;
  wallMs.push(await plugin.registeredMs);
  cpuMs.push(plugin.cpuMs());
  await plugin.stop();
}

async function measureMemory(dir: string, bundles: ReadonlyMap<string, string>): Promise<void> {
  const rows = new Map<string, Record<keyof Resident, number[]>>();
  for (let i = 0; i < (quick ? 1 : 2); i++)
    for (const [version, bundle] of bundles)
      for (const withApi of [false, true]) {
        const name = `${version}${withApi ? ' with the API server' : ''}`;
        const { idle, busy, later } = await measureOneLife(makeFolder(dir, `memory-${i}-${name}`), bundle, withApi);
        const row = rows.get(name) ?? { idle: [], busy: [], later: [] };
        rows.set(name, { idle: [...row.idle, idle], busy: [...row.busy, busy], later: [...row.later, later] });
      }
  const table = [...rows].map(([name, { idle, busy, later }]) => [
    name,
    {
      'idle, no container': percentile(idle, 1),
      [`${known} containers known`]: percentile(busy, 1),
      'four rounds later': percentile(later, 1),
    },
  ]);
  printTable(`Resident memory, the most of ${quick ? 1 : 2} runs, MiB`, {
    ...(Object.fromEntries(table) as Record<string, Record<string, number>>),
    'Node with an empty script': { 'idle, no container': await measureEmpty() },
    [`Node with the libraries and ${known} pods`]: { 'four rounds later': await measureLibraries(dir) },
  });
  console.log('target: at most 64 MiB with 500 containers known and the API server');
}

/** In MiB. */
interface Resident {
  readonly idle: number;
  readonly busy: number;
  readonly later: number;
}

/** Resident memory of one daemon. */
async function measureOneLife(dir: string, bundle: string, withApi: boolean): Promise<Resident> {
  const shared = makeSharedContainers(`cpusetd-bench-${process.pid}`, known, readOnline('/sys').toString());
  const api = new FakeApiServer();
  const args: string[] = [];
  if (withApi) {
    await api.start();
    for (const { uid, name, namespace } of shared.pods) api.put('/api/v1/pods', makePod({ uid, name, namespace }));
    writeFileSync(join(dir, 'kubeconfig'), api.kubeconfig);
    args.push('--kubeconfig', join(dir, 'kubeconfig'), '--node-name', 'node');
  }
  const daemon = await startDaemon(dir, bundle, args);
  try {
    await delay(settleMs);
    const idle = daemon.residentMiB();
    await daemon.introduce(shared.pods, shared.containers);
    await delay(settleMs);
    if (withApi && api.openWatches === 0) throw new Error('the pods are not watched');
    const busy = daemon.residentMiB();
    await delay(longerMs);
    return { idle, busy, later: daemon.residentMiB() };
  } finally {
    await daemon.stop();
    await api.stop();
    shared.remove();
  }
}

/** As large as the API server's object of a small pod: most of it says nothing about CPUs. */
function makePod(metadata: { readonly uid: string; readonly name: string; readonly namespace: string }) {
  const labels = Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`app.example.org/label-${i}`, `value-${i}`]));
  const container = {
    name: 'main',
    image: 'registry.example.org/team/app:1.2.3',
    env: Array.from({ length: 30 }, (_, i) => ({ name: `VARIABLE_${i}`, value: `value of ${metadata.name} ${i}` })),
    resources: { requests: { cpu: '10m', memory: '64Mi' } },
  };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...metadata, labels },
    spec: { nodeName: 'node', containers: [container] },
    status: { phase: 'Running', qosClass: 'Burstable' },
  };
}

async function measureEmpty(): Promise<number> {
  return measureNode(['-e', 'setInterval(() => {}, 1000)'], 2_000);
}

async function measureLibraries(dir: string): Promise<number> {
  const api = new FakeApiServer();
  await api.start();
  try {
    for (let i = 0; i < known; i++)
      api.put('/api/v1/pods', makePod({ uid: `uid-${i}`, name: `pod-${i}`, namespace: 'default' }));
    const kubeconfig = join(dir, 'libraries.json');
    writeFileSync(kubeconfig, api.kubeconfig);
    const command = [join(__dirname, 'nri-start-libraries.js'), kubeconfig, join(dir, 'libraries.sock')];
    return await measureNode(command, longerMs, () => {
      if (api.openWatches === 0) throw new Error('the pods are not watched');
    });
  } finally {
    await api.stop();
  }
}

/** Resident memory of a Node of its own after some time, in MiB. */
async function measureNode(command: readonly string[], afterMs: number, check?: () => void): Promise<number> {
  const child = spawn(process.execPath, command, {
    env: { PATH: process.env.PATH, ...DEPLOYED_ENV },
    stdio: 'inherit',
  });
  try {
    await delay(afterMs);
    check?.();
    return residentMiB(child.pid ?? 0);
  } finally {
    child.kill();
  }
}

function startLeast(dir: string): Promise<PluginProcess> {
  const socketPath = join(dir, 'least.sock');
  const command = [join(__dirname, 'nri-start-least.js'), socketPath];
  return PluginProcess.start({ socketPath, command, logFile: join(dir, 'least.log') });
}

function rowOf({ wallMs, cpuMs }: Starts): Record<string, number> {
  return {
    p50: median(wallMs),
    min: percentile(wallMs, 0),
    max: percentile(wallMs, 1),
    'processor time, p50': median(cpuMs),
  };
}

function makeFolder(dir: string, name: string): string {
  mkdirSync(join(dir, name));
  return join(dir, name);
}

void main();
