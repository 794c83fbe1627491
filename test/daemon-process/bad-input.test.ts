import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { builtBundle } from '../support/built-bundle';
import { daemonArguments, makeDaemonHost, type DaemonOptions } from '../support/daemon-paths';
import { changeTree, loadMachine, writeTree } from '../support/sysfs-tree';

/** Eight CPUs, 0-7. */
const MACHINE = loadMachine('1x4x2');
let folder: string;
let bundle: string;
const running = new Set<ChildProcess>();

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'run-'));
  bundle = join(folder, 'cpusetd.js');
  copyFileSync(builtBundle(), bundle);
  makeDaemonHost(folder, '1x4x2');
});
afterEach(() => {
  for (const child of running) child.kill('SIGKILL'); // of a test that failed
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** Valid arguments for a daemon, changed by these options; undefined removes an argument. */
function argumentsWith(options: DaemonOptions): string[] {
  return daemonArguments(folder, {
    'reserved-cpus': '0',
    'cgroup-writes': 'off',
    'state-dir': mkdtempSync(join(folder, 'state-')),
    'cri-endpoint': 'off',
    ...options,
  });
}

interface Daemon {
  readonly child: ChildProcess;
  readonly ended: Promise<{ status: number | null; stdout: string; stderr: string }>;
}

function start(options: DaemonOptions, env: Readonly<Record<string, string>> = {}): Daemon {
  const child = spawn(process.execPath, [bundle, ...argumentsWith(options)], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const ended = once(child, 'close').then(([status]) => {
    running.delete(child);
    return { status: status as number | null, stdout, stderr };
  });
  return { child, ended };
}

/** Expects one message that begins with the program's name, and no stack trace. */
function expectMessage(stderr: string, pattern: RegExp): void {
  expect(stderr).toMatch(/^cpusetd: /);
  expect(stderr).not.toMatch(/\n\s+at /);
  expect(stderr).toMatch(pattern);
}

describe('wrong usage: exit status 2', () => {
  test.each`
    name                                        | options                                                                                | message
    ${'an option that does not exist'}          | ${{ 'reserve-cpus': '0' }}                                                             | ${/unknown option '--reserve-cpus'\n\(Did you mean --reserved-cpus\?\)/}
    ${'reserved CPUs outside the machine'}      | ${{ 'reserved-cpus': '0,8-9' }}                                                        | ${/--reserved-cpus 0,8-9: .*8-9.* not online .*0-7/}
    ${'all CPUs reserved'}                      | ${{ 'reserved-cpus': '0-7' }}                                                          | ${/--reserved-cpus 0-7: all 8 online CPUs are reserved.*leave at least one/}
    ${'a reserved count of all CPUs'}           | ${{ 'reserved-cpus': undefined, 'reserved-cpu-count': '8' }}                           | ${/--reserved-cpu-count 8: all 8/}
    ${'a reserved count that rounds up to all'} | ${{ 'reserved-cpus': undefined, 'reserved-cpu-count': '7001m' }}                       | ${/--reserved-cpu-count 7001m: all 8/}
    ${'a list in another order'}                | ${{ 'reserved-cpus': '9,1,0' }}                                                        | ${/--reserved-cpus 9,1,0: /}
    ${'none reserved, policies chosen by pods'} | ${{ 'reserved-cpus': undefined, 'cpu-manager-policy': 'none', 'pod-policies': 'all' }} | ${/no CPU is reserved, and pods may choose .*--pod-policies.*set --reserved-cpus/}
    ${'no reservation at all'}                  | ${{ 'reserved-cpus': undefined }}                                                      | ${/no CPU is reserved.*set --reserved-cpus or --reserved-cpu-count/}
    ${'two reservations'}                       | ${{ 'reserved-cpu-count': '1' }}                                                       | ${/--reserved-cpus and --reserved-cpu-count: .*only one/}
    ${'an invalid list'}                        | ${{ 'reserved-cpus': '1-' }}                                                           | ${/--reserved-cpus: "1-" is not a list of CPUs; write/}
    ${'a policy that does not exist'}           | ${{ 'cpu-manager-policy': 'dynamic' }}                                                 | ${/--cpu-manager-policy: "dynamic" .*choose one of/}
    ${'a policy option that does not exist'}    | ${{ 'cpu-manager-policy-options': 'full-cpus=true' }}                                  | ${/--cpu-manager-policy-options.*full-cpus/}
    ${'a policy option that is not yes or no'}  | ${{ 'cpu-manager-policy-options': 'full-pcpus-only=maybe' }}                           | ${/full-pcpus-only.*maybe/}
    ${'a minimum of 0 shared CPUs'}             | ${{ 'min-shared-cpus': '0' }}                                                          | ${/--min-shared-cpus: "0"/}
    ${'a socket that is not absolute'}          | ${{ 'cri-endpoint': '/c.sock', mode: 'cri-proxy', 'cri-listen': 'l.sock' }}            | ${/--cri-listen: "l\.sock" is not an absolute path; write/}
    ${'a state folder that is not absolute'}    | ${{ 'state-dir': 'state' }}                                                            | ${/--state-dir: "state"/}
  `('$name', async ({ options, message }: { options: Record<string, string>; message: RegExp }) => {
    const { status, stderr, stdout } = await start(options).ended;
    expectMessage(stderr, message);
    // Only the line with the options in force may be logged before.
    const others = stdout.split('\n').filter((line) => !line.includes('"msg":"starting with these options"'));
    expect({ status, others }).toEqual({ status: 2, others: [''] });
  });
});

describe('a value that does not fit the machine: the message names the place where it was set', () => {
  test.each`
    what                       | options                                            | env                                                 | file                           | message
    ${'a variable'}            | ${{ 'reserved-cpus': undefined }}                  | ${{ CPUSETD_RESERVED_CPUS: '0,9' }}                 | ${undefined}                   | ${/^cpusetd: CPUSETD_RESERVED_CPUS 0,9: /}
    ${'a file'}                | ${{ 'reserved-cpus': undefined }}                  | ${{}}                                               | ${'\nreserved-cpu-count: 8\n'} | ${/^cpusetd: .*\/cpusetd\.yaml:2: reserved-cpu-count 8: all 8/}
    ${'a file of the kubelet'} | ${{ 'reserved-cpus': undefined }}                  | ${{ CPUSETD_KUBELET_CONFIG: '/nowhere/kubelet/' }}  | ${undefined}                   | ${/^cpusetd: CPUSETD_KUBELET_CONFIG \/nowhere\/kubelet\/: no such file; no CPU is reserved/}
    ${'policy options'}        | ${{}}                                              | ${{ CPUSETD_CPU_MANAGER_POLICY_OPTIONS: 'x=true' }} | ${undefined}                   | ${/^cpusetd: CPUSETD_CPU_MANAGER_POLICY_OPTIONS: unknown/}
    ${'a flag'}                | ${{ 'topology-manager-policy-options': 'x=true' }} | ${{}}                                               | ${undefined}                   | ${/^cpusetd: --topology-manager-policy-options: unknown/}
  `('$what', async ({ options, env, file, message }: Given) => {
    const config = join(folder, 'cpusetd.yaml');
    if (file !== undefined) writeFileSync(config, file);
    const { status, stderr } = await start({ ...options, ...(file !== undefined && { config }) }, env).ended;
    expectMessage(stderr, message);
    expect(status).toBe(2);
  });

  interface Given {
    readonly options: Record<string, string | undefined>;
    readonly env: Record<string, string>;
    readonly file?: string;
    readonly message: RegExp;
  }
});

describe('a machine that cannot be read: exit status 1', () => {
  test.each`
    name                            | changes                                          | message
    ${'no sysfs there'}             | ${undefined}                                     | ${/devices\/system\/cpu\/online: no such file; .*--sysfs-root/}
    ${'an invalid list'}            | ${{ 'cpu/online': 'all of them' }}               | ${/cpu\/online.*all of them/}
    ${'a core that is not its own'} | ${{ 'cpu/cpu3/topology/core_cpus_list': '0,4' }} | ${/cpu3\/topology\/core_cpus_list.*must contain CPU 3/}
  `('$name', async ({ changes, message }: { changes: Record<string, string | null> | undefined; message: RegExp }) => {
    const broken = mkdtempSync(join(folder, 'sys-'));
    if (changes) writeTree(broken, changeTree(MACHINE, changes));
    const { status, stderr } = await start({ 'sysfs-root': join(broken, 'sys') }).ended;
    expectMessage(stderr, message);
    expect(status).toBe(1);
  });
});

test('a machine of which only sockets can’t be read: it starts, and one line of the log says so', async () => {
  const broken = mkdtempSync(join(folder, 'sys-'));
  const sockets = {
    'cpu/cpuN*/topology/package_cpus_list': null,
    'cpu/cpuN*/topology/core_siblings_list': null,
    'cpu/cpu3/topology/physical_package_id': 'x',
  };
  writeTree(broken, changeTree(MACHINE, sockets));
  const { child, ended } = start({ 'sysfs-root': join(broken, 'sys') });
  const log = createInterface({ input: child.stdout! });
  const line = 'sysfs contradicts itself: the machine was read without these';
  for await (const text of log) if (text.includes(line)) break;
  child.kill('SIGTERM');
  const { stderr, stdout } = await ended;
  expect(stderr).toBe('');
  const lines = stdout.split('\n').filter((text) => text.includes(line));
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0]!)).toMatchObject({
    ignored: [expect.stringMatching(/cpu3\/topology\/physical_package_id: read "x"; a whole number/)],
  });
});

