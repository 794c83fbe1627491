import { execFileSync, fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { daemonArguments, daemonPaths, makeCgroupRoot } from '../support/daemon-paths';
import { runInProcess } from '../support/run-cli';
import { defineAsRoot } from '../support/not-run';
import { NriRuntime } from '../support/nri-runtime';
import { loadMachine, writeTree } from '../support/sysfs-tree';
import { waitUntil } from '../support/wait-until';

let folder: string;
let bundle: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'ports-'));
  bundle = join(folder, 'faulty.js');
  execFileSync(process.execPath, [join(__dirname, 'build-faulty-daemon.mjs'), bundle]);
  writeTree(folder, loadMachine('1x4x2'));
  writeFileSync(join(folder, 'kubeconfig'), KUBECONFIG);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A kubeconfig with the address of an API server that does not exist. */
const KUBECONFIG = JSON.stringify({
  apiVersion: 'v1',
  kind: 'Config',
  'current-context': 'here',
  contexts: [{ name: 'here', context: { cluster: 'here', user: 'us' } }],
  clusters: [{ name: 'here', cluster: { server: 'http://127.0.0.1:1' } }],
  users: [{ name: 'us', user: {} }],
});

interface NodeOptions {
  readonly stdout?: 'pipe' | number;
  readonly args?: readonly string[];
  /** The limit of inotify watches: the daemon then runs in a user namespace of its own. */
  readonly watches?: number;
  readonly env?: Readonly<Record<string, string>>;
}

/** A fake runtime, and the real daemon in a process of its own, whose ports can be broken. */
class Node {
  private readonly root = mkdtempSync(join(folder, 'node-'));
  private readonly paths = daemonPaths(this.root);
  readonly child: ChildProcess;
  readonly ended: Promise<number | null>;
  runtime!: NriRuntime;
  log = '';
  stderr = '';
  private readonly thrown = new Map<string, number>();
  private count = 0;

