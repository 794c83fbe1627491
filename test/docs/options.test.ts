import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { envNameOf, loadConfig, nameOf, OPTION_KEYS, OPTIONS, restartReason } from '../../src/app/config';
import { toSettings } from '../../src/app/config/settings';
import { optionNames } from '../../src/core/model/settings';
import { runInProcess as cpusetd } from '../support/run-cli';
import { listCommandWords } from './command-list';
import { MACHINES } from './machines';
import { listExamples, readPage, readTable } from './markdown';

const page = readPage('options.md');

let folder: string;
beforeAll(() => (folder = mkdtempSync(join(tmpdir(), 'docs-'))));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The table of options of run. */
const rows = new Map(readTable(page, '## All options').map(([flag, ...cells]) => [flag!, cells]));

describe('options of run', () => {
  test.each(OPTION_KEYS.map((key) => [`--${nameOf(key)}`, key] as const))(
    'the table has a row for %s, with its values, default, variable and how a change is taken',
    (flag, key) => {
      const { type, default: value = '' } = OPTIONS[key];
      const change = restartReason(key) === undefined ? 'live' : 'restart';
      expect(rows.get(flag)?.slice(0, 4) ?? `no row for ${flag}`).toEqual([
        type.placeholder,
        value,
        envNameOf(key),
        change,
      ]);
      expect(rows.get(flag)?.[4]).not.toBe('');
    },
  );

  test('the table has no option that does not exist', () => {
    const known = OPTION_KEYS.map((key) => `--${nameOf(key)}`);
    expect([...rows.keys()].filter((flag) => !known.includes(flag))).toEqual([]);
    expect(rows.size).toBe(known.length);
  });

  test.each(['options.md', 'commands.md', 'install.md', 'troubleshooting.md', 'monitoring.md'])(
    'no option is named anywhere on %s that does not exist',
    async (name) => {
      const help = await Promise.all((await listCommandWords()).map((words) => cpusetd([...words, '--help'])));
      const known = new Set(
        help.flatMap(({ stdout }) => [...stdout.matchAll(/--[a-z][a-z-]+/g)].map(([flag]) => flag)),
      );
      const named = [...readPage(name).matchAll(/(?<=`|cpusetd [^\n`]*)--[a-z][a-z-]+/g)].map(([flag]) => flag);
      expect(named).not.toEqual([]);
      expect(named.filter((flag) => !known.has(flag))).toEqual([]);
    },
  );

  test('the example of a file is accepted, on the machine of the pictures too', async () => {
    const path = join(folder, 'config.yaml');
    writeFileSync(path, listExamples(page).get('config')!);
    const loaded = await loadConfig({ flags: { config: [path] }, env: {} });
    if (!loaded.ok) throw new Error(loaded.problems.join('\n'));
    const { reserved, options } = toSettings(loaded.config, MACHINES['two-sockets'].topology);
    expect(reserved.toString()).toBe('0,8');
    expect(optionNames(options)).toEqual(['full-pcpus-only', 'strict-cpu-reservation']);
  });
});
