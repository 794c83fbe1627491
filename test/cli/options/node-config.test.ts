import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { useTempDirs } from '../../state/support/temp-dir';
import { runInProcess } from '../../support/run-cli';
import { extractReport } from '../report/extract';

const makeDir = useTempDirs();

// Commander reads the variables of the process, which the set-up of the tests gives paths without a daemon.
const VARIABLES = ['CPUSETD_ADMIN_SOCKET', 'CPUSETD_STATE_DIR'];
const before = Object.fromEntries(VARIABLES.map((name) => [name, process.env[name]]));
beforeEach(() => {
  for (const name of VARIABLES) Reflect.deleteProperty(process.env, name);
});
afterAll(() => {
  Object.assign(process.env, before);
});

/** A folder like `/etc` whose `cpusetd.yaml` has these options, and paths that no other daemon has. */
function makeNode(...options: readonly string[]) {
  const dir = makeDir();
  const etcRoot = join(dir, 'etc');
  mkdirSync(etcRoot);
  const file = join(etcRoot, 'cpusetd.yaml');
  const lines = [
    ...options,
    `state-dir: ${dir}/state`,
    `admin-socket: ${dir}/admin.sock`,
    `nri-socket: ${dir}/nri.sock`,
    'cri-endpoint: off',
    `kubelet-root-dir: ${dir}`,
  ];
  writeFileSync(file, `${lines.join('\n')}\n`);
  return { dir, etcRoot, file };
}

test('check reads the file of the service without being told, and says so', async () => {
  const { etcRoot, file } = makeNode('reserved-cpus: 0');
  const { stdout, stderr } = await runInProcess(['check'], { etcRoot });
  expect(stderr).toBe('');
  expect(stdout).toContain(`those of ${file} are valid`);
});

test('a flag wins over the file, CPUSETD_CONFIG and --config name another', async () => {
  const { etcRoot, dir } = makeNode('reserved-cpus: x');
  const other = join(dir, 'other.yaml');
  writeFileSync(other, `reserved-cpus: 0\nlog-level: debug\nstate-dir: ${dir}\n`);
  const explain = async (args: readonly string[], env = {}) =>
    (await runInProcess(['config', 'explain', ...args], { etcRoot, env })).stdout;
  expect(await explain(['--reserved-cpus', '0'])).toMatch(/reserved-cpus +0 .*--reserved-cpus/);
  expect(await explain(['--config', other])).toMatch(/log-level +debug/);
  expect(await explain([], { CPUSETD_CONFIG: other })).toMatch(/log-level +debug/);
});

test('without a file and without flags, the place that was looked at is told', async () => {
  const etcRoot = makeDir();
  const { status, stderr } = await runInProcess(['check'], { etcRoot });
  expect(status).toBe(2);
  expect(stderr).toContain('no CPU is reserved');
  expect(stderr).toContain(`no configuration file: ${etcRoot}/cpusetd.yaml is not there; name one with --config`);
});

test.each([
  ['status', []],
  ['health', []],
  ['topology', []],
  ['explain', ['default/p']],
  ['audit', []],
  ['qos', []],
])('%s asks the daemon at the socket of the file', async (command, args) => {
  const { dir, etcRoot } = makeNode('reserved-cpus: 0');
  const { status, stderr } = await runInProcess([command, ...args], { etcRoot });
  expect(status).toBe(1);
  expect(stderr).toContain(`${dir}/admin.sock`);
});

test('a variable and a flag win over the file', async () => {
  const { dir, etcRoot } = makeNode('reserved-cpus: 0');
  process.env['CPUSETD_ADMIN_SOCKET'] = `${dir}/of-env.sock`;
  expect((await runInProcess(['status'], { etcRoot })).stderr).toContain(`${dir}/of-env.sock`);
  const flagged = await runInProcess(['status', '--admin-socket', `${dir}/of-flag.sock`], { etcRoot });
  expect(flagged.stderr).toContain(`${dir}/of-flag.sock`);
});

test('events and state read the state directory of the file', async () => {
  const { dir, etcRoot } = makeNode('reserved-cpus: 0');
  expect((await runInProcess(['events'], { etcRoot })).stderr).toContain(`${dir}/state`);
  const verified = await runInProcess(['state', 'show'], { etcRoot });
  expect(verified.stdout + verified.stderr).toContain(`${dir}/state`);
});

test('a faulty option does not hide the socket; a file that is no file is told, and the default is asked', async () => {
  const { dir, etcRoot, file } = makeNode('reserved-cpus: x', 'log-levl: debug');
  const run = await runInProcess(['status'], { etcRoot });
  expect(run.stderr).toContain(`${dir}/admin.sock`);
  expect(run.stderr).not.toContain('log-levl');
  const env = { CPUSETD_CONFIG: dir };
  const unread = await runInProcess(['health'], { etcRoot, env });
  expect(unread.stderr).toContain(`--config ${dir}: `);
  expect(file).not.toBe(dir);
});

test('report works with invalid options, and has them', async () => {
  const { dir, etcRoot, file } = makeNode('reserved-cpus: x', 'log-levl: debug');
  const path = join(dir, 'r.tar.gz');
  const run = await runInProcess(['report', '-o', path], { etcRoot });
  expect(run.status).toBe(0);
  expect(run.stderr).toContain('log-levl: no such option');
  expect(run.stdout).toContain(`The options are those of ${file}.`);
  const files = await extractReport(readFileSync(path));
  const { here } = JSON.parse(files.get('options.json')!) as { here: { file: string; problems: string[] } };
  expect(here.file).toBe(file);
  expect(here.problems.join('\n')).toMatch(
    /reserved-cpus: "x" is not[^]*log-levl|log-levl[^]*reserved-cpus: "x" is not/,
  );
  const { missing } = JSON.parse(files.get('index.json')!) as { missing: { name: string; because: string }[] };
  expect(missing.find(({ name }) => name === 'daemon')?.because).toContain(`${dir}/admin.sock`);
});

test('report works without any option', async () => {
  const dir = makeDir();
  const path = join(dir, 'r.tar.gz');
  const env = { CPUSETD_ADMIN_SOCKET: `${dir}/no.sock`, CPUSETD_STATE_DIR: dir };
  const run = await runInProcess(['report', '-o', path], { etcRoot: dir, env });
  expect(run.status).toBe(0);
  expect(run.stderr).toContain('no CPU is reserved');
});

test('allocate takes the reservation of this node for its own machine, unless it is told', async () => {
  const { etcRoot, file } = makeNode('reserved-cpus: 0', 'cpu-manager-policy-options: strict-cpu-reservation=true');
  const input = '{"id":1,"algorithm":"packed","numCPUs":1}\n';
  const allocate = (...args: readonly string[]) =>
    runInProcess(['allocate', '--batch', '-', '--topology', 'live', ...args], { etcRoot, input });
  const own = await allocate();
  expect(own.stderr).toContain(`the options and the reservation, CPUs 0, are those of ${file}`);
  expect((await allocate('--reserved-cpus', '1')).stderr).not.toContain(file);
});

test('replay takes the journal of this node, and a state directory stands for the journal in it', async () => {
  const { dir, etcRoot } = makeNode('reserved-cpus: 0');
  expect((await runInProcess(['replay'], { etcRoot })).stderr).toContain(`${dir}/state: no such file`);
  mkdirSync(join(dir, 'state/journal'), { recursive: true });
  writeFileSync(join(dir, 'state/journal/00000001.jsonl'), 'no record\n');
  const run = await runInProcess(['replay', join(dir, 'state')], { etcRoot });
  expect(run.stdout + run.stderr).toContain('1 ');
});