  constructor({ stdout = 'pipe', args: more = [], watches, env = {} }: NodeOptions = {}) {
    makeCgroupRoot(this.paths['cgroup-root']!, '0-7');
    const args = daemonArguments(this.root, {
      'reserved-cpus': '0',
      'reconcile-period': '100ms',
      'sysfs-root': join(folder, 'sys'),
      'metrics-address': '127.0.0.1:0',
      kubeconfig: join(folder, 'kubeconfig'),
      'node-name': 'here',
    });
    const shell = `echo ${watches} > /proc/sys/user/max_inotify_watches; exec "$0" "$@"`;
    this.child = fork(bundle, [...args, ...more], {
      stdio: ['ignore', stdout, 'pipe', 'ipc'],
      env,
      ...(watches !== undefined && {
        execPath: '/usr/bin/unshare',
        execArgv: ['-Ur', '/bin/sh', '-c', shell, process.execPath],
      }),
    });
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.log += text));
    this.child.stderr!.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    this.child.on('message', ({ thrown }: { thrown: string }) =>
      this.thrown.set(thrown, (this.thrown.get(thrown) ?? 0) + 1),
    );
    this.ended = once(this.child, 'close').then(([status]) => status as number | null);
  }

  get adminSocket(): string {
    return this.paths['admin-socket']!;
  }

  async start(): Promise<void> {
    this.runtime = await NriRuntime.listen({ socketPath: this.paths['nri-socket']! });
    await this.until('it serves', async () => (await this.ask('health')).status === 0);
  }

  breakPort(port: string, isBroken = true): void {
    this.child.send({ port, isBroken });
  }

  countThrown(port: string): number {
    return this.thrown.get(port) ?? 0;
  }

  ask(...command: string[]) {
    return runInProcess([...command, '--admin-socket', this.adminSocket]);
  }

  /** Runs `status --watch`, which ends with the daemon. */
  watchStatus(onPrinted: (text: string) => void) {
    return runInProcess(['status', '--watch', '--admin-socket', this.adminSocket], { onPrinted });
  }

  async alarms(): Promise<readonly { kind: string; subject: string; because: string }[]> {
    const { stdout } = await this.ask('status', '-o', 'json');
    return (JSON.parse(stdout) as { node: { alarms: never[] } }).node.alarms;
  }

  /** Runs a pod of one container. Resolves with the CPUs of its answer, or with the runtime's error. */
  async run(milliCpu: number): Promise<string> {
    const name = `c${++this.count}`;
    try {
      const pod = await this.runtime.runPod({ name, qos: milliCpu === 0 ? 'burstable' : 'guaranteed' });
      const container = await this.runtime.createContainer(pod, { name, milliCpu, memoryBytes: 1 << 26 });
      const { cpus } = this.runtime.containers.get(container.id)!.linux!.resources!.cpu!;
      this.makeCgroup(container.linux!.cgroupsPath, cpus);
      await this.runtime.startContainer(container);
      return cpus;
    } catch (error) {
      return `refused: ${(error as Error).message}`;
    }
  }

  /** Removes all pods but the first. */
  async clear(): Promise<void> {
    for (const pod of [...this.runtime.pods.values()].slice(1)) {
      for (const container of [...this.runtime.containers.values()].filter(
        ({ podSandboxId }) => podSandboxId === pod.id,
      )) {
        await this.runtime.stopContainer(container).catch(() => undefined);
        await this.runtime.removeContainer(container).catch(() => undefined);
      }
      await this.runtime.removePod(pod).catch(() => undefined);
    }
  }

  /** The content of the state file. */
  state(): string {
    return readFileSync(join(this.paths['state-dir']!, 'state.json'), 'utf8');
  }

  /** Makes a cgroup of plain files; its effective CPUs are the written ones. */
  private makeCgroup(path: string, cpus: string): void {
    const parts = path.split('/').filter((part) => part !== '');
    parts.forEach((_, i) => {
      const dir = join(this.paths['cgroup-root']!, ...parts.slice(0, i + 1));
      mkdirSync(dir, { recursive: true });
      if (existsSync(join(dir, 'cpuset.cpus'))) return;
      writeFileSync(join(dir, 'cpuset.cpus'), `${i === parts.length - 1 ? cpus : '0-7'}\n`);
      symlinkSync('cpuset.cpus', join(dir, 'cpuset.cpus.effective'));
      for (const name of ['mems', 'mems.effective']) writeFileSync(join(dir, `cpuset.${name}`), '0\n');
      writeFileSync(join(dir, 'cpu.max'), 'max 100000\n');
    });
  }

  until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
    const condition = (): boolean | Promise<boolean> => {
      if (this.child.exitCode === null) return isSo();
      throw new Error(`the daemon has ended before ${what}:\n${this.log}${this.stderr}`);
    };
    return waitUntil(what, condition, undefined, { everyMs: 20, seen: () => this.log.slice(-3000) + this.stderr });
  }

  async stop(): Promise<{ status: number | null; stderr: string }> {
    await this.runtime?.close();
    this.child.kill('SIGTERM');
    return { status: await this.ended, stderr: this.stderr };
  }

  /** Ends what a test has left when it failed. */
  async kill(): Promise<void> {
    if (this.child.exitCode === null) this.child.kill('SIGKILL');
    await this.ended;
    await this.runtime?.close().catch(() => undefined);
  }
}

/** The node of the test that runs, from the moment that it has a process. */
let open: Node | undefined;
afterEach(async () => {
  await open?.kill();
  open = undefined;
});

async function startNode(options?: NodeOptions): Promise<Node> {
  open = new Node(options);
  await open.start();
  return open;
}

const PINNED = /^[1-7]$/;
const INTERNAL = /^refused: .*a fault in cpusetd kept it from deciding/;

/** For each broken port: the answer to a creation, and the alarm. */
const PORTS: readonly (readonly [port: string, creation: RegExp, alarm: RegExp | undefined])[] = [
  ['cgroup read', PINNED, /^internal-fault looking at .* an injected fault: cgroup read$/],
  ['cgroup write', PINNED, undefined], // the runtime writes it instead
  ['inotify watch', PINNED, /^internal-fault watching /],
  ['save', /^refused: .*could not be written to disk/, /^state-not-saved .*an injected fault: save$/],
  ['sysfs read', PINNED, /^internal-fault following the machine/],
  ['sign of life', PINNED, /^internal-fault giving a sign of life/],
  ['kubelet file', PINNED, /^internal-fault looking at the kubelet/],
  ['metrics', PINNED, undefined], // only the log has it
  ['API server client', PINNED, undefined], // `kube` is not serving, as while it is away
  ['CRI client', PINNED, undefined], // records are tried again
  ['NRI handler', INTERNAL, undefined], // each answer has it
  ['clock', INTERNAL, undefined],
  ['log', PINNED, undefined], // the log is the only place for it
];

