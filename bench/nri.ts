/**
 * Measures the time that cpusetd adds to a CreateContainer over NRI, as the runtime sees it.
 *
 * Method: the bundled daemon (state on disk, the machine's real cgroups, log to a file) and a plugin that only echoes
 * run as processes of their own; this process plays the runtime and calls both over mux and ttrpc, one call at a time,
 * in alternating rounds, so that noise meets both alike. Beside them the same code runs in this process, where its
 * parts can be timed, and the bare write of the same state file, also in alternation. Times are µs of single calls;
 * compare ratios, not runs. Needs root and CPUs 0 and 1; CPU 0 is reserved, so CPU 1 is the one that is given out.
 *
 * In the part `shared` this process keeps to CPU 0 and the plugins to CPU 1. Left to itself the kernel runs a plugin
 * that answers within microseconds on the caller's own CPU, and one that takes a little longer on another: their
 * difference would mostly be the time in which an idle CPU wakes up.
 *
 * Arguments: --quick, --bundle FILE, --before FILE (a second bundle, for `shared`), and the parts that are wanted:
 * shared, exclusive, pauses, groups, journal, identity, page (all).
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import { SynchronizeRequest } from '../gen/nri/v1alpha1/nri';
import { CpuSet } from '../src/core/cpuset';
import { FILE_NAME } from '../src/core/identity/where';
import type { RuntimeEvent } from '../src/core/model/events';
import { buildTopology } from '../src/core/topology';
import { ContainerDirectories, readTopology } from '../src/host';
import { readEvent, readSynchronize } from '../src/nri-events/read-event';
import { toContainerInfo, toPodInfo } from '../src/nri-events/to-core';
import { findFreePort } from '../test/support/free-port';
import { percentile } from '../test/support/percentile';
import { waitUntil } from '../test/support/wait-until';
import { readArguments } from './nri/arguments';
import { startDaemon, takeBundle } from './nri/daemon';
import { median, printMachine, printTable } from './nri/figures';
import { openInProcess, type Parts } from './nri/in-process';
import { encodeCreate, encodeRemovePod, encodeRunPod, encodeStop, makeSubject } from './nri/messages';
import { BROWSERS, startWatchers, WATCHERS, watchIfAsked } from './nri/page-watchers';
import { pinMainThread } from './nri/pin';
import { PluginProcess } from './nri/plugin-process';
import { writeRaw } from './nri/raw-write';
import { makeSharedContainers, type SharedContainers } from './nri/shared-cgroups';

const { quick, bundle: bundleFile, before: beforeFile, isWanted } = readArguments();
const topology = readTopology({ sysfsRoot: '/sys' });
const machine = topology.online.toString();

async function main(): Promise<void> {
  if (await watchIfAsked()) return;
  const dir = mkdtempSync(join(tmpdir(), 'nri-'));
  try {
    const bundle = takeBundle(dir, bundleFile);
    printMachine();
    if (isWanted('shared')) await measureShared(makeFolder(dir, 'shared'), bundle);
    if (isWanted('exclusive'))
      for (const count of [0, 10, 100]) await measureExclusive(makeFolder(dir, `exclusive-${count}`), bundle, count);
    if (isWanted('pauses')) for (const count of [100, 500]) measurePauses(makeFolder(dir, `pauses-${count}`), count);
    if (isWanted('groups')) measureGroups(makeFolder(dir, 'groups'));
    if (isWanted('journal'))
      for (const count of [0, 100]) await measureJournal(makeFolder(dir, `journal-${count}`), bundle, count);
    if (isWanted('identity')) {
      await measureIdentity(makeFolder(dir, 'identity'), bundle);
      await measureIdentityOfOthers(makeFolder(dir, 'identity-others'), bundle, 500);
    }
    if (isWanted('page'))
      for (const count of [0, 100]) await measurePage(makeFolder(dir, `page-${count}`), bundle, count);
  } finally {
    rmSync(dir, { recursive: true });
  }
}

/** The first calls of a round wake up a process and its caches after the turn of another one. */
const UNCOUNTED = 5;

