import { readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { runCli } from '../../../src/cli/program';
import { useTempDirs } from '../../state/support/temp-dir';
import { runInProcess } from '../../support/run-cli';
import { extractReport } from '../report/extract';

const makeDir = useTempDirs();

const flagsIn = (dir: string): readonly string[] =>
  Object.entries({
    'reserved-cpus': '0',
    'nri-socket': `${dir}/nri.sock`,
    'cri-endpoint': 'off',
    'kubelet-root-dir': dir,
    'state-dir': join(dir, 'state'),
    'admin-socket': join(dir, 'admin.sock'),
  }).map(([name, value]) => `--${name}=${value}`);

const readIndex = (files: ReadonlyMap<string, string>) =>
  JSON.parse(files.get('index.json')!) as { missing: { name: string; because: string }[]; files: { name: string }[] };

test('without a daemon: a file for its owner, with what can be had, and the reasons for the rest', async () => {
  const dir = makeDir();
  const path = join(dir, 'r.tar.gz');
  const run = await runInProcess(['report', '--output', path, ...flagsIn(dir)]);
  expect(run).toMatchObject({ status: 0, stderr: '' });
  expect(run.stdout).toMatch(
    /^\/.*r\.tar\.gz: \d+ files, \d+ KiB; 5 could not be had: .*index\.json says why\nHost names, .*--redact pods.*\nLook through it/,
  );
  expect(statSync(path).mode & 0o777).toBe(0o600);
  const { missing, files } = readIndex(await extractReport(readFileSync(path)));
  expect(missing.map(({ name }) => name)).toEqual([
    'daemon',
    'state/files.json',
    'state/state.json',
    'state/refusals.json',
    'journal',
  ]);
  expect(missing[0]!.because).toContain('there is no such socket');
  expect(files.map(({ name }) => name)).toContain('check.json');
});

test('a file that is there is not replaced', async () => {
  const dir = makeDir();
  const path = join(dir, 'r.tar.gz');
  const args = ['report', '--output', path, ...flagsIn(dir)];
  expect((await runInProcess(args)).status).toBe(0);
  const before = readFileSync(path);
  expect(await runInProcess(args)).toMatchObject({ status: 1, stderr: expect.stringContaining('is not replaced') });
  expect(readFileSync(path).equals(before)).toBe(true);
  expect(readdirSync(dir)).toEqual(['r.tar.gz']);
});

test('a daemon that listens and does not answer costs seconds, and is told', async () => {
  const dir = makeDir();
  const sockets: Socket[] = [];
  const server = createServer((socket) => sockets.push(socket)).listen(join(dir, 'admin.sock'));
  await once(server, 'listening');
  try {
    const path = join(dir, 'r.tar.gz');
    expect((await runInProcess(['report', '--output', path, ...flagsIn(dir)])).status).toBe(0);
    const { missing } = readIndex(await extractReport(readFileSync(path)));
    expect(
      missing
        .slice(0, 3)
        .map(({ name }) => name)
        .sort(),
    ).toEqual(['daemon/health.json', 'daemon/status.json', 'daemon/topology.json']);
    for (const { because } of missing.slice(0, 3)) expect(because).toContain('has not answered within 3 s');
  } finally {
    for (const socket of sockets) socket.destroy();
    server.close();
  }
});

/** Runs the command with a standard output whose bytes are kept. */
async function runOn(stdout: PassThrough & { isTTY?: boolean }, args: readonly string[]) {
  const [stderr, chunks] = [new PassThrough(), [] as Buffer[]];
  stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  const status = await runCli(args, {
    stdin: new PassThrough(),
    stdout,
    stderr,
    env: {},
    etcRoot: '/nonexistent',
    signal: new AbortController().signal,
    version: '0.0.0',
    runDaemon: () => Promise.reject(new Error('no daemon here')),
    openLog: () => Promise.reject(new Error('no log here')),
  });
  return { status, bytes: Buffer.concat(chunks), stderr: String(stderr.read() ?? '') };
}

test('--output - writes the archive alone to standard output, and says the rest on standard error', async () => {
  const dir = makeDir();
  const { status, bytes, stderr } = await runOn(new PassThrough(), ['report', '--output', '-', ...flagsIn(dir)]);
  expect(status).toBe(0);
  expect([...(await extractReport(bytes)).keys()]).toContain('kernel.json');
  expect(stderr).toMatch(/^the report: \d+ files/);
  expect(readdirSync(dir)).toEqual([]);
});

test('a terminal gets no archive', async () => {
  const terminal = Object.assign(new PassThrough(), { isTTY: true });
  const { status, bytes, stderr } = await runOn(terminal, ['report', '--output', '-', ...flagsIn(makeDir())]);
  expect({ status, bytes: bytes.length }).toEqual({ status: 2, bytes: 0 });
  expect(stderr).toContain('--output -: standard output is a terminal');
});

test('wrong options are told as run tells them', async () => {
  const run = await runInProcess(['report', '--reserved-cpus', 'x', '--output', join(makeDir(), 'r')]);
  expect(run).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('--reserved-cpus: "x" is not a list of CPUs'),
  });
  expect((await runInProcess(['report', '--redact', 'all'])).status).toBe(2);
});