test('each port in turn throws: the daemon goes on, answers and raises alarms as in the table, and recovers afterwards', async () => {
  const node = await startNode();
  await node.run(0); // a shared container, which has to move each time
  expect(await node.run(1000)).toMatch(PINNED);
  await node.clear();
  for (const [port, creation, alarm] of PORTS) {
    node.breakPort(port);
    const answers = new Set<string>();
    await node.until(`${port} throws`, async () => {
      await node.clear(); // the last container stays, for rounds of the reconciler
      answers.add((await node.run(1000)).replace(/^[1-7]$/, '1'));
      return node.countThrown(port) >= 3;
    });
    expect([port, [...answers]]).toEqual([port, [expect.stringMatching(creation)]]);
    // The admin socket works meanwhile, except without a clock: its answers have times in them.
    if (port !== 'clock') expect([port, (await node.ask('health')).status]).toEqual([port, 0]);
    if (alarm)
      await node.until(`${port} is an alarm`, async () =>
        (await node.alarms()).some(({ kind, because }) => alarm.test(`${kind} ${because}`)),
      );
    node.breakPort(port, false);
    await node.clear();
    await node.until(`nothing is left of ${port}`, async () =>
      (await node.alarms()).every(({ kind }) => kind === 'api-server'),
    );
    expect([port, await node.run(1000)]).toEqual([port, expect.stringMatching(PINNED)]);
    await node.clear();
  }
  expect(await node.stop()).toEqual({ status: 0, stderr: '' });
  expect(node.log).not.toMatch(/"level":"fatal"|unhandled/i);
  // A fault that lasts is logged once, and not with every round or event.
  const faults = node.log.split('\n').filter((line) => line.includes('a fault of cpusetd; everything else goes on'));
  const parts = faults.map((line) => (JSON.parse(line) as { part: string }).part);
  expect(parts).toEqual(expect.arrayContaining(['counting for metrics', 'counting a save', 'giving a sign of life']));
  expect(parts).toEqual([...new Set(parts)]);
});

defineAsRoot(() =>
  test('no inotify watches left: the daemon goes on with an alarm, which ends without a restart when the limit is raised', async () => {
    const node = await startNode({ watches: 0 });
    expect(await node.run(1000)).toMatch(PINNED);
    await node.until('the alarm', async () => (await node.alarms()).some(({ kind }) => kind === 'not-watched'));
    expect((await node.alarms()).find(({ kind }) => kind === 'not-watched')).toMatchObject({
      because: expect.stringMatching(/ENOSPC.*raise fs.inotify.max_user_watches/),
    });
    const raise = 'echo 100 > /proc/sys/user/max_inotify_watches';
    execFileSync('nsenter', ['-t', String(node.child.pid), '-U', 'sh', '-c', raise]);
    await node.until('its end', async () => (await node.alarms()).every(({ kind }) => kind !== 'not-watched'));
    expect(await node.stop()).toEqual({ status: 0, stderr: '' });
  }),
);

/** The environment that systemd gives, with a stand-in for systemd-notify that writes into a file. */
function underSystemd(watchdogMs: number) {
  const bin = mkdtempSync(join(folder, 'bin-'));
  const file = join(bin, 'messages');
  writeFileSync(file, '');
  writeFileSync(join(bin, 'systemd-notify'), '#!/bin/sh\necho "$*" >> "$NOTIFY_SOCKET"\n', { mode: 0o755 });
  return {
    env: { PATH: `${bin}:/usr/bin:/bin`, NOTIFY_SOCKET: file, WATCHDOG_USEC: String(watchdogMs * 1000) },
    countFed: () =>
      readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line === 'WATCHDOG=1').length,
  };
}

