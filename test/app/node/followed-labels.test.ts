import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { Alarms } from '../../../src/app/alarms/alarms';
import { loadConfig, type Loaded } from '../../../src/app/config';
import { FollowedLabels } from '../../../src/app/node/followed-labels';

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'labels-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const BY_LABELS =
  'min-shared-cpus: 9\nnode-groups:\n- { name: a, match: { node-labels: { pool: gpu } }, options: { min-shared-cpus: 1 } }\n';
const BY_NAMES = 'min-shared-cpus: 9\n';

const write = (file: string): void => writeFileSync(join(folder, 'cpusetd.yaml'), file);
const remembered = (): string | undefined => {
  const path = join(folder, 'node-labels.json');
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
};

async function open(file = BY_LABELS) {
  write(file);
  const given = {
    config: join(folder, 'cpusetd.yaml'),
    'state-dir': folder,
    kubeconfig: 'in-cluster',
    'reserved-cpus': '0',
  };
  const flags = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, [value]]));
  const loaded = (await loadConfig({ flags, env: {} })) as Loaded;
  const lines: { readonly msg: string }[] = [];
  const log = pino({ level: 'warn' }, { write: (line) => void lines.push(JSON.parse(line) as { msg: string }) });
  const alarms = new Alarms({ log: pino({ level: 'silent' }), now: () => 'now', onChange: () => undefined });
  const labels = new FollowedLabels({ loaded, alarms, log });
  let changes = 0;
  labels.onChange = () => (changes += 1);
  let isWanted = false;
  void labels.wanted.then(() => (isWanted = true));
  const minShared = async () => {
    const now = await labels.load();
    return now.ok && now.config.minSharedCpus;
  };
  const kinds = () => alarms.list().map(({ kind }) => kind);
  return { labels, minShared, kinds, lines, changes: () => changes, isWanted: () => isWanted };
}

test('labels that are told lead to the options of their group, and are remembered for the next start', async () => {
  const { labels, minShared, kinds, changes } = await open();
  expect(kinds()).toEqual(['node-labels']);
  labels.accept({ pool: 'gpu' });
  expect(changes()).toBe(1);
  expect(await minShared()).toBe(1);
  expect(kinds()).toEqual([]);
  expect(remembered()).toBe('{"pool":"gpu"}\n');
  const next = await open();
  expect(next.kinds()).toEqual([]);
  expect(await next.minShared()).toBe(1);
});

test('labels that are the same again change nothing', async () => {
  writeFileSync(join(folder, 'node-labels.json'), '{"pool":"gpu"}\n');
  const { labels, changes } = await open();
  labels.accept({ pool: 'gpu' });
  expect(changes()).toBe(0);
});

test('labels that no group asks for are not remembered, until the file asks for them', async () => {
  const { labels, minShared, changes, isWanted } = await open(BY_NAMES);
  labels.accept({ pool: 'gpu' });
  expect([changes(), remembered(), await minShared(), isWanted()]).toEqual([0, undefined, 9, false]);
  write(BY_LABELS);
  expect(await minShared()).toBe(1);
  expect([remembered(), isWanted()]).toEqual(['{"pool":"gpu"}\n', true]);
});

test('labels that can’t be remembered count all the same', async () => {
  const { labels, minShared, lines } = await open();
  mkdirSync(join(folder, 'node-labels.json'));
  labels.accept({ pool: 'gpu' });
  expect(lines).toMatchObject([{ msg: expect.stringMatching(/not remembered/) }]);
  expect(await minShared()).toBe(1);
});