/** A container of the shared pool: the state on disk does not change, and nobody has to move. */
async function measureShared(dir: string, bundle: string): Promise<void> {
  const [calls, warmUp, roundSize] = quick ? [300, 300, 100] : [10_000, 3000, 100];
  const daemonOf = async (name: string, file: string): Promise<PluginProcess> => {
    const daemon = await startDaemon(makeFolder(dir, name), file);
    await daemon.introduce();
    return daemon;
  };
  const plugins = {
    echo: await startEcho(dir),
    daemon: await daemonOf('daemon', bundle),
    ...(beforeFile !== undefined && { before: await daemonOf('before', beforeFile) }),
  };
  const inTurns = Object.entries(plugins) as [keyof typeof plugins, PluginProcess][];
  const local = openInProcess(dir, topology);
  pinMainThread(process.pid, '0');
  for (const [, plugin] of inTurns) plugin.pin('1');
  const times = { echo: [] as number[], daemon: [] as number[], before: [] as number[] };
  const parts: Parts[] = [];
  let bytes = 0;
  for (let done = -warmUp; done < calls; done += roundSize) {
    if (done === 0) times.echo.length = times.daemon.length = times.before.length = parts.length = 0;
    const requests = Array.from({ length: UNCOUNTED + roundSize }, (_, i) => {
      const subject = makeSubject('shared', done + i);
      const end = [
        ['StopContainer', encodeStop(subject)],
        ['RemovePodSandbox', encodeRemovePod(subject)],
      ] as const;
      return { create: encodeCreate(subject), end };
    });
    bytes = requests[0]!.create.length;
    for (const [name, plugin] of inTurns.reverse()) {
      for (const [i, { create, end }] of requests.entries()) {
        const us = await timeCall(plugin, 'CreateContainer', create);
        if (i >= UNCOUNTED) times[name].push(us);
        for (const [method, payload] of end) await plugin.call(method, payload);
      }
    }
    for (const { create, end } of requests) {
      parts.push(local.carryOut('CreateContainer', create));
      for (const [method, payload] of end) local.carryOut(method, payload);
    }
  }
  await Promise.all(inTurns.map(([, plugin]) => plugin.stop()));
  pinMainThread(process.pid, machine);

  printTable(`CreateContainer without a change of state, ${bytes} byte request, ${calls} calls each, µs`, {
    'bare echo over the same mux and ttrpc': rowOf(times.echo),
    cpusetd: rowOf(times.daemon),
    ...(beforeFile !== undefined && { 'cpusetd before': rowOf(times.before) }),
    'of it, in process: decode': rowOf(pick(parts, 'decodeMs')),
    'of it, in process: decision': rowOf(pick(parts, 'decideMs')),
    'of it, in process: bytes to bytes': rowOf(pick(parts, 'totalMs')),
  });
  const addedBy = (us: readonly number[]): string => (median(us) - median(times.echo)).toFixed(1);
  const tail = percentile(times.daemon, 0.99) / percentile(times.echo, 0.99);
  console.log(
    `cpusetd adds ${addedBy(times.daemon)} µs to the echo at p50 (target: at most 25)` +
      `${beforeFile === undefined ? '' : `, before ${addedBy(times.before)} µs`}; ` +
      `its p99 is ${tail.toFixed(2)} times the echo's (target: at most 1.3)`,
  );
}

/** A container that gets CPU 1 for itself while `count` shared ones run there; released again after each. */
async function measureExclusive(dir: string, bundle: string, count: number): Promise<void> {
  const [calls, warmUp, roundSize] = quick ? [20, 20, 10] : [600, 200, 10];
  const ofDaemon = makeSharedContainers(`cpusetd-bench-d-${process.pid}`, count, machine);
  const ofLocal = makeSharedContainers(`cpusetd-bench-l-${process.pid}`, count, machine);
  try {
    const echo = await startEcho(dir);
    const daemon = await startDaemon(dir, bundle, ['--reconcile-period', '1h']);
    await daemon.introduce(ofDaemon.pods, ofDaemon.containers);
    const local = openInProcess(dir, topology);
    local.transactor.handle(describeAll(ofLocal), liveOf(ofLocal));
    const times = { echo: [] as number[], daemon: [] as number[], raw: [] as number[], parts: [] as Parts[] };
    let state: Uint8Array = Buffer.alloc(1000);

    for (let done = -warmUp; done < calls; done += roundSize) {
      if (done === 0) times.echo.length = times.daemon.length = times.raw.length = times.parts.length = 0;
      for (let i = 0; i < roundSize; i++) {
        const subject = makeSubject('exclusive', done + i);
        const create = encodeCreate(subject);
        const others = [
          ['StopContainer', encodeStop(subject)],
          ['RemovePodSandbox', encodeRemovePod(subject)],
        ] as const;
        times.echo.push(await timeCall(echo, 'CreateContainer', create));
        for (const [method, payload] of others) await echo.call(method, payload);

        await daemon.call('RunPodSandbox', encodeRunPod(subject));
        times.daemon.push(await timeCall(daemon, 'CreateContainer', create));
        if (done + i === 0 && count > 0) expectCpus(ofDaemon, '0');
        for (const [method, payload] of others) await daemon.call(method, payload);

        local.carryOut('RunPodSandbox', encodeRunPod(subject));
        // In turns before and after ours: the disk may be quicker the second time.
        const rawFirst = i % 2 === 0;
        if (rawFirst) times.raw.push(timeUs(() => writeRaw(`${dir}/in-process`, state)));
        times.parts.push(local.carryOut('CreateContainer', create));
        state = readFileSync(`${dir}/in-process/state.json`);
        if (!rawFirst) times.raw.push(timeUs(() => writeRaw(`${dir}/in-process`, state)));
        for (const [method, payload] of others) local.carryOut(method, payload);
      }
    }
    if (count > 0) expectCpus(ofDaemon, machine);
    await Promise.all([echo.stop(), daemon.stop()]);
    reportExclusive(count, calls, times);
  } finally {
    ofDaemon.remove();
    ofLocal.remove();
  }
}

