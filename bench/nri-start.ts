/**
 * How soon the bundled daemon is registered with the runtime, and how much memory it holds.
 *
 * Method: from before the spawn until RegisterPlugin has arrived at the runtime's side (this process), with nothing in
 * the environment but PATH and what the unit in deploy/ sets, state directory empty; in alternation with a plugin that does nothing else. The processor
 * time it took until then (all threads, as the scheduler counts it) says the same with less noise of a busy machine.
 * Resident memory is what the kernel counts (VmRSS): idle after start, with admin socket and reconciliation running;
 * then after Synchronize of 500 running containers, with cgroups of the real kernel, and two rounds of reconciliation.
 *
 * Arguments: --quick, --bundle FILE.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { readOnline } from '../src/host';
import { readArguments } from './nri/arguments';
import { startDaemon, takeBundle } from './nri/daemon';
import { median, percentile, printMachine, printTable } from './nri/figures';
import { PluginProcess } from './nri/plugin-process';
import { makeSharedContainers } from './nri/shared-cgroups';

const { quick, bundle: bundleFile } = readArguments();
const starts = quick ? 3 : 15;
const known = quick ? 50 : 500;
/** Long enough for two rounds of reconciliation at the default period. */
const settleMs = quick ? 1000 : 21_000;

async function main(): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'nri-'));
  try {
    const bundle = takeBundle(dir, bundleFile);
    printMachine();
    await measureStart(dir, bundle);
    await measureMemory(dir, bundle);
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

async function measureMemory(dir: string, bundle: string): Promise<void> {
  const idle: number[] = [];
  const busy: number[] = [];
  for (let i = 0; i < (quick ? 1 : 2); i++) {
    const shared = makeSharedContainers(`cpusetd-bench-${process.pid}`, known, readOnline('/sys').toString());
    const daemon = await startDaemon(makeFolder(dir, `memory-${i}`), bundle);
    try {
      await delay(settleMs);
      idle.push(daemon.residentMiB());
      await daemon.introduce(shared.pods, shared.containers);
      await delay(settleMs);
      busy.push(daemon.residentMiB());
    } finally {
      await daemon.stop();
      shared.remove();
    }
  }
  printTable(`Resident memory, the most of ${idle.length} runs, MiB`, {
    'idle, no container': { MiB: percentile(idle, 1) },
    [`${known} containers known`]: { MiB: percentile(busy, 1) },
  });
  console.log('target: at most 64 MiB with 500 containers known');
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