test('no cgroups there: exit status 1', async () => {
  const { status, stderr } = await start({ 'cgroup-root': join(folder, 'nowhere') }).ended;
  expectMessage(stderr, /nowhere: neither .*--cgroup-root/);
  expect(status).toBe(1);
});

test('state of a newer version: it is refused and left untouched', async () => {
  const stateDir = join(folder, 'newer');
  mkdirSync(stateDir);
  const newer = readFileSync(join(__dirname, '../fixtures/state/newer-v99.json'));
  writeFileSync(join(stateDir, 'state.json'), newer);
  const { status, stderr } = await start({ 'state-dir': stateDir }).ended;
  expectMessage(stderr, /state\.json: version 99 was written by cpusetd 9\.0\.0; .*reads up to 2/);
  expect(status).toBe(1);
  expect(readFileSync(join(stateDir, 'state.json')).equals(newer)).toBe(true);
  expect(readdirSync(stateDir).sort()).toEqual(['lock', 'state.json']);
});

describe('a state folder that cannot be used: exit status 1', () => {
  test.each(['a-file', 'a-file/below'])('a file at %s', async (name) => {
    writeFileSync(join(folder, 'a-file'), '');
    const { status, stderr } = await start({ 'state-dir': join(folder, name) }).ended;
    expectMessage(stderr, /a-file/);
    expect(status).toBe(1);
  });

  test('a path that cannot be made', async () => {
    const { status, stderr } = await start({ 'state-dir': '/proc/nowhere' }).ended;
    expectMessage(stderr, /\/proc\/nowhere: .*cannot be made.*ENOENT/);
    expect(status).toBe(1);
  });

  test('a folder of another daemon', async () => {
    const stateDir = join(folder, 'held');
    const first = start({ 'state-dir': stateDir });
    await lineOf(first, 'started');
    const { status, stderr } = await start({ 'state-dir': stateDir, 'admin-socket': join(folder, 'b.sock') }).ended;
    expectMessage(stderr, /locked by process \d+; two cpusetd can't share a state directory/);
    expect(status).toBe(1);
    first.child.kill('SIGTERM');
    expect((await first.ended).status).toBe(0);
  });

  test.each`
    name                              | first                           | second                                                 | isRefused
    ${'with its NRI socket'}          | ${{}}                           | ${{}}                                                  | ${true}
    ${'over a link to its directory'} | ${{}}                           | ${{ 'nri-socket': 'link/nri-socket' }}                 | ${true}
    ${'with its CRI socket'}          | ${{ 'cri-endpoint': 'c.sock' }} | ${{ 'cri-endpoint': 'c.sock', 'nri-socket': 'b.nri' }} | ${true}
    ${'as a proxy'}                   | ${{ 'cri-endpoint': 'c.sock' }} | ${{ 'cri-endpoint': 'c.sock', mode: 'cri-proxy' }}     | ${true}
    ${'but another runtime'}          | ${{ 'cri-endpoint': 'c.sock' }} | ${{ 'cri-endpoint': 'd.sock', 'nri-socket': 'b.nri' }} | ${false}
  `(
    'another daemon serves the runtime, with a state of its own: $name',
    async ({
      first,
      second,
      isRefused,
    }: Record<'first' | 'second', Record<string, string>> & { isRefused: boolean }) => {
      const below = (options: Record<string, string>): Record<string, string> =>
        Object.fromEntries(
          Object.entries(options).map(([name, value]) => [name, name === 'mode' ? value : join(folder, value)]),
        );
      if (!existsSync(join(folder, 'link'))) symlinkSync(folder, join(folder, 'link'));
      const own = start(below(first));
      await lineOf(own, 'started');
      const other = start(below({ ...second, 'admin-socket': 'b.sock', 'cri-listen': 'l.sock' }));
      if (isRefused) {
        const { status, stderr } = await other.ended;
        expectMessage(
          stderr,
          /the runtime at .* is locked by process \d+ .*only one cpusetd may serve a runtime: stop/,
        );
        expect(status).toBe(1);
      } else {
        await lineOf(other, 'started');
        other.child.kill('SIGTERM');
        expect((await other.ended).status).toBe(0);
      }
      own.child.kill('SIGTERM');
      expect((await own.ended).status).toBe(0);
    },
  );

  test('two options for one socket, one of them over a link: wrong usage', async () => {
    if (!existsSync(join(folder, 'link'))) symlinkSync(folder, join(folder, 'link'));
    const options = { 'admin-socket': join(folder, 'x.sock'), 'pod-resources-socket': join(folder, 'link/x.sock') };
    const { status, stderr } = await start(options).ended;
    expectMessage(
      stderr,
      /--admin-socket and --pod-resources-socket .*link\/x\.sock: both lead to one socket; set another/,
    );
    expect(status).toBe(2);
  });

  test('a state folder that others can write to: its mode is changed, with a warning', async () => {
    const stateDir = mkdtempSync(join(folder, 'open-'));
    chmodSync(stateDir, 0o777);
    execFileSync('mkfifo', [
      join(stateDir, 'lock'),
      join(stateDir, 'state.json'),
      join(stateDir, 'kubelet-config.json'),
    ]);
    const daemon = start({ 'state-dir': stateDir });
    expect(await lineOf(daemon, 'a directory was open to others')).toMatchObject({
      because: expect.stringContaining(`${stateDir} had mode 777`),
    });
    expect(statSync(stateDir).mode & 0o777).toBe(0o755);
    daemon.child.kill('SIGTERM');
    expect((await daemon.ended).status).toBe(0);
    expect(readdirSync(stateDir)).toContain('state.json.bad-1');
  });
});

/** Waits for a line of the log with this message, and returns it. */
async function lineOf({ child }: Daemon, message: string): Promise<Record<string, unknown>> {
  for await (const line of createInterface({ input: child.stdout! })) {
    const entry = JSON.parse(line) as Record<string, unknown>;
    if (entry.msg === message) return entry;
  }
  throw new Error(`the daemon ended without the log line: ${message}`);
}

describe('a runtime that is not there: the daemon waits for it', () => {
  const NOT_CONNECTED = 'not connected to the runtime: new containers are not pinned';

  test('no socket: one warning is logged, and the daemon connects as soon as there is one', async () => {
    const nriSocket = join(folder, 'late.sock');
    const daemon = start({ 'state-dir': join(folder, 'late'), 'nri-socket': nriSocket });
    const { level, reason } = await lineOf(daemon, NOT_CONNECTED);
    expect({ level, reason }).toEqual({
      level: 'warn',
      reason: expect.stringMatching(/^no socket at .*late\.sock: .*set --nri-socket/),
    });
    const server = createServer((socket) => socket.on('error', () => undefined).resume());
    server.listen(nriSocket);
    await once(server, 'connection');
    daemon.child.kill('SIGTERM');
    const { status, stderr } = await daemon.ended;
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    await new Promise((resolve) => server.close(resolve));
  });

  test('a path that is no socket: the warning names the option, and the daemon goes on', async () => {
    const nriSocket = join(folder, 'no-socket');
    writeFileSync(nriSocket, '');
    const daemon = start({ 'state-dir': join(folder, 'no-socket-state'), 'nri-socket': nriSocket });
    const { reason } = await lineOf(daemon, NOT_CONNECTED);
    expect(reason).toMatch(/no-socket is not a socket: set --nri-socket/);
    expect(daemon.child.exitCode).toBeNull();
    daemon.child.kill('SIGTERM');
    expect((await daemon.ended).status).toBe(0);
  });
});