function reportExclusive(
  count: number,
  calls: number,
  times: Readonly<Record<'echo' | 'daemon' | 'raw', number[]>> & { readonly parts: readonly Parts[] },
): void {
  const parts = {
    decision: pick(times.parts, 'decideMs'),
    write: pick(times.parts, 'saveMs'),
    cgroups: pick(times.parts, 'moveMs'),
    total: pick(times.parts, 'totalMs'),
  };
  const [decision, write, cgroups] = [parts.decision, parts.write, parts.cgroups].map((us) => percentile(us, 0.5));
  const rest = percentile(times.daemon, 0.5) - decision! - write! - cgroups!;
  printTable(`CreateContainer with an allocation, ${count} shared containers to move, ${calls} calls each, µs`, {
    cpusetd: rowOf(times.daemon),
    'of it, in process: decision': rowOf(parts.decision),
    'of it, in process: durable write': rowOf(parts.write),
    'of it, in process: cgroup writes': rowOf(parts.cgroups),
    'rest: socket, codec, log (of the medians)': { p50: rest },
    'bare echo over the same mux and ttrpc': rowOf(times.echo),
    'bare durable write of the same bytes': rowOf(times.raw),
  });
  const ratio = (values: readonly number[]): string =>
    (percentile(values, 0.5) / percentile(times.raw, 0.5)).toFixed(2);
  console.log(
    `at p50, against the bare durable write: our write ${ratio(parts.write)}, the whole allocation from bytes to bytes ` +
      `${ratio(parts.total)}${count === 0 ? ' (target: at most 1.3)' : ''}, the round trip ${ratio(times.daemon)}`,
  );
}

/**
 * A container that gets CPU 1 for itself while `count` shared ones run there, with and without the journal. Two daemons
 * take turns, each first in every other one. Their files are in one file system, so that writing the journal delays the
 * durable write as it does on a node.
 */
async function measureJournal(dir: string, bundle: string, count: number): Promise<void> {
  const [calls, warmUp] = quick ? [20, 20] : [1_500, 300];
  const open = async (name: string, ...args: readonly string[]) => {
    const shared = makeSharedContainers(`cpusetd-bench-${name}-${process.pid}`, count, machine);
    const daemon = await startDaemon(makeFolder(dir, name), bundle, ['--reconcile-period', '1h', ...args]);
    await daemon.introduce(shared.pods, shared.containers);
    return { daemon, shared, times: [] as number[] };
  };
  const off = await open('off', '--journal-size', 'off');
  const on = await open('on');
  try {
    for (let i = -warmUp; i < calls; i++) {
      const subject = makeSubject('exclusive', i);
      const others = [
        ['StopContainer', encodeStop(subject)],
        ['RemovePodSandbox', encodeRemovePod(subject)],
      ] as const;
      for (const { daemon, times } of i % 2 === 0 ? [off, on] : [on, off]) {
        await daemon.call('RunPodSandbox', encodeRunPod(subject));
        const us = await timeCall(daemon, 'CreateContainer', encodeCreate(subject));
        if (i >= 0) times.push(us);
        for (const [method, payload] of others) await daemon.call(method, payload);
      }
    }
    await Promise.all([off.daemon.stop(), on.daemon.stop()]);
    printTable(`CreateContainer with an allocation, ${count} shared containers to move, ${calls} calls each, µs`, {
      'without a journal': rowOf(off.times),
      'with the journal': rowOf(on.times),
    });
    const more = (p: number): string =>
      `${((percentile(on.times, p) / percentile(off.times, p) - 1) * 100).toFixed(1)} %`;
    console.log(`the journal makes it ${more(0.5)} longer at p50 (target: at most 3 %), ${more(0.99)} at p99`);
  } finally {
    for (const { shared } of [off, on]) shared.remove();
  }
}

