import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HEALTH_SERVICES } from '../../src/admin/health-state';
import { Metrics } from '../../src/admin/metrics/metrics';
import { ALARM_KINDS } from '../../src/admin/model/alarm';
import { envNameOf, listOffered, loadConfig, nameOf, OPTIONS } from '../../src/app/config';
import { toSettings } from '../../src/app/config/settings';
import { optionNames } from '../../src/core/model/settings';
import { DRIFT_CAUSES } from '../../src/core/verdict/drift-cause';
import { CpuSet } from '../../src/core/cpuset';
import { sampleStatus } from '../admin/sample-status';
import { runInProcess as cpusetd } from '../support/run-cli';
import { MACHINES } from './machines';
import { showSession, type Session } from './node';
import { listExamples, readPage, readTable, ROOT } from './markdown';

/** What the commands print on the node of the pages. */
const SESSIONS: Readonly<Record<string, Session>> = {
  status: { commands: ['cpusetd status'], without: ['ID', 'SINCE', 'POD UID'] },
  explain: { commands: ['cpusetd explain db', 'cpusetd explain --cpus 12'] },
  refused: { commands: ['cpusetd explain big'] },
  health: { commands: ['cpusetd health', 'cpusetd health nri'] },
};

let page = readPage('operations.md');

let folder: string;
beforeAll(() => (folder = mkdtempSync(join(tmpdir(), 'docs-'))));
beforeAll(async () => {
  if (!process.env['UPDATE_DOCS']) return;
  const shown = new Map(listExamples(page));
  for (const [name, session] of Object.entries(SESSIONS)) shown.set(name, await showSession(session));
  page = readPage('operations.md', (name) => shown.get(name)!);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('options of run', () => {
  const rows = new Map(readTable(page, '## Options').map(([flag, ...cells]) => [flag!, cells]));

  test.each(listOffered().map((key) => [`--${nameOf(key)}`, key] as const))(
    'the table has a row for %s, with its values, default and variable',
    (flag, key) => {
      const { type, default: value = '' } = OPTIONS[key];
      expect(rows.get(flag)?.slice(0, 3) ?? `no row for ${flag}`).toEqual([type.placeholder, value, envNameOf(key)]);
    },
  );

  test('the table has no option that does not exist', () => {
    const known = listOffered().map((key) => `--${nameOf(key)}`);
    expect([...rows.keys()].filter((flag) => !known.includes(flag))).toEqual([]);
  });

  test('no option is named anywhere on the page that does not exist', async () => {
    const help = await Promise.all((await listCommands()).map((words) => cpusetd([...words, '--help'])));
    const known = new Set(help.flatMap(({ stdout }) => [...stdout.matchAll(/--[a-z][a-z-]+/g)].map(([flag]) => flag)));
    const named = [...page.matchAll(/(?<=`|cpusetd [^\n`]*)--[a-z][a-z-]+/g)].map(([flag]) => flag);
    expect(named.filter((flag) => !known.has(flag))).toEqual([]);
  });

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

/** Words of each command that does something: `['run']`, `['state', 'show']`. */
async function listCommands(above: readonly string[] = []): Promise<string[][]> {
  const { stdout } = await cpusetd([...above, '--help']);
  const [, list] = stdout.split('\nCommands:\n');
  if (list === undefined) return [[...above]];
  const names = [...list.matchAll(/^ {2}([a-z][a-z-]*)/gm)].map(([, name]) => name!).filter((name) => name !== 'help');
  return (await Promise.all(names.map((name) => listCommands([...above, name])))).flat();
}

describe('commands', () => {
  /** Explained once, for all. */
  const COMMON = ['--admin-socket', '--help'];

  test('each has a chapter that names it and all its options', async () => {
    const commands = await listCommands();
    expect(commands).toContainEqual(['run']);
    const faults: string[] = [];
    for (const words of commands) {
      const command = words.join(' ');
      const chapter = page.split(`\n### \`cpusetd ${words[0]!}`)[1]?.split(/\n##/)[0];
      if (chapter === undefined) faults.push(`cpusetd ${words[0]!} has no chapter`);
      else if (words.length > 1 && !chapter.includes(`\`${command}`)) faults.push(`${command} is not named`);
      const { stdout } = await cpusetd([...words, '--help']);
      const flags = [...stdout.matchAll(/^ {2}(?:-\w, )?(--[a-z-]+)/gm)].map(([, flag]) => flag!);
      // Those of run have a table of their own.
      for (const flag of command === 'run' ? ['--config'] : flags) {
        if (!COMMON.includes(flag) && chapter?.includes(flag) === false) faults.push(`${command} ${flag} is not named`);
      }
    }
    expect(faults).toEqual([]);
  });

  test('allocate answers as the page shows', async () => {
    const example = listExamples(page).get('allocate')!;
    const [, machine, request, answer] = example.split('\n');
    const path = join(folder, 'machine.jsonl');
    writeFileSync(path, `${machine!}\n`);
    const input = /^\$ echo '(.*)' \| cpusetd allocate --batch - --topology machine\.jsonl$/.exec(request!)![1]!;
    const { stdout } = await cpusetd(['allocate', '--batch', '-', '--topology', path], { input });
    expect(stdout.trim()).toBe(answer);
  });

  test.each(Object.keys(SESSIONS))('%s prints what the page shows', async (name) => {
    expect(listExamples(page).get(name)).toBe(await showSession(SESSIONS[name]!));
  });

  test('health lists the services that the page has', () => {
    const told = readTable(page, '## Health').map(([service]) => service!);
    expect(told).toEqual(HEALTH_SERVICES.map((service) => service || '""'));
  });
});

describe('metrics', () => {
  /** Name, type and labels of every figure, as a scrape after one event of each kind has them. */
  async function exposeAll() {
    const metrics = new Metrics({
      status: () => sampleStatus,
      node: { topology: MACHINES['two-sockets'].topology, exclusive: CpuSet.empty },
    });
    metrics.refused('RESOURCE_EXHAUSTED', { entitled: true });
    metrics.drifted('unknown-writer');
    metrics.repaired('ok');
    metrics.allocationAligned('numa_node');
    const exposition = await metrics.expose();
    const rows = [...exposition.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => {
      const [, labels = ''] = new RegExp(`^${name!}(?:_bucket)?\\{(.*)\\}`, 'm').exec(exposition) ?? [];
      const names = [...labels.matchAll(/(\w+)="/g)].map(([, label]) => label!).filter((label) => label !== 'le');
      return [name!, type!, names.join(', ')];
    });
    return { rows, exposition };
  }
  const rows = new Map(readTable(page, '## Metrics').map((cells) => [cells[0]!, cells]));

  test('the table has each of them, with type and labels', async () => {
    for (const row of (await exposeAll()).rows) {
      expect(rows.get(row[0]!)?.slice(0, 3) ?? `no row for ${row[0]!}`).toEqual(row);
    }
  });

  test('the table has no other', async () => {
    const known = (await exposeAll()).rows.map(([name]) => name);
    expect([...rows.keys()].filter((name) => !known.includes(name))).toEqual([]);
  });

  test('every verdict is explained', async () => {
    const { exposition } = await exposeAll();
    const verdicts = new Set([...exposition.matchAll(/verdict="([\w-]+)"/g)].map(([, verdict]) => verdict!));
    const told = readTable(page, '### Verdicts').map(([verdict]) => verdict!);
    expect(told.sort()).toEqual([...verdicts].sort());
  });
});

test('every cause of a drift is explained', () => {
  const told = readTable(page, '### Causes of a drift').map(([cause]) => cause!);
  expect(told.sort()).toEqual([...DRIFT_CAUSES].sort());
});

test('every alarm is explained', () => {
  const told = readTable(page, '### Alarms').map(([kind]) => kind!);
  expect(told.sort()).toEqual([...ALARM_KINDS].sort());
});

test('every message of the log that the page names is in the code', () => {
  const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => readFileSync(join(ROOT, 'src', path), 'utf8'));
  const told = readTable(page, '## The log').map(([message]) => message!);
  const unknown = told.filter((message) => !sources.some((source) => source.includes(`'${message}'`)));
  expect(unknown).toEqual([]);
});
