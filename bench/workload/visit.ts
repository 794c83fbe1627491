import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseCpuList } from '../../src/core/cpuset';
import { sum } from '../../src/core/sum';
import { readOnline } from '../../src/host';
import {
  type ContainerSpec,
  type Daemon,
  type RunningContainer,
  type RunningPod,
  type Runtime,
  startDaemon,
  waitUntil,
} from '../../test/e2e/rig';
import { setShares } from './cpu-shares';
import { type HostFacts, readHost, readThrottled } from './host-facts';
import { keepHostOff } from './keep-host-off';
import { type Progress, type Served, unitsWithin } from './program';
import type { Scenario } from './scenarios';

/** The times of one visit, and the size of a unit of work. */
export interface Pace {
  readonly periodUs: number;
  /** Of one unit of work, which is also that of one request. */
  readonly iterations: number;
  readonly warmUpMs: number;
  readonly requestsMs: number;
  /** The time in which the service works without a pause, after its requests. */
  readonly workMs: number;
  readonly reportMs: number;
}

/** Results of one visit to a scenario. */
export interface Visit {
  readonly responseMs: readonly number[];
  readonly unitsPerSecond: number;
  /** Units a second of all neighbours, during the requests, and while the service works without a pause. */
  readonly neighbours: { readonly besideRequests: number; readonly besideWork: number };
  /** Device interrupts a second on the CPUs that the service may use, by number and device. */
  readonly interrupts: ReadonlyMap<string, number>;
  readonly unmovable: readonly string[];
  /** CPUs' worth of time that programs outside of the containers used on the CPUs of the service. */
  readonly outside: number;
  /** Part of the time of all CPUs that the hypervisor gave to others. */
  readonly steal: number;
  /** Part of the CFS periods in which the service was throttled. */
  readonly throttled: number;
}

export interface Place {
  readonly runtime: Runtime;
  /** A folder for the files of the bench. */
  readonly dir: string;
  readonly program: string;
  readonly bundle: string;
  readonly pace: Pace;
  readonly stop: AbortSignal;
}

const RESERVED = '0';
const MOUNT = '/bench';
const online = readOnline('/sys');
/** Two threads for each CPU keep all busy. On a large machine they are in few containers, which start sooner. */
const NEIGHBOURS = Math.min(2 * online.size, 8);
const threadsOfEach = Math.ceil((2 * online.size) / NEIGHBOURS);
/** The requests of all pods fill the node, as a scheduler would fill it. */
const neighbourMilli = Math.floor(((online.size - 1) * 1000) / NEIGHBOURS);

/** Makes the programs visible in the containers of the runtime. */
export function offerProgram({ runtime, program }: Place): void {
  const folder = join(runtime.work, `run${MOUNT}`);
  mkdirSync(folder);
  cpSync(program, join(folder, 'program'));
}

const runProgram = (...args: readonly (string | number)[]): Pick<ContainerSpec, 'command' | 'mounts'> => ({
  command: [`${MOUNT}/program`, ...args.map(String)],
  mounts: [{ hostPath: `/run${MOUNT}`, containerPath: MOUNT }],
});

/**
 * Measures one scenario: starts what belongs to it, runs the service once, and ends all again. Throws when containers
 * are not on the CPUs that the scenario says.
 */
export async function visit(place: Place, scenario: Scenario): Promise<Visit> {
  const { runtime, dir, bundle } = place;
  const writer = scenario.isDiskBusy ? spawnWriter(place) : undefined;
  const daemon = scenario.isPinned
    ? startDaemon({
        runtime,
        bundle,
        stateDir: join(dir, 'state'),
        args: [
          ...['--reserved-cpus', RESERVED, '--lock-dir', join(dir, 'locks')],
          ...['--irq-affinity', scenario.areInterruptsSteered ? 'steer' : 'off'],
        ],
      })
    : undefined;
  try {
    // Calls to a runtime that was ended by the same signal would wait for their deadlines.
    const measured = await unlessStopped(place.stop, async () => {
      await daemon?.ready();
      const result = await measure(place, scenario);
      await runtime.kubelet.removePods();
      return result;
    });
    return { ...measured, unmovable: daemon ? listUnmovable(daemon) : [] };
  } finally {
    await daemon?.dispose();
    await writer?.end();
  }
}

/** The interrupts that the kernel did not let cpusetd move, as it names them. */
function listUnmovable(daemon: Daemon): readonly string[] {
  const lines = daemon.log.lines.filter(({ msg }) => msg?.startsWith('the kernel refuses to move interrupts'));
  return (lines.at(-1)?.['irqs'] ?? []) as string[];
}