/** As long as the file of a container of a small machine. */
const BARE_FILE = 'x'.repeat(200);
const ASKS = { 'cpusetd.io/cpu-identity': 'on' };

/** The files are in memory, as below /run on a node. */
function makeIdentityDir(): string {
  return mkdtempSync('/dev/shm/cpusetd-bench-');
}

/**
 * A container of the shared pool that asks for a file with its CPUs, one that does not, and one of a daemon that offers
 * none; in turns, with the bare making of such a directory and file in this process.
 */
async function measureIdentity(dir: string, bundle: string): Promise<void> {
  const [calls, warmUp] = quick ? [100, 100] : [5_000, 2_000];
  const identityDir = makeIdentityDir();
  const open = async (name: string, ...args: readonly string[]) => {
    const daemon = await startDaemon(makeFolder(dir, name), bundle, args);
    await daemon.introduce();
    return daemon;
  };
  const off = await open('off');
  const on = await open('on', '--cpu-identity', 'on', '--cpu-identity-dir', identityDir);
  const kinds = [
    { name: 'not offered', daemon: off, annotations: {}, times: [] as number[] },
    { name: 'offered, not asked for', daemon: on, annotations: {}, times: [] as number[] },
    { name: 'with a file', daemon: on, annotations: ASKS, times: [] as number[] },
  ];
  const bareDirectories = new ContainerDirectories(join(identityDir, 'bare'));
  bareDirectories.open();
  const bareUs: number[] = [];
  try {
    for (let i = -warmUp; i < calls; i++) {
      for (const [nth, { daemon, annotations, times }] of [...kinds.entries()].sort(
        ([a], [b]) => ((a + i) % 3) - ((b + i) % 3),
      )) {
        const subject = makeSubject('shared', i * kinds.length + nth);
        Object.assign(subject.pod.annotations, annotations);
        const us = await timeCall(daemon, 'CreateContainer', encodeCreate(subject));
        if (i >= 0) times.push(us);
        await daemon.call('StopContainer', encodeStop(subject));
        await daemon.call('RemovePodSandbox', encodeRemovePod(subject));
      }
      const startMs = performance.now();
      bareDirectories.make('one');
      bareDirectories.replace('one', FILE_NAME, BARE_FILE);
      if (i >= 0) bareUs.push((performance.now() - startMs) * 1000);
      bareDirectories.remove('one', FILE_NAME);
    }
    await Promise.all([off.stop(), on.stop()]);
  } finally {
    rmSync(identityDir, { recursive: true });
  }
  printTable(
    `CreateContainer without a change of state, ${calls} calls each, µs`,
    Object.fromEntries(kinds.map(({ name, times }) => [name, rowOf(times)])),
  );
  const [offUs, unasked, withFile] = kinds.map(({ times }) => median(times));
  console.log(
    `a file adds ${(withFile! - unasked!).toFixed(1)} µs at p50 (target: at most 100), ${median(bareUs).toFixed(1)} of them for the bare directory and file; ` +
      `who does not ask pays ${(unasked! - offUs!).toFixed(1)} µs`,
  );
}

