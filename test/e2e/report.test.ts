import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  bundle,
  type Daemon,
  exclusiveList,
  lastCpu,
  onRuntimes,
  poll,
  type Runtime,
  startDaemon,
  startRuntime,
  waitUntil,
} from './rig';

jest.setTimeout(300_000);

const run = promisify(execFile);
const NODE = 'planted-node';
const VALUE = 'planted-value';
const options = ['--reserved-cpus', '0', '--pod-policies', 'all', '--node-name', NODE];

onRuntimes(['sid'], 'cpusetd report', (suite) => {
  let runtime: Runtime;
  let daemon: Daemon;
  let dir: string;
  let pod: { readonly namespace: string; readonly name: string; readonly uid: string };
  beforeAll(async () => {
    runtime = await startRuntime({ suite, nri: true });
    daemon = startDaemon({ runtime, args: options });
    await daemon.ready();
    // Events before the first file are in its list of the node, and no request of a replay.
    const journal = join(daemon.stateDir, 'journal/00000001.jsonl');
    await waitUntil('the journal to begin', () => existsSync(journal));
    const annotations = { 'cpusetd.io/policy': VALUE };
    const made = await runtime.kubelet.runPod({
      name: 'planted-pod',
      annotations,
      containers: [{ name: 'db', cpus: lastCpu }],
    });
    await made.startContainer('db');
    pod = made;
  });
  afterAll(async () => {
    await daemon?.dispose();
    await runtime?.stop();
  });
  beforeEach(() => (dir = mkdtempSync(join(tmpdir(), 'cpusetd-report-'))));
  afterEach(() => rmSync(dir, { recursive: true }));

  /** Writes a report and unpacks it with tar: its files by their paths, and the folder that they are in. */
  const report = async (...more: string[]) => {
    const path = join(dir, 'r.tar.gz');
    const paths = ['--state-dir', daemon.stateDir, '--admin-socket', daemon.adminSocket];
    paths.push('--kubelet-root-dir', join(dir, 'kubelet'));
    const sockets = ['--nri-socket', runtime.nriSocket, '--cri-endpoint', runtime.criSocket];
    const command = [bundle, 'report', '--output', path, ...options, ...paths, ...sockets, ...more];
    const started = performance.now();
    const { stdout } = await run(process.execPath, command, { env: { PATH: process.env['PATH'] } });
    const ms = performance.now() - started;
    expect(statSync(path).mode & 0o777).toBe(0o600);
    await run('tar', ['xzf', path, '-C', dir]);
    const folder = join(
      dir,
      readdirSync(dir).find((name) => name.startsWith('cpusetd-report-'))!,
    );
    const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
      statSync(join(folder, name)).isFile(),
    );
    const files = new Map(names.map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
    const index = JSON.parse(files.get('index.json')!) as {
      readonly missing: readonly { name: string; because: string }[];
    };
    return { stdout, ms, folder, files, missing: index.missing };
  };
  /** The files that have the text as a word: the name of this host may be a part of another word. */
  const whereFound = (files: ReadonlyMap<string, string>, word: string): string[] => {
    const pattern = new RegExp(`(?<![A-Za-z0-9])${word.replaceAll('.', '\\.')}(?![A-Za-z0-9])`);
    return [...files].flatMap(([name, text]) => (pattern.test(text) ? [name] : [])).sort();
  };

  test('a daemon with a pod: status, state, journal and the machine agree, and hosts and values of annotations are left out', async () => {
    const { files, missing, folder } = await poll('the journal', async () => {
      rmSync(dir, { recursive: true });
      dir = mkdtempSync(join(tmpdir(), 'cpusetd-report-'));
      const made = await report();
      return made.files.get('journal/00000001.jsonl')?.includes('"kind":"pinned"') ? made : undefined;
    });
    // There is a file of refusals only after one.
    expect(missing.map(({ name }) => name)).toEqual(['state/refusals.json']);
    const status = JSON.parse(files.get('daemon/status.json')!) as {
      containers: { container: string; promise: { cpus: string } }[];
    };
    expect(status.containers.find(({ container }) => container === 'db')!.promise.cpus).toBe(exclusiveList);
    expect(JSON.parse(files.get('daemon/health.json')!)).toMatchObject({ nri: 'SERVING' });
    expect(JSON.parse(files.get('state/state.json')!)).toMatchObject({
      assignments: [{ podUid: pod.uid, cpus: exclusiveList }],
    });
    expect(files.get('cgroups.json')!.replaceAll('_', '-')).toContain(pod.uid.replaceAll('_', '-'));
    for (const word of [NODE, hostname(), VALUE]) expect([word, whereFound(files, word)]).toEqual([word, []]);
    expect(whereFound(files, pod.name)).toEqual(
      expect.arrayContaining(['daemon/status.json', 'journal/00000001.jsonl', 'state/state.json']),
    );

    // The use that the pages describe.
    const { stdout } = await run(process.execPath, [bundle, 'replay', join(folder, 'journal'), '-o', 'json']);
    expect(JSON.parse(stdout)).toMatchObject({
      requests: 1,
      recorded: { pinned: 1 },
      replayed: { pinned: 1 },
      different: [],
    });
    const state = join(folder, 'state');
    expect((await run(process.execPath, [bundle, 'state', 'verify', '--state-dir', state])).stdout).toContain(
      'good: 1 assignment',
    );
    const machine = ['topology', '--topology', join(folder, 'topology.jsonl'), '-o', 'json'];
    expect(JSON.parse((await run(process.execPath, [bundle, ...machine])).stdout)).toMatchObject({
      online: expect.any(String),
    });
  });

  test('--redact pods leaves out the names of pods too, and the journal is replayed all the same', async () => {
    const { files, folder } = await report('--redact', 'pods');
    for (const word of [NODE, VALUE, pod.name]) expect([word, whereFound(files, word)]).toEqual([word, []]);
    const { stdout } = await run(process.execPath, [bundle, 'replay', join(folder, 'journal'), '-o', 'json']);
    expect(JSON.parse(stdout)).toMatchObject({ requests: 1, replayed: { pinned: 1 }, different: [] });
  });

  test('a daemon that hangs: its state and journal are there, and it is told that it does not answer', async () => {
    process.kill(daemon.pid, 'SIGSTOP');
    try {
      const { files, missing, ms } = await report();
      const hanging = missing.filter(({ name }) => name.startsWith('daemon/'));
      expect(hanging.map(({ name }) => name).sort()).toEqual([
        'daemon/health.json',
        'daemon/status.json',
        'daemon/topology.json',
      ]);
      for (const { because } of hanging) expect(because).toContain('has not answered within 3 s');
      expect(files.get('state/state.json')).toContain(pod.uid);
      expect(files.get('journal/00000001.jsonl')).toContain('"kind":"pinned"');
      expect(ms).toBeGreaterThan(3_000);
    } finally {
      process.kill(daemon.pid, 'SIGCONT');
    }
  });

  test('without a daemon: all but what it says itself', async () => {
    await daemon.stop('SIGTERM');
    const { files, missing } = await report();
    expect(missing.map(({ name }) => name)).toEqual(['daemon', 'state/refusals.json']);
    expect(missing[0]!.because).toContain('no cpusetd at');
    expect(files.get('journal/00000001.jsonl')).toContain('"kind":"stopped"');
    expect(JSON.parse(files.get('check.json')!)).toMatchObject({
      facts: { nri: { presence: 'live' }, runtime: { ok: true } },
    });
  });
});
