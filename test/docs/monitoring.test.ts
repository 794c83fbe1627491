import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { HEALTH_SERVICES } from '../../src/admin/health-state';
import { Metrics } from '../../src/admin/metrics/metrics';
import { ALARM_KINDS } from '../../src/admin/model/alarm';
import { NodeModel } from '../../src/core/model/node-model';
import { settingsWith } from '../core/transition/node-driver';
import { DRIFT_CAUSES } from '../../src/core/verdict/drift-cause';
import { sampleReading } from '../admin/metrics/sample-usage';
import { sampleLent, sampleQos, sampleStatus } from '../admin/sample-status';
import { MACHINES } from './machines';
import { listExamples, readPage, readTable, ROOT } from './markdown';
import { showSession, type Session } from './node';

/** Output of the commands on the node of the pages. */
const SESSIONS: Readonly<Record<string, Session>> = {
  status: { commands: ['cpusetd status'] },
  health: { commands: ['cpusetd health', 'cpusetd health nri'] },
};

let page = readPage('monitoring.md');

beforeAll(async () => {
  if (!process.env['UPDATE_DOCS']) return;
  const shown = new Map<string, string>();
  for (const [name, session] of Object.entries(SESSIONS)) shown.set(name, await showSession(session));
  page = readPage('monitoring.md', (name) => shown.get(name)!);
});

test.each(Object.keys(SESSIONS))('%s prints what the page shows', async (name) => {
  expect(listExamples(page).get(name)).toBe(await showSession(SESSIONS[name]!));
});

test('health lists the services that the page has', () => {
  const documented = readTable(page, '## Health').map(([service]) => service!);
  expect(documented).toEqual(HEALTH_SERVICES.map((service) => service || '""'));
});

describe('metrics', () => {
  const zeros = { process: 0, kernel: 0, workqueue: 0, irq: 0, bound: 0 };
  /** Name, type and labels of every figure, as a scrape after one event of each kind has them. */
  async function exposeAll() {
    const metrics = new Metrics({
      status: () => sampleStatus,
      node: new NodeModel(MACHINES['two-sockets'].topology, settingsWith()),
      containerSeries: true,
    });
    metrics.refused('RESOURCE_EXHAUSTED', { entitled: true });
    metrics.drifted('unknown-writer');
    metrics.repaired('ok');
    metrics.allocationAligned('numa_node');
    metrics.addIrqAffinity(() => ({ moved: 0, refused: 0 }));
    metrics.addUsage(() => sampleReading(0), { maxAgeMs: () => 1, nowMs: () => 0 });
    metrics.addQos(() => ({ qos: sampleQos, lent: sampleLent }));
    metrics.addAudit().note({
      tasks: { foreignTasks: zeros, foreignNs: zeros, ownerWaitNs: 0 },
      interrupts: { device: 0 },
      stealMs: 0,
      atMs: 0,
      busyMs: 0,
    });
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
    const documented = readTable(page, '### Verdicts').map(([verdict]) => verdict!);
    expect(documented.sort()).toEqual([...verdicts].sort());
  });
});

test('every cause of a drift is explained', () => {
  const documented = readTable(page, '### Causes of a drift').map(([cause]) => cause!);
  expect(documented.sort()).toEqual([...DRIFT_CAUSES].sort());
});

test('every alarm is explained', () => {
  const documented = readTable(page, '### Alarms').map(([kind]) => kind!);
  expect(documented.sort()).toEqual([...ALARM_KINDS].sort());
});

test('every message of the log that the page names is in the code', () => {
  const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => readFileSync(join(ROOT, 'src', path), 'utf8'));
  const documented = readTable(page, '## The log').map(([message]) => message!);
  const unknown = documented.filter((message) => !sources.some((source) => source.includes(`'${message}'`)));
  expect(unknown).toEqual([]);
});