/** A container that gets CPU 1 for itself while `count` shared ones run there, which all have files, or none. */
async function measureIdentityOfOthers(dir: string, bundle: string, count: number): Promise<void> {
  const [calls, warmUp] = quick ? [5, 5] : [100, 20];
  const identityDir = makeIdentityDir();
  const open = async (name: string, ...args: readonly string[]) => {
    const shared = makeSharedContainers(`cpusetd-bench-${name}-${process.pid}`, count, machine);
    // A container has a file if it has a directory at the start.
    if (args.length > 0) for (const { id } of shared.pods) mkdirSync(join(identityDir, `${id}.main`));
    const daemon = await startDaemon(makeFolder(dir, name), bundle, ['--reconcile-period', '1h', ...args]);
    await daemon.introduce(shared.pods, shared.containers);
    return { daemon, shared, times: [] as number[] };
  };
  const off = await open('off');
  const on = await open('on', '--cpu-identity', 'on', '--cpu-identity-dir', identityDir);
  const last = join(identityDir, `${on.shared.pods.at(-1)!.id}.main/cpus.json`);
  const isInFile = (cpus: string) => () => existsSync(last) && readFileSync(last, 'utf8').includes(`"cpus": "${cpus}"`);
  try {
    await waitUntil('all to be told of the whole machine', isInFile(machine));
    const lateMs: number[] = [];
    for (let i = -warmUp; i < calls; i++) {
      const subject = makeSubject('exclusive', i);
      for (const { daemon, times } of i % 2 === 0 ? [off, on] : [on, off]) {
        await daemon.call('RunPodSandbox', encodeRunPod(subject));
        const us = await timeCall(daemon, 'CreateContainer', encodeCreate(subject));
        if (i >= 0) times.push(us);
        if (i % 10 === 0 && daemon === on.daemon) {
          const answeredMs = performance.now();
          await waitUntil('the last one to be told', isInFile('0'));
          if (i >= 0) lateMs.push(performance.now() - answeredMs);
        }
        await daemon.call('StopContainer', encodeStop(subject));
        await daemon.call('RemovePodSandbox', encodeRemovePod(subject));
      }
    }
    await Promise.all([off.daemon.stop(), on.daemon.stop()]);
    printTable(`CreateContainer with an allocation, ${count} shared containers to move, ${calls} calls each, µs`, {
      'none has a file': rowOf(off.times),
      'all have files': rowOf(on.times),
    });
    const more = (p: number): string =>
      `${((percentile(on.times, p) / percentile(off.times, p) - 1) * 100).toFixed(1)} %`;
    console.log(
      `files of others make it ${more(0.5)} longer at p50, ${more(0.99)} at p99; the last file follows after ` +
        `${median(lateMs).toFixed(0)} ms (p50 of ${lateMs.length})`,
    );
  } finally {
    for (const { shared } of [off, on]) shared.remove();
    rmSync(identityDir, { recursive: true });
  }
}

/**
 * A container that gets CPU 1 for itself while `count` shared ones run there, without and with those who look on:
 * browsers that follow the page, and watchers of the status, in one process of their own. Two daemons take turns, each
 * first in every other one. A pause after each turn lets them see it, as there is one between creations of a node: they
 * compete with the daemon for this machine's CPUs otherwise.
 */
async function measurePage(dir: string, bundle: string, count: number): Promise<void> {
  const [calls, warmUp] = quick ? [20, 20] : [1_000, 200];
  const open = async (name: string, isWatched: boolean) => {
    const shared = makeSharedContainers(`cpusetd-bench-${name}-${process.pid}`, count, machine);
    const own = makeFolder(dir, name);
    const port = await findFreePort();
    const daemon = await startDaemon(own, bundle, ['--reconcile-period', '1h', '--http-address', String(port)]);
    await daemon.introduce(shared.pods, shared.containers);
    const url = `http://127.0.0.1:${port}`;
    while (!(await fetch(`${url}/icon.svg`).catch(() => undefined))) await pause(20);
    const watchers = isWatched ? await startWatchers({ socket: join(own, 'admin.sock'), url }) : undefined;
    return { daemon, shared, watchers, times: [] as number[] };
  };
  const alone = await open('alone', false);
  const watched = await open('watched', true);
  try {
    for (let i = -warmUp; i < calls; i++) {
      const subject = makeSubject('exclusive', i);
      for (const { daemon, times } of i % 2 === 0 ? [alone, watched] : [watched, alone]) {
        await daemon.call('RunPodSandbox', encodeRunPod(subject));
        const us = await timeCall(daemon, 'CreateContainer', encodeCreate(subject));
        if (i >= 0) times.push(us);
        await daemon.call('StopContainer', encodeStop(subject));
        await daemon.call('RemovePodSandbox', encodeRemovePod(subject));
      }
      await pause(PAUSE_MS);
    }
    await watched.watchers?.stop();
    await Promise.all([alone.daemon.stop(), watched.daemon.stop()]);
    printTable(`CreateContainer with an allocation, ${count} shared containers to move, ${calls} calls each, µs`, {
      'nobody looks on': rowOf(alone.times),
      [`${BROWSERS} browsers, ${WATCHERS} watchers`]: rowOf(watched.times),
    });
  } finally {
    for (const { shared } of [alone, watched]) shared.remove();
  }
}