test('a round that hangs: health is NOT_SERVING, an alarm is raised, the watchdog starves, containers are still pinned, and all is well when it ends', async () => {
  const systemd = underSystemd(1_200); // fed by a round in each 0.2 s
  const node = await startNode(systemd);
  await node.until('it is fed', () => systemd.countFed() > 2);
  node.breakPort('CRI answers');
  await node.until('it hangs', () => node.countThrown('CRI answers') > 0);
  await pause(1_000); // a message of the round before may be on its way
  const fed = systemd.countFed();
  await node.until('it is noticed', async () => (await node.ask('health')).status === 1);
  expect(await node.alarms()).toContainEqual(expect.objectContaining({ kind: 'rounds-stuck' }));
  expect((await node.ask('health', 'nri')).status).toBe(0);
  expect(await node.run(1000)).toMatch(PINNED);
  expect(systemd.countFed()).toBe(fed);
  node.breakPort('CRI answers', false);
  await node.until('it serves again', async () => (await node.ask('health')).status === 0);
  await node.until('it is fed again', () => systemd.countFed() > fed);
  expect((await node.alarms()).map(({ kind }) => kind)).not.toContain('rounds-stuck');
  node.breakPort('CRI answers');
  await node.until('it hangs again', () => node.countThrown('CRI answers') > 1);
  expect(await node.stop()).toEqual({ status: 0, stderr: '' }); // a round that hangs does not delay the end
});

test('a status that throws: containers are still pinned, and watchers get the next status', async () => {
  const node = await startNode();
  let watched = '';
  const watching = node.watchStatus((text) => (watched += text)); // gets changes in turns of its own
  await node.until('it is watched', () => watched !== '');
  node.breakPort('status');
  expect((await node.ask('status')).status).not.toBe(0);
  expect(await node.run(1000)).toMatch(PINNED);
  await node.until('the status for watchers throws', () => node.log.includes('finding what has changed'));
  node.breakPort('status', false);
  expect((await node.ask('status')).status).toBe(0);
  await node.until('the watcher gets the next status', () => watched.includes('c1'));
  expect(await node.stop()).toEqual({ status: 0, stderr: '' });
  await watching;
});

test.each(['uncaught exception', 'unhandled rejection'])(
  'an %s: the daemon ends with one log line and status 70, and its answers are on disk',
  async (kind) => {
    const node = await startNode();
    const cpus = await node.run(1000);
    const lines = node.log.split('\n').length;
    node.breakPort(kind);
    expect(await node.ended).toBe(70);
    const last = node.log
      .split('\n')
      .slice(lines - 1)
      .filter((line) => line.includes('"fatal"'));
    expect(last.map((line) => JSON.parse(line) as unknown)).toEqual([
      expect.objectContaining({
        level: 'fatal',
        msg: 'an unexpected error ends cpusetd; its next start goes on from the state on disk',
        err: expect.objectContaining({ message: 'nobody catches this' }),
      }),
    ]);
    expect(node.stderr).toBe('');
    expect(node.state()).toContain(`"cpus":"${cpus}"`);
  },
);

test('a log on a full disk: containers are still pinned and health is SERVING', async () => {
  const full = openSync('/dev/full', 'w');
  const node = await startNode({ stdout: full });
  closeSync(full);
  expect(await node.run(1000)).toMatch(PINNED);
  expect((await node.ask('health')).status).toBe(0);
  expect(await node.stop()).toEqual({ status: 0, stderr: '' });
});

test.each(['json', 'pretty'])(
  'a full log pipe without a reader: nothing is delayed, in the format %s',
  async (format) => {
    const path = join(folder, `pipe-${format}`);
    execFileSync('mkfifo', [path]);
    const pipe = openSync(path, 'r+'); // blocking, as a container's standard output is
    writeSync(pipe, Buffer.alloc(65_536, '\n'));
    const node = await startNode({ stdout: pipe, args: ['--log-format', format] });
    expect(await node.run(1000)).toMatch(PINNED);
    expect((await node.ask('health')).status).toBe(0);
    const text = Buffer.alloc(65_536);
    let log = '';
    await node.until('what was kept is written', () => {
      try {
        log += text.toString('utf8', 0, readSync(pipe, text));
      } catch (error) {
        expect(error).toHaveProperty('code', 'EAGAIN'); // the daemon has made the pipe so
      }
      return log.includes('started');
    });
    closeSync(pipe);
    expect(await node.stop()).toEqual({ status: 0, stderr: '' });
  },
);