async function measure(place: Place, scenario: Scenario): Promise<Omit<Visit, 'unmovable'>> {
  const { runtime, pace } = place;
  const neighbours = scenario.hasNeighbours ? await startNeighbours(place) : [];
  const { periodUs, iterations, warmUpMs, requestsMs } = pace;
  const workMs = scenario.hasBackground ? 0 : pace.workMs;
  const threads = scenario.hasBackground ? 2 : 1;
  const command = runProgram('serve', periodUs, iterations, warmUpMs, requestsMs, workMs, threads);
  const pod = await runtime.kubelet.runPod({ name: 'service', containers: [{ name: 'main', cpus: 1, ...command }] });
  setShares(runtime.cgroupRoot, online.size);
  const { service, before, after, line } = await serve(place, scenario, pod);
  checkPlaces(scenario, service, neighbours);

  const { requests, work } = JSON.parse(line) as Served;
  await waitUntil('the progress of the neighbours', () =>
    neighbours.every((each) => (progressOf(each).at(-1)?.ns ?? 0) >= work.toNs),
  );
  const unitsOfNeighbours = (span: { fromNs: number; toNs: number }): number =>
    sum(neighbours.map((each) => unitsWithin(progressOf(each), span))) / secondsOf(span);
  const passedMs = after.atMs - before.atMs;
  const rates = [...after.interrupts].map(([name, count]): [string, number] => [
    name,
    (count - (before.interrupts.get(name) ?? 0)) / (passedMs / 1000),
  ]);
  return {
    responseMs: requests.responseNs.map((ns) => ns / 1e6),
    unitsPerSecond: workMs > 0 ? work.units / secondsOf(work) : NaN,
    neighbours: {
      besideRequests: unitsOfNeighbours(requests),
      besideWork: workMs > 0 ? unitsOfNeighbours(work) : NaN,
    },
    interrupts: new Map(rates.filter(([, rate]) => rate > 0)),
    outside: (after.outsideMs - before.outsideMs) / passedMs,
    steal: (after.stealMs - before.stealMs) / passedMs / online.size,
    throttled: readThrottled(service.cgroupPath),
  };
}

/** Runs the service in its pod until it has told its times. */
async function serve(
  place: Place,
  scenario: Scenario,
  pod: RunningPod,
): Promise<{ service: RunningContainer; before: HostFacts; after: HostFacts; line: string }> {
  const { cgroupRoot } = place.runtime;
  const release = scenario.isHostKeptOff ? keepHostOff(parseCpuList(RESERVED), online, cgroupRoot) : undefined;
  try {
    const service = await pod.startContainer('main');
    const before = readHost(cgroupRoot, service, scenario.isPinned);
    const [line] = await service.firstLines(1);
    return { service, before, after: readHost(cgroupRoot, service, scenario.isPinned), line: line! };
  } finally {
    release?.();
  }
}

const secondsOf = ({ fromNs, toNs }: { fromNs: number; toNs: number }): number => (toNs - fromNs) / 1e9;

async function startNeighbours({ runtime, pace }: Place): Promise<RunningContainer[]> {
  const names = Array.from({ length: NEIGHBOURS }, (_, i) => `noisy-${i}`);
  const command = runProgram('burn', pace.iterations, pace.reportMs, threadsOfEach);
  const containers = names.map((name) => ({ name, cpuRequestMilli: neighbourMilli, ...command }));
  const pod = await runtime.kubelet.runPod({ name: 'neighbours', containers });
  const started: RunningContainer[] = [];
  for (const name of names) started.push(await pod.startContainer(name));
  for (const each of started) await each.firstLine();
  return started;
}

const progressOf = (neighbour: RunningContainer): Progress[] =>
  neighbour.lines().map((line) => JSON.parse(line) as Progress);

/** Throws unless each container is where the scenario wants it. */
function checkPlaces({ isPinned }: Scenario, service: RunningContainer, neighbours: readonly RunningContainer[]): void {
  const own = parseCpuList(service.cpuset().effectiveCpus);
  const isRight = isPinned ? own.size === 1 && own.toString() !== RESERVED : own.equals(online);
  if (!isRight) throw new Error(`the service is on CPUs ${own.toString()}`);
  for (const each of neighbours) {
    const theirs = parseCpuList(each.cpuset().effectiveCpus);
    if (isPinned ? theirs.overlaps(own) : !theirs.equals(online))
      throw new Error(`${each.name} is on CPUs ${theirs.toString()}`);
  }
}

/** Starts the process that keeps the disk busy, on the reserved CPU, as a service of the system. */
function spawnWriter({ program, dir }: Place): { end(): Promise<void> } {
  const file = join(dir, 'written');
  const child = spawn('taskset', ['-c', RESERVED, program, 'write', file], { stdio: ['ignore', 'ignore', 'inherit'] });
  const closed = once(child, 'close');
  closed.catch(() => undefined); // awaited at the end
  return {
    async end() {
      const hadEnded = child.exitCode !== null;
      child.kill('SIGKILL');
      await closed;
      rmSync(file, { force: true });
      if (hadEnded) throw new Error(`the process that writes to the disk ended with ${child.exitCode}`);
    },
  };
}

/** The result of the work, or an error with the reason of the signal as soon as that comes. */
async function unlessStopped<T>(stop: AbortSignal, work: () => Promise<T>): Promise<T> {
  stop.throwIfAborted();
  let onAbort: () => void = () => undefined;
  const stopped = new Promise<never>((_, reject) => {
    onAbort = () => reject(stop.reason as Error);
    stop.addEventListener('abort', onAbort, { once: true });
  });
  const working = work();
  working.catch(() => undefined); // after the signal nobody waits for it
  try {
    return await Promise.race([working, stopped]);
  } finally {
    stop.removeEventListener('abort', onAbort);
  }
}