/** Time between two turns of the part `page`, in ms. */
const PAUSE_MS = 20;

/**
 * A container that gets CPU 1 for itself beside so many pods of one shared container, without and with their pause
 * containers.
 */
function measurePauses(dir: string, count: number): void {
  const [calls, warmUp] = quick ? [20, 10] : [60, 20];
  const nodes = [false, true].map((withPauses) => {
    const name = `cpusetd-bench-${withPauses ? 'p' : 'n'}-${process.pid}`;
    const own = makeFolder(dir, withPauses ? 'with' : 'without');
    const shared = makeSharedContainers(name, count, machine);
    const pauses = makeSharedContainers(`${name}-pauses`, withPauses ? count : 0, machine);
    const node = openInProcess(own, topology);
    const { transactor } = node;
    transactor.handle(describeAll(shared), liveOf(shared));
    transactor.handle({
      kind: 'pauses-found',
      pauses: pauses.containers.map(({ linux }, i) => ({
        sandboxId: shared.pods[i]!.id,
        cgroupsPath: linux!.cgroupsPath,
        found: topology.online,
      })),
    });
    return { node, shared, pauses, us: [] as number[], moveUs: [] as number[] };
  });
  try {
    for (let i = -warmUp; i < calls; i++) {
      const subject = makeSubject('exclusive', i);
      for (const { node, shared, pauses, us, moveUs } of i % 2 === 0 ? nodes : [...nodes].reverse()) {
        node.carryOut('RunPodSandbox', encodeRunPod(subject));
        const { totalMs, moveMs } = node.carryOut('CreateContainer', encodeCreate(subject));
        for (const each of [shared, pauses]) if (i === 0 && each.containers.length > 0) expectCpus(each, '0');
        if (i >= 0) {
          us.push(toUs(totalMs));
          moveUs.push(toUs(moveMs));
        }
        node.carryOut('StopContainer', encodeStop(subject));
        node.carryOut('RemovePodSandbox', encodeRemovePod(subject));
      }
    }
    const [without, withThem] = nodes.map(({ us }) => us);
    printTable(`CreateContainer with an allocation beside ${count} pods, in process, ${calls} calls each, µs`, {
      'without pause containers': rowOf(without!),
      'of it: cgroup writes': rowOf(nodes[0]!.moveUs),
      'with their pause containers': rowOf(withThem!),
      'of it: cgroup writes of all': rowOf(nodes[1]!.moveUs),
    });
    console.log(`pause containers make it ${(median(withThem!) / median(without!)).toFixed(2)} times as long at p50`);
  } finally {
    for (const { shared, pauses } of nodes) for (const each of [shared, pauses]) each.remove();
  }
}

const TOGETHER = [1, 8, 32] as const;

/**
 * Requests that arrive together are decided one by one and share one durable write: each caller waits as long as all of
 * them take. Beside it, in turns before and after, the bare durable write of the very bytes that they leave on the same
 * disk. The log is written when the answers have left, and is timed by itself.
 */
