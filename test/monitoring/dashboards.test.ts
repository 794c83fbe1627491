import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Metrics } from '../../src/admin/metrics/metrics';
import { startMetricsServer } from '../../src/admin/metrics/metrics-server';
import { readPage, ROOT } from '../docs/markdown';
import { defineWithPrerequisite } from '../support/not-run';
import { waitUntil } from '../support/wait-until';
import { createMetrics, readLabels } from './exposed';
import { withPrometheus } from './live-prometheus';
import { listSelectors } from './promql';
import { findPrometheus, runPromtool, type PrometheusPrograms, type RuleTest } from './promtool';
import { type Unit, unitOf, unitOfMetric, withRateInterval } from './units';

// The dashboards of deploy/grafana.

const datasource = z.object({ type: z.literal('prometheus'), uid: z.literal('${datasource}') });
const target = z.object({
  refId: z.string().regex(/^[A-Z]$/),
  datasource,
  expr: z.string().min(1),
  instant: z.boolean().optional(),
  range: z.boolean().optional(),
  legendFormat: z.string(),
});
const gridPos = z.object({
  x: z.number().int().min(0).max(23),
  y: z.number().int().min(0),
  w: z.number().int().min(1).max(24),
  h: z.number().int().min(1),
});
const thresholds = z.object({ steps: z.array(z.object({ value: z.number().nullable(), color: z.string() })) });
const row = z.object({ id: z.number().int(), type: z.literal('row'), title: z.string().min(1), gridPos });
/** Panels of series have their names in a legend, and show all values at once. */
const series = z.object({
  legend: z.object({ showLegend: z.literal(true), displayMode: z.enum(['list', 'table']) }),
  tooltip: z.object({ mode: z.literal('multi'), sort: z.literal('desc') }),
});
const panel = z.object({
  id: z.number().int(),
  type: z.enum(['timeseries', 'state-timeline', 'stat', 'heatmap', 'table']),
  options: z.looseObject({}),
  title: z.string().min(1),
  description: z.string().min(20),
  datasource,
  fieldConfig: z.object({
    defaults: z.object({ unit: z.enum(['short', 's', 'percentunit']), thresholds: thresholds.optional() }),
  }),
  gridPos,
  targets: z.array(target).min(1),
});
/** The parts of Grafana's format that these dashboards depend on. */
const dashboard = z.object({
  uid: z.string().regex(/^[a-z-]{1,40}$/),
  title: z.string().min(1),
  schemaVersion: z.number().int().min(39),
  refresh: z.literal('1m'),
  time: z.object({ from: z.literal('now-6h'), to: z.literal('now') }),
  templating: z.object({
    list: z.array(z.object({ name: z.string(), type: z.enum(['datasource', 'query']), query: z.unknown() })),
  }),
  panels: z.array(z.discriminatedUnion('type', [row, panel])).min(10),
});
type Dashboard = z.infer<typeof dashboard>;

const FOLDER = join(ROOT, 'deploy/grafana');
const FILES = readdirSync(FOLDER).filter((file) => file.endsWith('.json'));
const read = (file: string): Dashboard => dashboard.parse(JSON.parse(readFileSync(join(FOLDER, file), 'utf8')));
const listPanels = (file: string) => read(file).panels.filter((each) => each.type !== 'row');

/** The queries of a dashboard, with values for its variables. */
const listQueries = (file: string): readonly string[] =>
  listPanels(file).flatMap(({ targets }) =>
    targets.map(({ expr }) => withRateInterval(expr.replaceAll(/\$(cluster|instance)\b/g, '.*'), 10)),
  );

