import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parse } from 'yaml';

import { parseCpuList } from '../../src/core/cpuset';
import { container, sampleStatus } from '../admin/sample-status';
import { withAdminRig } from '../admin/with-admin-server';
import { builtBundle } from '../support/built-bundle';
import { runInProcess as cpusetd, type CliRun } from '../support/run-cli';

let bundle: string;
let folder: string;

beforeAll(() => {
  bundle = builtBundle();
  folder = mkdtempSync(join(tmpdir(), 'cli-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Shown {
  readonly node: { readonly sharedPool: string };
  readonly containers: readonly unknown[];
}

/** Runs the bundle as a user would, with nothing else in the environment. For what a run in this process would not show. */
function runBundle(args: readonly string[], input = '', env: Record<string, string> = {}): Promise<CliRun> {
  const child = spawn(process.execPath, [bundle, ...args], { env, stdio: 'pipe' });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  child.stdin.on('error', () => undefined).end(input);
  return new Promise((resolve) => child.on('close', (status) => resolve({ status: status ?? -1, stdout, stderr })));
}

describe('usage', () => {
  test.each`
    args                                                                          | message
    ${['nope']}                                                                   | ${"cpusetd: unknown command 'nope'"}
    ${['run', '--nope']}                                                          | ${'See cpusetd run --help.'}
    ${['run', '--reserved-cpu', '0']}                                             | ${'(Did you mean --reserved-cpus?)'}
    ${['run', '--log-level']}                                                     | ${"option '--log-level <trace|debug|info|warn|error|fatal>' argument missing"}
    ${['run', 'extra']}                                                           | ${'too many arguments'}
    ${['run']}                                                                    | ${'cpusetd: no CPU is reserved, and the static policy needs at least one for the system; set'}
    ${['run', '--reserved-cpus', '0', '--log-level', 'x']}                        | ${'cpusetd: --log-level: "x" is not a known value; choose one of trace'}
    ${['run', '--log-level', 'info', '--log-level', 'info']}                      | ${'cpusetd: --log-level: is given 2 times; give it once'}
    ${['run', '--config', '/nope']}                                               | ${'cpusetd: --config /nope: no such file; check the path'}
    ${['status', '-o', 'xml']}                                                    | ${"argument 'xml' is invalid. Allowed choices are table, json, yaml."}
    ${['status', '--watch=1']}                                                    | ${'cpusetd: '}
    ${['health', 'a', 'b']}                                                       | ${'too many arguments'}
    ${['state', 'import-kubelet']}                                                | ${'See cpusetd state import-kubelet --help.'}
    ${['state', 'show', '-o', 'xml']}                                             | ${'See cpusetd state show --help.'}
    ${['allocate', '--batch', '-']}                                               | ${'cpusetd: no machine is given; name a file of machines with --topologies'}
    ${['allocate', '--batch', '-', '--topologies', '/no']}                        | ${'cpusetd: --topologies /no: no such file; check the path'}
    ${['allocate', '--batch', '-', '--topology', 'live', '--options', 'a=1,a=2']} | ${'cpusetd: --options: "a=1,a=2" sets a twice; set it once'}
    ${['allocate', '--batch', '-', '--topology', 'live', '--options', 'a']}       | ${'cpusetd: --options: "a" has a part that is no pair (a); write name=value, separated by commas'}
  `('cpusetd $args is wrong usage: exit 2 and a message', async ({ args, message }) => {
    const ended = await cpusetd(args);
    expect(ended).toMatchObject({ status: 2, stdout: '', stderr: expect.stringContaining(message) });
  });

  test('without a command the help goes to standard error', async () => {
    expect(await runBundle([])).toMatchObject({
      status: 2,
      stdout: '',
      stderr: expect.stringContaining('Usage: cpusetd'),
    });
  });

  test.each([['--help'], ['run', '--help'], ['status', '-h']])('%s %s prints help', async (...args) => {
    expect(await cpusetd(args)).toMatchObject({
      status: 0,
      stderr: '',
      stdout: expect.stringContaining('Usage: cpusetd'),
    });
  });

  test.each([
    [],
    ['run'],
    ['status'],
    ['topology'],
    ['explain'],
    ['health'],
    ['allocate'],
    ['state'],
    ['state', 'show'],
    ['state', 'import-kubelet'],
  ])('%s %s --help fits 80 columns', async (...command) => {
    const { stdout } = await cpusetd([...command, '--help']);
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });

  test('run --help shows every option with default and variable', async () => {
    const { stdout } = await cpusetd(['run', '--help']);
    expect(stdout.replace(/\s+/g, ' ')).toContain(
      '--reconcile-period <duration> how often every promise is compared with the kernel (default 10s, CPUSETD_RECONCILE_PERIOD)',
    );
  });

  test('--version prints the version of package.json', async () => {
    const { version } = jest.requireActual<{ version: string }>('../../package.json');
    expect(await runBundle(['--version'])).toEqual({ status: 0, stdout: `${version}\n`, stderr: '' });
  });

  test('a wrong variable is reported by its name', async () => {
    const env = { CPUSETD_RESERVED_CPUS: 'x', CPUSETD_NOPE: '1' };
    const { status, stderr } = await cpusetd(['run'], { env });
    expect(status).toBe(2);
    expect(stderr.trim().split('\n')).toEqual([
      expect.stringContaining('cpusetd: CPUSETD_NOPE: no such option'),
      expect.stringContaining('cpusetd: CPUSETD_RESERVED_CPUS: "x" is not a list of CPUs'),
    ]);
  });
});

describe('health', () => {
  test.each`
    all              | args       | status
    ${'SERVING'}     | ${[]}      | ${0}
    ${'NOT_SERVING'} | ${[]}      | ${1}
    ${'SERVING'}     | ${['nri']} | ${1}
  `('with the server $all, health $args exits $status', async ({ all, args, status }) => {
    await withAdminRig(async ({ start, health, socketPath }) => {
      await start();
      health.set('', all);
      expect(await cpusetd(['health', ...args, '--admin-socket', socketPath])).toMatchObject({ status, stderr: '' });
    });
  });

  test('every service is named', async () => {
    await withAdminRig(async ({ start, health, socketPath }) => {
      await start();
      health.set('', 'SERVING');
      health.set('cpusetd.v1.CpuManager', 'SERVING');
      const { stdout } = await runBundle(['health'], '', { CPUSETD_ADMIN_SOCKET: socketPath });
      expect(stdout).toBe(
        [
          'SERVICE                STATUS',
          '(all)                  SERVING',
          'cpusetd.v1.CpuManager  SERVING',
          'nri                    NOT_SERVING',
          'cri                    NOT_SERVING',
          'kube                   NOT_SERVING',
          'ALARM repairs-stopped: someone changes it again',
          '',
        ].join('\n'),
      );
    });
  });

  test('a service that does not exist is wrong usage', async () => {
    await withAdminRig(async ({ start, socketPath }) => {
      await start();
      for (const args of [['x'], ['x', '--watch']]) {
        expect(await cpusetd(['health', ...args, '--admin-socket', socketPath])).toEqual({
          status: 2,
          stdout: '',
          stderr: expect.stringMatching(
            /^cpusetd: "x": the daemon has no such service; choose one of cpusetd\.v1\.CpuManager, nri, cri/,
          ),
        });
      }
    });
  });

  test('--watch prints a line at every change, and ends with exit 1 when the daemon ends', async () => {
    await withAdminRig(async ({ start, health, socketPath }) => {
      const server = await start();
      const child = spawn(process.execPath, [bundle, 'health', 'nri', '-w', '--admin-socket', socketPath], {
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const ended = new Promise((resolve) => child.on('close', resolve));
      let stderr = '';
      child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      const next = async (): Promise<unknown> => (await lines.next()).value;
      expect(await next()).toBe('NOT_SERVING');
      health.set('nri', 'SERVING');
      expect(await next()).toBe('SERVING');
      await server.close();
      expect(await next()).toBe('NOT_SERVING');
      expect([await ended, stderr]).toEqual([1, 'cpusetd: cpusetd ended the watch: it is shutting down\n']);
    });
  });

  test('--watch ends in order when it is stopped', async () => {
    await withAdminRig(async ({ start, socketPath }) => {
      await start();
      const stop = new AbortController();
      const ended = cpusetd(['health', '--watch', '--admin-socket', socketPath], { signal: stop.signal });
      setTimeout(() => stop.abort(), 100);
      expect(await ended).toMatchObject({ status: 0, stderr: '' });
    });
  });

  test('without a daemon the answer is no, with the reason', async () => {
    expect(await cpusetd(['health', '--admin-socket', join(folder, 'none.sock')])).toMatchObject({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(/^cpusetd: no cpusetd at .*none\.sock: there is no such socket; start cpusetd/),
    });
  });

  test('a file that is no socket is reported as such', async () => {
    const path = join(folder, 'file');
    writeFileSync(path, '');
    const { status, stderr } = await cpusetd(['health', '--admin-socket', path]);
    expect([status, stderr]).toEqual([1, expect.stringContaining('this is not a socket')]);
  });
});

describe('status', () => {
  test('the table is aligned, exclusive containers first, with the reasons', async () => {
    await withAdminRig(async ({ start, socketPath }) => {
      await start();
      const { status, stdout } = await cpusetd(['status', '--admin-socket', socketPath]);
      expect(status).toBe(0);
      const lines = stdout.split('\n');
      expect(lines).toContain('shared pool: 0-1,6-7');
      expect(lines).toContain('free:        1,6-7 (3 CPUs)');
      expect(lines).toContain('cri:         connecting since 2026-11-21T10:00:00Z: connection refused');

      const top = lines.findIndex((line) => line.startsWith('POD '));
      const header = lines[top]!;
      const rows = lines.slice(top + 1, top + 6);
      const column = (row: string, name: string): string => row.slice(header.indexOf(name)).split('  ')[0]!;
      expect(
        rows.map((row) => [
          column(row, 'CONTAINER'),
          column(row, 'PLACEMENT'),
          column(row, 'POLICY'),
          column(row, 'NODES'),
          column(row, 'PROMISED'),
          column(row, 'VERDICT'),
          column(row, 'BECAUSE'),
          column(row, 'POD UID'),
        ]),
      ).toEqual([
        ['app', 'exclusive', 'static', '-', '2-3', 'violated', 'CPU 3 is offline', 'uid-web'],
        [
          'numa',
          'numa',
          'numa, by topology.crane.io/cpu-policy',
          '0-1',
          '0-1,6-7',
          'unknown',
          'not a whole number of CPUs',
          'uid-far',
        ],
        ['sidecar', 'shared', '-', '-', '0-1,6-7', 'kept', 'not a whole number of CPUs', 'uid-web'],
        ['x', 'left-alone', '-', '-', '-', 'unknown', 'policy none', 'uid-old'],
        ['(pause)', 'shared', '-', '-', '0-1,6-7', 'kept', 'not a whole number of CPUs', 'uid-far'],
      ]);
      expect(stdout).toContain('default/job  init       static  4-5');
    });
  });

  test('json names ids, pod uid, namespace, pod and container; CPU sets are texts', async () => {
    await withAdminRig(async ({ start, socketPath }) => {
      await start();
      const { stdout } = await cpusetd(['status', '-o', 'json', '--admin-socket', socketPath]);
      expect(JSON.parse(stdout)).toEqual(JSON.parse(JSON.stringify(sampleStatus)));
    });
  });

  test('yaml has the same data', async () => {
    await withAdminRig(async ({ start, socketPath }) => {
      await start();
      const { stdout } = await cpusetd(['status', '-o', 'yaml', '--admin-socket', socketPath]);
      expect(parse(stdout)).toEqual(JSON.parse(JSON.stringify(sampleStatus)));
    });
  });

  test('control characters in names are escaped', async () => {
    await withAdminRig(async ({ start, backend, socketPath }) => {
      const evil = {
        ...container({ id: 'e', pod: 'a\u001b[2Jb\nc', container: 'x', placement: 'shared', requested: 0 }),
      };
      backend.current = { ...sampleStatus, containers: [evil], idle: [] };
      await start();
      const { stdout } = await cpusetd(['status', '--admin-socket', socketPath]);
      expect(stdout).toContain('default/a\\u001b[2Jb\\u000ac');
      expect(stdout).not.toContain('\u001b');
    });
  });

  test('--watch prints the whole at every change, until it is stopped', async () => {
    await withAdminRig(async ({ start, backend, socketPath }) => {
      await start();
      const args = [bundle, 'status', '--watch', '-o', 'json', '--admin-socket', socketPath];
      const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
      const ended = new Promise((resolve) => child.on('close', resolve));
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      const next = async (): Promise<Shown> => JSON.parse((await lines.next()).value as string) as Shown;

      expect(await next()).toEqual(JSON.parse(JSON.stringify(sampleStatus)));
      backend.tell({ kind: 'container-removed', id: 'c' });
      expect((await next()).containers).toHaveLength(sampleStatus.containers.length - 1);
      backend.tell({ kind: 'node', node: { ...sampleStatus.node, sharedPool: parseCpuList('0') } });
      expect((await next()).node.sharedPool).toBe('0');
      child.kill('SIGINT');
      expect(await ended).toBe(0);
    });
  });

  test('--watch of a daemon that ends is exit 1 with the reason', async () => {
    await withAdminRig(async ({ start, socketPath }) => {
      const server = await start();
      const child = spawn(process.execPath, [bundle, 'status', '-w', '--admin-socket', socketPath], { stdio: 'pipe' });
      const ended = new Promise((resolve) => child.on('close', resolve));
      let stderr = '';
      child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
      await new Promise((resolve) => child.stdout.once('data', resolve));
      await server.close();
      expect([await ended, stderr]).toEqual([1, 'cpusetd: cpusetd ended the watch: it is shutting down\n']);
    });
  });
});

describe('topology', () => {
  const row = '7    3     1       1     1      shared    -            -';

  test.each`
    args               | shows
    ${[]}              | ${'socket 0, NUMA node 0, 8 GiB    socket 1, NUMA node 1, 8 GiB\n0# 1.                           2A 3A\n4b 5b                           6. 7.\n'}
    ${['-o', 'table']} | ${row}
    ${['-o', 'json']}  | ${'"offline": "8"'}
  `('$args shows what the daemon tells', async ({ args, shows }: { args: string[]; shows: string }) => {
    await withAdminRig(async ({ start, socketPath }) => {
      await start();
      const ended = await cpusetd(['topology', ...args, '--admin-socket', socketPath]);
      expect(ended).toMatchObject({ status: 0, stderr: '', stdout: expect.stringContaining(shows) });
    });
  });

  test('without a daemon it shows the machine of a file', async () => {
    const path = join(folder, 'machine.jsonl');
    writeFileSync(path, '{"name":"m","cpus":[[0,0,0,0,0],[1,1,0,0,0],[2,0,0,0,0],[3,1,0,0,0]]}\n');
    expect((await cpusetd(['topology', '--topology', path])).stdout).toContain('\n0  1\n2  3\n');
  });

  test.each([
    [['topology', '-o', 'yaml'], "argument 'yaml' is invalid. Allowed choices are map, table, json."],
    [['topology', '--topology', '/nope'], '--topology /nope: no such file; check the path'],
  ])('cpusetd %j is wrong usage', async (args, message) => {
    expect(await cpusetd(args)).toMatchObject({ status: 2, stdout: '', stderr: expect.stringContaining(message) });
  });
});

describe('allocate', () => {
  const machine = '{"name":"m","cpus":[[0,0,0,0,0],[1,1,0,0,0],[2,0,0,0,0],[3,1,0,0,0]]}\n';
  const request = '{"id":1,"topology":"m","algorithm":"packed","available":"0-3","numCPUs":1}\n';
  const answered = '{"id":1,"result":"0","because":"no whole core fits: 1 CPU of cores where the fewest are free"}\n';
  let topologies: string;

  beforeAll(() => {
    topologies = join(folder, 'topologies.jsonl');
    writeFileSync(topologies, machine);
  });

  test('lines of standard input are answered one for one', async () => {
    const args = ['allocate', '--batch', '-', '--topologies', topologies];
    expect(await runBundle(args, `${request}\n${request}`)).toEqual({
      status: 0,
      stdout: answered.repeat(2),
      stderr: '',
    });
  });

  test('a line that can not be read is exit 1, and the others are answered', async () => {
    const args = ['allocate', '--batch', '-', '--topologies', topologies];
    expect(await cpusetd(args, { input: `{\n${request}` })).toEqual({
      status: 1,
      stdout: `{"line":1,"error":"not a line of JSON"}\n${answered}`,
      stderr: '',
    });
  });

  test('a missing batch file is wrong usage', async () => {
    expect(await cpusetd(['allocate', '--batch', '/nope', '--topologies', topologies])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining("--batch /nope: can't be read (ENOENT)"),
    });
  });

  test('a line is whole wherever the pieces of a long file end, and only a line feed ends one', async () => {
    const batch = join(folder, 'long.jsonl');
    const idOf = (i: number) => `${i} äöü\u2028 ${'x'.repeat(i % 97)}`;
    const ids = Array.from({ length: 3_000 }, (_, i) => idOf(i));
    const lines = ids.map((id) => JSON.stringify({ id, topology: 'm', available: '0-3', numCPUs: 1 }));
    writeFileSync(batch, lines.join('\n')); // the last one without an end
    const { status, stdout } = await cpusetd(['allocate', '--batch', batch, '--topologies', topologies]);
    const answers = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { id: string; result: string });
    expect({ status, answers: answers.length }).toEqual({ status: 0, answers: ids.length });
    expect(answers.map(({ id }) => id)).toEqual(ids);
    expect(new Set(answers.map(({ result }) => result))).toEqual(new Set(['0']));
  });

  test('a reader that closes the pipe ends it quietly', () => {
    const batch = join(folder, 'batch.jsonl');
    writeFileSync(batch, request.repeat(20_000));
    const shell = `"${process.execPath}" "${bundle}" allocate --batch "${batch}" --topologies "${topologies}" | head -n 1`;
    expect(execFileSync('sh', ['-c', shell], { encoding: 'utf8', stdio: 'pipe' })).toBe(answered);
  });
});