function measureGroups(dir: string): void {
  const rounds = quick ? 20 : 300;
  const cpus = Array.from({ length: 128 }, (_, id) => ({
    id,
    core: id,
    socket: id >> 6,
    numaNode: id >> 6,
    uncoreCache: id >> 3,
  }));
  const { transactor, writeLog } = openInProcess(dir, buildTopology({ cpus }));
  const release = (events: readonly RuntimeEvent[]): void => {
    const sandboxIds = events.flatMap((event) => (event.kind === 'create-container' ? [event.pod.sandboxId] : []));
    const ids = events.flatMap((event) => (event.kind === 'create-container' ? [event.container.id] : []));
    transactor.handleAll(ids.map((containerId) => ({ kind: 'container-removed', containerId })));
    transactor.handleAll(sandboxIds.map((sandboxId) => ({ kind: 'pod-removed', sandboxId })));
    writeLog();
  };
  const groups = TOGETHER.map((size) => ({
    size,
    ours: [] as number[],
    raw: [] as number[],
    log: [] as number[],
    state: Buffer.alloc(600 * size),
  }));
  const single: number[] = [];
  for (let round = -20; round < rounds; round++) {
    const events = Array.from({ length: 32 }, (_, i) => {
      const event = readEvent('CreateContainer', encodeCreate(makeSubject('exclusive', round * 32 + i)));
      if (event === 'ignored') throw new Error('CreateContainer means nothing to us');
      return event;
    });
    for (const group of groups) {
      const some = events.slice(0, group.size);
      const writeBare = (): number => timeUs(() => writeRaw(`${dir}/in-process`, group.state));
      const bareFirst = round % 2 === 0;
      const rawBeforeUs = bareFirst ? writeBare() : NaN;
      const oursUs = timeUs(() => transactor.handleAll(some));
      const logUs = timeUs(writeLog);
      group.state = readFileSync(`${dir}/in-process/state.json`);
      if (group.state.toString().split('"podUid"').length !== group.size + 1)
        throw new Error('not all of them were allocated');
      const rawUs = bareFirst ? rawBeforeUs : writeBare();
      release(some);
      if (round < 0) continue; // warms up
      group.ours.push(oursUs);
      group.raw.push(rawUs);
      group.log.push(logUs);
    }
    const singleUs = timeUs(() => events.forEach((event) => transactor.handle(event)));
    writeLog();
    release(events);
    if (round >= 0) single.push(singleUs);
  }
  printTable(`Durable allocations, machine of 128 CPUs, in process, ${rounds} rounds, µs`, {
    ...Object.fromEntries(
      groups.flatMap(({ size, ours, raw, log }) => [
        [`${size} at once`, rowOf(ours)],
        [`write, fsync, rename of the state of ${size}`, rowOf(raw)],
        [`the log of ${size}, after the answers`, rowOf(log)],
      ]),
    ),
    '32, one after the other': rowOf(single),
  });
  for (const { size, ours, raw } of groups) {
    const most = new Map([
      [1, 1.3],
      [32, 3],
    ]).get(size);
    const target = most === undefined ? '' : ` (target: at most ${most})`;
    console.log(
      `${size} at once: ${(median(ours) / median(raw)).toFixed(2)} times the bare write at p50${target}, ` +
        `${(median(ours) - median(raw)).toFixed(0)} µs more`,
    );
  }
  const factor = median(groups.at(-1)!.ours) / median(groups[0]!.ours);
  console.log(`32 at once take ${factor.toFixed(1)} times one at p50 (target: at most 2)`);
}

function startEcho(dir: string): Promise<PluginProcess> {
  const socketPath = join(dir, 'echo.sock');
  const command = [join(__dirname, 'nri-echo-plugin.js'), 'ttrpc', socketPath];
  return PluginProcess.start({ socketPath, command, logFile: join(dir, 'echo.log') });
}

async function timeCall(plugin: PluginProcess, method: string, payload: Uint8Array): Promise<number> {
  const startMs = performance.now();
  await plugin.call(method, payload);
  return toUs(performance.now() - startMs);
}

function timeUs(act: () => unknown): number {
  const startMs = performance.now();
  act();
  return toUs(performance.now() - startMs);
}

function describeAll({ pods, containers }: SharedContainers): RuntimeEvent {
  const request = SynchronizeRequest.create({ pods: [...pods], containers: [...containers] });
  const read = readSynchronize(SynchronizeRequest.encode(request).finish());
  return {
    kind: 'synchronize',
    pods: read.pods.map(toPodInfo),
    containers: read.containers.map((container) => toContainerInfo(container)),
  };
}

function liveOf({ containers }: SharedContainers): ReadonlyMap<string, CpuSet> {
  return new Map(containers.map(({ id }) => [id, topology.online]));
}

function expectCpus(shared: SharedContainers, want: string): void {
  if (shared.lastCpus() !== want) throw new Error(`a shared container is on ${shared.lastCpus()}, not on ${want}`);
}

function pick(parts: readonly Parts[], key: keyof Parts): number[] {
  return parts.map((each) => toUs(each[key]));
}

function rowOf(us: readonly number[]): Record<string, number> {
  return { p50: percentile(us, 0.5), p99: percentile(us, 0.99), 'p99.9': percentile(us, 0.999) };
}

function toUs(ms: number): number {
  return ms * 1000;
}

function makeFolder(dir: string, name: string): string {
  mkdirSync(join(dir, name));
  return join(dir, name);
}

void main();