test('the files are those that scripts/dashboards makes', () => {
  const { status, stderr } = spawnSync(process.execPath, ['scripts/dashboards.mjs', '--check'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  expect(`${status} ${stderr}`).toBe('0 ');
  expect(FILES.sort()).toEqual(['fleet.json', 'node.json']);
});

test('the units by which queries are judged are those of the page', () => {
  const rows = [...readPage('monitoring.md').matchAll(/^\| `(cpusetd_\w+)` \|[^|]*\|[^|]*\| (.*) \|$/gm)];
  expect(rows.length).toBeGreaterThan(70);
  const texts: readonly [unit: Unit, text: RegExp][] = [
    ['thousandths of a CPU', /thousandths of a CPU|shared pool$/],
    ['per cent', /per cent/],
    ['bytes', /\bbytes\b/],
    ['ratio', /, 0 to 1/],
  ];
  for (const [, name, meaning] of rows) {
    const byPage = texts.find(([, text]) => text.test(meaning!))?.[0];
    const byName = unitOfMetric(name!);
    if (byPage !== undefined || texts.some(([unit]) => unit === byName)) expect([name, byName]).toEqual([name, byPage]);
  }
});

describe.each(FILES)('%s', (file) => {
  test('is valid, and its panels have numbers of their own and do not overlap', () => {
    const { panels } = read(file);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, i) => `${x + (i % w)},${y + Math.floor(i / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(panels.filter(({ gridPos: { x, w } }) => x + w > 24)).toEqual([]);
  });

  test('names no data source, cluster or node: each query has the variables', () => {
    const variables = read(file).templating.list.map(({ name }) => name);
    expect(variables).toEqual(file === 'node.json' ? ['datasource', 'cluster', 'instance'] : ['datasource', 'cluster']);
    for (const { targets } of listPanels(file))
      for (const { expr } of targets) {
        const selectors = listSelectors(withRateInterval(expr, 10)).length;
        for (const name of variables.slice(1)) expect(expr.split(`${name}=~"$${name}"`)).toHaveLength(selectors + 1);
      }
  });

  test('each metric is exposed, with the labels that are used', async () => {
    const known = readLabels(await createMetrics().expose());
    for (const query of listQueries(file))
      for (const { metric, labels } of listSelectors(query)) {
        expect([query, known.has(metric)]).toEqual([query, true]);
        expect([query, labels.filter((label) => !known.get(metric)!.has(label))]).toEqual([query, []]);
      }
  });

  test('each panel of series shows their names, and all their values below the mouse', () => {
    const panels = listPanels(file).filter(({ type }) => ['timeseries', 'state-timeline'].includes(type));
    expect(panels.length).toBeGreaterThan(5);
    for (const { title, options, targets } of panels) {
      expect([title, series.safeParse(options).error?.issues]).toEqual([title, undefined]);
      expect([title, targets.filter(({ legendFormat }) => legendFormat === '')]).toEqual([title, []]);
    }
  });

  test('all queries of a panel have its unit', () => {
    const fits: Readonly<Record<string, readonly Unit[]>> = {
      short: ['CPUs', 'count'],
      s: ['s'],
      percentunit: ['ratio'],
    };
    for (const { title, fieldConfig, targets } of listPanels(file)) {
      const units = targets.map(({ expr }) => unitOf(withRateInterval(expr, 10)));
      expect([title, new Set(units).size]).toEqual([title, 1]);
      expect([title, fits[fieldConfig.defaults.unit]]).toEqual([title, expect.arrayContaining([units[0]])]);
    }
  });

  test('a histogram has its unit at its axis: in its cells are counts', () => {
    for (const { title, type, options, targets } of listPanels(file)) {
      const bounds = type === 'heatmap' ? unitOfMetric(/(\w+)_bucket/.exec(targets[0]!.expr)![1]!) : undefined;
      expect([title, (options['yAxis'] as { unit?: string } | undefined)?.unit]).toEqual([title, bounds]);
    }
  });

  test('a tile shows the present only, and has no colour without a value', () => {
    for (const { title, type, targets, fieldConfig } of listPanels(file)) {
      if (type !== 'stat') continue;
      expect([title, targets]).toMatchObject([title, [{ instant: true, range: false }]]);
      const { steps } = fieldConfig.defaults.thresholds!;
      expect([title, steps[0]]).toEqual([title, { value: null, color: 'text' }]);
      const colours = steps.slice(1).map(({ color }) => color);
      expect([title, ['', 'green,red', 'red,green'].includes(colours.join())]).toEqual([title, true]);
    }
  });

  test('each link into the docs has a target', () => {
    const anchors = [...readPage('monitoring.md').matchAll(/^#+ (.*)$/gm)].map(([, title]) =>
      title!
        .toLowerCase()
        .replaceAll(/[^\w -]/g, '')
        .replaceAll(' ', '-'),
    );
    for (const { description } of listPanels(file))
      expect(anchors).toContain(/ More: docs\/monitoring\.md#(.*)$/.exec(description)?.[1]);
  });
});

const programs = findPrometheus();
defineWithPrerequisite('obstacle' in programs ? programs.obstacle : undefined, () => {
  /** One event of each kind. */
  function act(metrics: Metrics): void {
    metrics.pinningRequested();
    metrics.refused('RESOURCE_EXHAUSTED', { entitled: true });
    metrics.allocationAligned('numa_node');
    metrics.drifted('unknown-writer');
    metrics.repaired('ok');
    metrics.gapEnded({ seconds: 1, containers: 1 });
    metrics.decisionTook(0.00002);
    metrics.stateWriteTook(0.0002);
    metrics.cgroupWritesTook(0.002);
    metrics.countQosAction('throttle', 'done');
  }

  test.each`
    what                                 | nri             | cri             | pins
    ${'NRI, connected'}                  | ${'ready'}      | ${'off'}        | ${1}
    ${'NRI, not connected, CRI answers'} | ${'connecting'} | ${'ready'}      | ${0}
    ${'CRI proxy, the runtime answers'}  | ${'off'}        | ${'ready'}      | ${1}
    ${'CRI proxy, it does not'}          | ${'off'}        | ${'connecting'} | ${0}
  `(
    'the tiles know whether containers are pinned: $what',
    ({ nri, cri, pins }: { nri: string; cri: string; pins: 0 | 1 }) => {
      const series = (peer: string, now: string) =>
        ['off', 'connecting', 'synchronizing', 'ready'].map((state) => ({
          series: `cpusetd_${peer}_connection_state{cluster="c",instance="n",state="${state}"}`,
          values: `${state === now ? 1 : 0}x5`,
        }));
      const exprOf = (file: string, title: string) =>
        listPanels(file)
          .find((each) => each.title === title)!
          .targets[0]!.expr.replaceAll(/\$(cluster|instance)\b/g, '.*');
      const ask = (expr: string, labels: string, value: number) => ({
        expr,
        eval_time: '3m',
        exp_samples: [{ labels, value }],
      });
      const test: RuleTest = {
        interval: '1m',
        input_series: [...series('nri', nri), ...series('cri', cri)],
        promql_expr_test: [
          ask(exprOf('node.json', 'Pins containers'), '{cluster="c", instance="n"}', pins),
          ask(exprOf('fleet.json', 'Nodes that do not pin'), '{}', 1 - pins),
        ],
      };
      const { promtool } = programs as PrometheusPrograms;
      const file = { rule_files: [], evaluation_interval: '1m', tests: [test] };
      const { status, output } = runPromtool(promtool, ['test', 'rules'], { file });
      expect(`${status} ${output}`).toMatch(/^0 .*SUCCESS/s);
    },
  );

  test('a real Prometheus answers each query of the dashboards, and the rules, with data', async () => {
    const metrics = createMetrics();
    const server = await startMetricsServer({
      address: { host: '127.0.0.1', port: 0 },
      metrics,
      log: { error: () => undefined, warn: () => undefined },
      processFigures: false,
    });
    const activity = setInterval(() => act(metrics), 100);
    const rules = join(ROOT, 'deploy/monitoring/prometheus-rules.yaml');
    const recorded = [...readFileSync(rules, 'utf8').matchAll(/- record: (\S+)$/gm)].map(([, name]) => name!);
    const queries = [...new Set([...FILES.flatMap(listQueries), ...recorded])];
    expect(queries.length).toBeGreaterThan(40);
    try {
      const { prometheus, promtool } = programs as PrometheusPrograms;
      await withPrometheus(prometheus, { targetPorts: [server.port], rules }, async (query, url) => {
        const problems = async () => {
          const answers = await Promise.all(queries.map(async (expr) => ({ expr, answer: await query(expr) })));
          return answers.flatMap(({ expr, answer }) => {
            const { status, error, warnings, infos, data } = answer;
            const said = [error, ...(warnings ?? []), ...(infos ?? [])].filter(Boolean);
            if (status === 'success' && data!.result.length > 0 && said.length === 0) return [];
            return [`${expr}: ${said.join() || 'no data'}`];
          });
        };
        let last: readonly string[] = ['nothing was asked'];
        const areAnswered = async () => (last = await problems()).length === 0;
        await waitUntil('data for each query', areAnswered, 60_000, { everyMs: 500, seen: () => last });
        expect(last).toEqual([]);
        const ask = () => runPromtool(promtool, ['query', 'instant', url, recorded[0]!], {}).output;
        await waitUntil('promtool gets data', () => ask().includes(recorded[0]!));
      });
    } finally {
      clearInterval(activity);
      await server.close();
    }
  });
});
