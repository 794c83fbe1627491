import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { nameOf, OPTION_KEYS } from '../../../src/app/config';
import { runInProcess } from '../../support/run-cli';

const folder = mkdtempSync(join(tmpdir(), 'config-'));
afterAll(() => rmSync(folder, { recursive: true }));
const file = join(folder, 'cpusetd.yaml');
writeFileSync(
  file,
  'reserved-cpus: 0\nnode-groups:\n- { name: gpu, match: { node-names: ["gpu-*"] }, options: { log-level: warn } }\n',
);

interface Row {
  readonly option: string;
  readonly change: string;
  readonly [field: string]: unknown;
}
interface Explained {
  readonly node: unknown;
  readonly file: string;
  readonly options: readonly Row[];
}

test('each option is explained by the place that it comes from', async () => {
  const { status, stdout } = await runInProcess(
    ['config', 'explain', '--config', file, '--node-name', 'gpu-1', '-o', 'json'],
    { env: { CPUSETD_MIN_SHARED_CPUS: '2' } },
  );
  expect(status).toBe(0);
  const explained = JSON.parse(stdout) as Explained;
  expect(explained.options.map(({ option }) => option)).toEqual(OPTION_KEYS.map(nameOf));
  expect(explained).toMatchObject({ node: { name: 'gpu-1', groups: ['gpu'] }, file });
  const rows = new Map(explained.options.map((row) => [row.option, row]));
  expect(rows.get('node-name')).toEqual({
    option: 'node-name',
    value: 'gpu-1',
    setBy: { kind: 'flag', at: '--node-name' },
    change: 'restart',
    because: 'node-name decides how the API server is followed, which begins at the start',
  });
  expect(rows.get('min-shared-cpus')).toMatchObject({
    value: '2',
    setBy: { kind: 'env', at: 'CPUSETD_MIN_SHARED_CPUS' },
  });
  expect(rows.get('log-level')).toMatchObject({
    value: 'warn',
    setBy: { kind: 'group', at: `${file}:3`, group: 'gpu' },
  });
  expect(rows.get('reserved-cpus')).toMatchObject({ value: '0', setBy: { kind: 'file', at: `${file}:1` } });
  expect(rows.get('mode')).toMatchObject({ value: 'nri', setBy: { kind: 'default' }, change: 'restart' });
  expect(rows.get('reserved-cpu-count')).toEqual({
    option: 'reserved-cpu-count',
    setBy: { kind: 'default' },
    change: 'live',
  });
});

test('yaml has the same as json', async () => {
  const args = ['config', 'explain', '--config', file, '-o'];
  const [json, yaml] = await Promise.all([runInProcess([...args, 'json']), runInProcess([...args, 'yaml'])]);
  expect(parse(yaml.stdout)).toEqual(JSON.parse(json.stdout));
});

test('a node that is in no group is said to be in none', async () => {
  const { stdout } = await runInProcess(['config', 'explain', '--config', file, '--node-name', 'db-1']);
  expect(stdout.split('\n')[0]).toBe(`node db-1: in no group of ${file}`);
});

test('without a file there is nothing to say about groups', async () => {
  const { stdout } = await runInProcess(['config', 'explain', '--reserved-cpus', '0']);
  expect(stdout).toMatch(/^OPTION +VALUE +CHANGE +SET BY\nmode +nri +restart +default\n/);
});

test('options that can not be used are told as by run, with exit status 2', async () => {
  writeFileSync(join(folder, 'bad.yaml'), 'log-level: loud\n');
  const { status, stdout, stderr } = await runInProcess(['config', 'explain', '--config', join(folder, 'bad.yaml')]);
  expect([status, stdout]).toEqual([2, '']);
  expect(stderr).toContain(
    `${join(folder, 'bad.yaml')}:1: log-level: "loud" is not a known value; choose one of trace`,
  );
});
