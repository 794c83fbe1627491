import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { Metrics } from '../../src/admin/metrics/metrics';
import { ALARM_KINDS } from '../../src/admin/model/alarm';
import { sampleStatus } from '../admin/sample-status';
import { readPage, ROOT } from '../docs/markdown';
import { defineWithPrerequisite } from '../support/not-run';
import { MissedNode } from '../support/missed-node';
import { createMetrics, readLabels } from './exposed';
import { listSelectors } from './promql';
import { findPrometheus, runPromtool, type RuleTest } from './promtool';
import { toInputSeries, type Scrape, type Scrapes } from './recorded';

// The rules of deploy/monitoring.

const RULES = join(ROOT, 'deploy/monitoring/prometheus-rules.yaml');
const read = (path: string): unknown => parse(readFileSync(path, 'utf8'));

interface Rule {
  readonly record?: string;
  readonly alert?: string;
  readonly expr: string;
  readonly labels?: { readonly severity: string };
  readonly annotations?: { readonly summary: string; readonly description: string; readonly runbook_url: string };
}

const { groups } = read(RULES) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);
const alerts = rules.filter(({ alert }) => alert !== undefined);

test('the PrometheusRule has the groups of the rule file', () => {
  const resource = read(join(ROOT, 'deploy/monitoring/prometheus-rule.yaml'));
  expect(resource).toMatchObject({ kind: 'PrometheusRule', spec: { groups } });
});

test('each metric of the rules is exposed or recorded, with the labels that are used', async () => {
  const known = new Map(readLabels(await createMetrics().expose()));
  for (const { record, expr } of rules) {
    const selectors = listSelectors(expr);
    expect(selectors).not.toEqual([]);
    for (const { metric, labels } of selectors) {
      expect(`${expr}: ${known.has(metric) ? 'known' : metric}`).toBe(`${expr}: known`);
      expect(`${expr}: ${labels.filter((label) => !known.get(metric)!.has(label)).join()}`).toBe(`${expr}: `);
    }
    if (record !== undefined) known.set(record, new Set(selectors.flatMap(({ labels }) => labels)));
  }
});

test('each alert has a severity, texts, and a chapter of the runbook, and each chapter has an alert', () => {
  const page = readPage('monitoring.md');
  const chapters = [...page.matchAll(/^### (Cpusetd\w+)$/gm)].map(([, name]) => name!);
  expect(alerts.map(({ alert }) => alert)).toEqual(chapters);
  for (const { alert, labels, annotations } of alerts) {
    expect(['critical', 'warning', 'info']).toContain(labels?.severity);
    expect(annotations).toEqual({
      summary: expect.stringMatching(/^\S.{10,120}\.$/) as unknown,
      description: expect.stringMatching(/^\S.{20,250}\.$/) as unknown,
      runbook_url: `docs/monitoring.md#${alert!.toLowerCase()}`,
    });
  }
});

test('each increase of a counter has beside it the counter itself of a process that is young', () => {
  const counted = rules.filter(({ expr }) => /\bincrease\(/.test(expr));
  expect(counted.length).toBeGreaterThan(4);
  for (const { expr } of counted)
    for (const [, counter, range] of expr.matchAll(/\bincrease\(([^[]*)\[(\w+)\]\)/g)) {
      expect(expr).toContain(`(${counter!} > 0 and `);
      expect(expr).toContain(
        `time() - cpusetd_start_time_seconds < ${range === '1h' ? 60 : Number.parseInt(range!)} * 60`,
      );
    }
});

test('metrics that the page says to alert on have an alert', () => {
  const used = new Set(alerts.flatMap(({ expr }) => listSelectors(expr).map(({ metric }) => metric)));
  const named = [...readPage('monitoring.md').matchAll(/^\| `(\w+)` \|.*\*\*Alert/gm)].map(([, name]) => name!);
  expect(named.length).toBeGreaterThan(4);
  expect(named.filter((name) => !used.has(name))).toEqual([]);
});

const programs = findPrometheus();
defineWithPrerequisite('obstacle' in programs ? programs.obstacle : undefined, () => {
  const promtool = 'promtool' in programs ? programs.promtool : '';
  const at = { cluster: 'c', instance: 'n' };
  const labelsOf = (labels: Readonly<Record<string, string>>): string =>
    Object.entries({ ...at, ...labels })
      .map(([name, value]) => `${name}="${value}"`)
      .join(',');

  test('promtool accepts the rules', () => {
    expect(runPromtool(promtool, ['check', 'rules', RULES], {})).toMatchObject({ status: 0 });
  });

  test('promtool accepts the metrics, but for names of the kubelet, of Crane and of prom-client', async () => {
    const { output } = runPromtool(promtool, ['check', 'metrics'], { input: await createMetrics().expose() });
    const complaints = output.split('\n').filter((line) => line !== '');
    const isTolerated = (line: string): boolean =>
      // Kept as the kubelet and Crane have them.
      /^cpusetd_((cpu_manager_exclusive_cpu_allocation|container_aligned_compute_resources)_count|memory_total) /.test(
        line,
      ) ||
      // Of the library's default figures.
      /^nodejs_(active_(handles|requests|resources)_total|eventloop_lag_\w+|gc_duration_seconds|version_info) /.test(
        line,
      );
    expect(complaints.filter((line) => !isTolerated(line))).toEqual([]);
    expect(complaints.filter((line) => line.startsWith('cpusetd_')).length).toBeGreaterThan(0);
  });

  /**
   * `values`: samples of one minute each. The alert is quiet at first, fires at `fires`, and is quiet again at `ends`.
   */
  // prettier-ignore
  const CASES: readonly [alert: string, severity: string, series: string, own: Record<string, string>, alertLabels: Record<string, string>, values: string, quiet: string, fires: string, ends: string][] = [
    ['CpusetdDown', 'critical', 'up', { job: 'cpusetd' }, { job: 'cpusetd' }, '1 1 0x10 1x10', '6m', '9m', '15m'],
    ['CpusetdNotPinning', 'critical', 'cpusetd_nri_connection_state', { state: 'connecting' }, {}, '0 0 1x10 0x10', '3m', '6m', '15m'],
    ['CpusetdStuck', 'critical', 'cpusetd_alarms', { kind: 'state-not-saved' }, { kind: 'state-not-saved' }, '0 0 1x10 0x10', '2m', '4m', '15m'],
    ['CpusetdAlarm', 'warning', 'cpusetd_alarms', { kind: 'repairs-stopped' }, { kind: 'repairs-stopped' }, '0 0 1x10 0x10', '4m', '9m', '15m'],
    ['CpusetdPinningFails', 'warning', 'cpusetd_cpu_manager_pinning_errors_total', {}, {}, '0x5 1x60', '5m', '10m', '30m'],
    ['CpusetdDrift', 'warning', 'cpusetd_drift_total', { cause: 'systemd-reload' }, { cause: 'systemd-reload' }, '0x5 2x60', '5m', '10m', '30m'],
    ['CpusetdRepairsFail', 'warning', 'cpusetd_repairs_total', { outcome: 'failed' }, { outcome: 'failed' }, '0x5 1x60', '5m', '10m', '30m'],
    ['CpusetdPromiseBroken', 'warning', 'cpusetd_container_verdicts', { verdict: 'violated' }, { verdict: 'violated' }, '0 0 3x20 0x10', '8m', '15m', '25m'],
    ['CpusetdForeignTasks', 'warning', 'cpusetd_audit_foreign_tasks', { kind: 'process' }, {}, '0 0 2x25 0x10', '14m', '20m', '32m'],
    ['CpusetdRulesActLong', 'warning', 'cpusetd_qos_scheduling_disabled', {}, {}, '0 0 1x40 0x10', '31m', '34m', '45m'],
    ['CpusetdRulesActLong', 'warning', 'cpusetd_qos_throttled_containers', {}, {}, '0 0 3x40 0x10', '31m', '34m', '45m'],
    ['CpusetdGap', 'warning', 'cpusetd_gap_containers_total', {}, {}, '0x5 4x60', '5m', '10m', '30m'],
  ];

  test.each(CASES)('%s fires, and ends', (alert, severity, series, own, alertLabels, values, quiet, fires, ends) => {
    const fired = [{ exp_labels: { ...at, ...alertLabels, severity } }];
    const tests: RuleTest = {
      interval: '1m',
      input_series: [{ series: `${series}{${labelsOf(own)}}`, values }],
      alert_rule_test: [
        { eval_time: quiet, alertname: alert, exp_alerts: [] },
        { eval_time: fires, alertname: alert, exp_alerts: fired },
        { eval_time: ends, alertname: alert, exp_alerts: [] },
      ],
    };
    expectRules([tests]);
  });

  describe('counters whose first event is before the first scrape', () => {
    const used = new Set(alerts.flatMap(({ expr }) => listSelectors(expr).map(({ metric }) => metric)));
    const minutes = 60;
    const host = { ...at, job: 'cpusetd' };
    const podOf = (pod: string) => ({ ...host, namespace: 'cpusetd', pod });
    const series = (...lives: Scrapes[]) => toInputSeries(lives, { metrics: used, minutes });
    const expectAlert = (
      alert: string,
      input: RuleTest['input_series'],
      times: Readonly<Record<string, object | undefined>>,
    ): void =>
      expectRules([
        {
          interval: '1m',
          input_series: input,
          alert_rule_test: Object.entries(times).map(([eval_time, labels]) => ({
            eval_time,
            alertname: alert,
            exp_alerts: labels ? [{ exp_labels: { ...labels, severity: 'warning' } }] : [],
          })),
        },
      ]);

    /**
     * The answers of real processes on one node: two lives with two missed containers each, one without, and a restart
     * of the runtime.
     */
    const recorded = {} as Record<'first' | 'second' | 'afterRuntime' | 'quiet', Scrape>;
    beforeAll(async () => {
      const node = await MissedNode.open();
      const scrape = async (): Promise<Scrape> => ({ text: await node.scrape(), atMs: Date.now() });
      try {
        for (const life of ['first', 'second'] as const) {
          await node.miss();
          await node.miss();
          const daemon = await node.startDaemon();
          await node.startRuntime();
          recorded[life] = await scrape();
          await node.stopRuntime();
          if (life === 'first') {
            await daemon.stop();
            continue;
          }
          await node.miss();
          await node.startRuntime();
          recorded.afterRuntime = await scrape();
          await daemon.stop();
          await node.startDaemon();
          recorded.quiet = await scrape();
        }
      } finally {
        await node.close();
      }
    }, 60_000);
    const missedIn = ({ text }: Scrape): number => Number(/^cpusetd_gap_containers_total (\d+)$/m.exec(text)?.[1]);

    test('real processes count from their first scrape on, so that increase() has nothing to compare', () => {
      const { first, second, afterRuntime, quiet } = recorded;
      expect([first, second, afterRuntime, quiet].map(missedIn)).toEqual([2, 2, 3, 0]);
    });

    test('CpusetdGap: a new pod that missed containers is a new series; it fires, and ends', () => {
      const { quiet, second } = recorded;
      const input = series(
        { scrape: quiet, target: podOf('a'), from: 0, to: 18 },
        { scrape: second, target: podOf('b'), from: 20, to: minutes },
      );
      const fired = podOf('b');
      expectAlert('CpusetdGap', input, { '19m': undefined, '20m': fired, '30m': fired, '36m': undefined });
    });

    test('CpusetdGap: a service whose life before had counted as many; it fires, and ends', () => {
      const input = series(
        { scrape: recorded.first, target: host, from: 0, to: 24 },
        { scrape: recorded.second, target: host, from: 26, to: minutes },
      );
      // Of the first life, then silence, then of the second.
      const times = { '1m': host, '20m': undefined, '26m': host, '36m': host, '42m': undefined };
      expectAlert('CpusetdGap', input, times);
    });

    test('CpusetdGap: the runtime alone was restarted; it fires, and ends', () => {
      const input = series(
        { scrape: recorded.second, target: host, from: 0, to: 29 },
        { scrape: recorded.afterRuntime, target: host, from: 30, to: minutes },
      ).map(({ series: seriesText, values }) => ({
        series: seriesText,
        // One process: its start is that of the first scrape.
        values: seriesText.startsWith('cpusetd_start_time_seconds') ? `${values.split(' ')[0]}x${minutes}` : values,
      }));
      expectAlert('CpusetdGap', input, { '20m': undefined, '31m': host, '40m': host, '46m': undefined });
    });

    test('CpusetdGap: a new process that missed nothing fires nothing, also after one that did', () => {
      const input = series(
        { scrape: recorded.first, target: podOf('a'), from: 0, to: 24 },
        { scrape: recorded.quiet, target: podOf('b'), from: 26, to: minutes },
      );
      expectAlert('CpusetdGap', input, { '1m': podOf('a'), '26m': undefined, '30m': undefined, '50m': undefined });
    });

    test.each([
      ['CpusetdDrift', (metrics: Metrics) => metrics.drifted('cpu-offline'), { ...at, cause: 'cpu-offline' }],
      ['CpusetdRepairsFail', (metrics: Metrics) => metrics.repaired('failed'), { ...host, outcome: 'failed' }],
      ['CpusetdPinningFails', (metrics: Metrics) => metrics.fellBack(), host],
      ['CpusetdPinningFails', (metrics: Metrics) => metrics.refused('RESOURCE_EXHAUSTED', { entitled: true }), host],
    ] as const)('%s: its first event is before the first scrape; it fires, and ends', async (alert, act, fired) => {
      const metrics = createMetrics();
      const startedMs = Date.parse(sampleStatus.node.startedAt);
      const before = { text: await metrics.expose(), atMs: startedMs + 5_000 };
      act(metrics);
      const scrape = { text: await metrics.expose(), atMs: startedMs + 5_000 };
      const input = series({ scrape, target: host, from: 10, to: minutes });
      expectAlert(alert, input, { '10m': fired, '20m': fired, '26m': undefined });
      expectAlert(alert, series({ scrape: before, target: host, from: 10, to: minutes }), { '12m': undefined });
    });

    test('the increase of drifts in the recording rule has those that a new process found', async () => {
      const metrics = createMetrics();
      metrics.drifted('cpu-offline');
      const scrape = { text: await metrics.expose(), atMs: Date.parse(sampleStatus.node.startedAt) + 5_000 };
      const expr = 'cluster_cause:cpusetd_drift:increase1h{cause="cpu-offline"}';
      const sample = (eval_time: string, value: number) => ({
        expr,
        eval_time,
        exp_samples: [{ labels: 'cluster_cause:cpusetd_drift:increase1h{cluster="c",cause="cpu-offline"}', value }],
      });
      expectRules([
        {
          interval: '1m',
          input_series: toInputSeries([{ scrape, target: host, from: 5, to: 90 }], { metrics: used, minutes: 90 }),
          promql_expr_test: [sample('6m', 1), sample('50m', 1), sample('80m', 0)],
        },
      ]);
    });
  });

  describe('targets that are gone', () => {
    const target = (instance: string, values: string, pod = instance) => ({
      series: `up{job="cpusetd",cluster="c",instance="${instance}",pod="${pod}"}`,
      values,
    });
    const gone = (...instances: string[]) =>
      instances.map((instance) => ({ exp_labels: { cluster: 'c', instance, severity: 'warning' } }));
    const nowhere = [{ exp_labels: { job: 'cpusetd', severity: 'critical' } }];
    const expectAlerts = (
      input_series: RuleTest['input_series'],
      expected: readonly [time: string, alert: string, alerts: ReturnType<typeof gone> | typeof nowhere][],
    ): void =>
      expectRules([
        {
          interval: '1m',
          input_series,
          alert_rule_test: expected.map(([eval_time, alertname, exp_alerts]) => ({ eval_time, alertname, exp_alerts })),
        },
      ]);

    test('one of three disappears: CpusetdGone names it; CpusetdDown, which needs a target, is silent', () => {
      expectAlerts(
        [target('a', '1x600'), target('b', '1x600'), target('n', '1x30 stale')],
        [
          ['30m', 'CpusetdGone', []],
          ['34m', 'CpusetdGone', []],
          ['37m', 'CpusetdGone', gone('n')],
          ['37m', 'CpusetdDown', []],
          ['37m', 'CpusetdNowhere', []],
        ],
      );
    });

    test('the target is back: the alert ends', () => {
      expectAlerts(
        [target('a', '1x600'), target('n', '1x30 stale _x14 1x500')],
        [
          ['40m', 'CpusetdGone', gone('n')],
          ['47m', 'CpusetdGone', []],
        ],
      );
    });

    test('a node that was removed for good: the alert ends six hours after the last scrape', () => {
      expectAlerts(
        [target('a', '1x600'), target('n', '1x30 stale')],
        [
          ['389m', 'CpusetdGone', gone('n')],
          ['392m', 'CpusetdGone', []],
        ],
      );
    });

    test('all disappear: CpusetdNowhere, for as long as that is so, and each of them', () => {
      expectAlerts(
        [target('a', '1x30 stale'), target('b', '1x30 stale'), target('n', '1x30 stale')],
        [
          ['30m', 'CpusetdNowhere', []],
          ['37m', 'CpusetdNowhere', nowhere],
          ['37m', 'CpusetdGone', gone('a', 'b', 'n')],
          ['600m', 'CpusetdNowhere', nowhere],
          ['600m', 'CpusetdGone', []],
        ],
      );
    });

    test('a pod is replaced by another one on its node: nothing fires', () => {
      expectAlerts(
        [target('n', '1x30 stale', 'first'), target('n', '_x32 1x100', 'second')],
        [
          ['33m', 'CpusetdGone', []],
          ['60m', 'CpusetdGone', []],
          ['60m', 'CpusetdNowhere', []],
        ],
      );
    });

    test('a target that is there and does not answer is down, and not gone', () => {
      expectAlerts(
        [target('n', '1x10 0x60')],
        [
          ['30m', 'CpusetdGone', []],
          ['30m', 'CpusetdNowhere', []],
        ],
      );
    });
  });

  test('CpusetdSavesSlowly fires when one in a hundred saves is slow for long, and ends', () => {
    const bucket = (le: string, values: string) => ({
      series: `cpusetd_state_write_seconds_bucket{${labelsOf({ le })}}`,
      values,
    });
    expectRules([
      {
        interval: '1m',
        input_series: [bucket('0.3', '0+8x60 480+10x60'), bucket('1', '0+10x120'), bucket('+Inf', '0+10x120')],
        alert_rule_test: [
          { eval_time: '10m', alertname: 'CpusetdSavesSlowly', exp_alerts: [] },
          {
            eval_time: '40m',
            alertname: 'CpusetdSavesSlowly',
            exp_alerts: [{ exp_labels: { ...at, severity: 'warning' } }],
          },
          { eval_time: '100m', alertname: 'CpusetdSavesSlowly', exp_alerts: [] },
        ],
      },
    ]);
  });

  test('CpusetdRulesActLong goes on while one measure follows the other', () => {
    const series = (name: string, values: string) => ({ series: `${name}{${labelsOf({})}}`, values });
    expectRules([
      {
        interval: '1m',
        input_series: [
          series('cpusetd_qos_scheduling_disabled', '1x20 0x30'),
          series('cpusetd_qos_throttled_containers', '0x19 2x20 0x10'),
        ],
        alert_rule_test: [
          { eval_time: '29m', alertname: 'CpusetdRulesActLong', exp_alerts: [] },
          {
            eval_time: '35m',
            alertname: 'CpusetdRulesActLong',
            exp_alerts: [{ exp_labels: { ...at, severity: 'warning' } }],
          },
          { eval_time: '45m', alertname: 'CpusetdRulesActLong', exp_alerts: [] },
        ],
      },
    ]);
  });

  test('CpusetdUsageStale fires when no reading follows, and ends with the next', () => {
    const readings = (values: string) => ({
      series: `cpusetd_usage_last_timestamp_seconds{${labelsOf({})}}`,
      values,
    });
    const maxAge = { series: `cpusetd_usage_max_age_seconds{${labelsOf({})}}`, values: '30x60' };
    expectRules([
      {
        interval: '1m',
        input_series: [readings('0+60x10 600x15 1620+60x20'), maxAge],
        alert_rule_test: [
          { eval_time: '10m', alertname: 'CpusetdUsageStale', exp_alerts: [] },
          { eval_time: '15m', alertname: 'CpusetdUsageStale', exp_alerts: [] },
          {
            eval_time: '18m',
            alertname: 'CpusetdUsageStale',
            exp_alerts: [{ exp_labels: { ...at, severity: 'warning' } }],
          },
          { eval_time: '30m', alertname: 'CpusetdUsageStale', exp_alerts: [] },
        ],
      },
    ]);
  });

  test('CpusetdVersionsDiffer fires when an update stands still for 6 hours, and ends', () => {
    const series = (instance: string, version: string, values: string) => ({
      series: `cpusetd_build_info{cluster="c",instance="${instance}",version="${version}"}`,
      values,
    });
    expectRules([
      {
        interval: '4m',
        input_series: [series('a', '1', '1x200'), series('b', '1', '1 1 stale'), series('b', '2', '_ _ 1x140 stale')],
        alert_rule_test: [
          { eval_time: '2h', alertname: 'CpusetdVersionsDiffer', exp_alerts: [] },
          {
            eval_time: '8h',
            alertname: 'CpusetdVersionsDiffer',
            exp_alerts: [{ exp_labels: { cluster: 'c', severity: 'info' } }],
          },
          { eval_time: '12h', alertname: 'CpusetdVersionsDiffer', exp_alerts: [] },
        ],
      },
    ]);
  });

  test('every alert is tested, and the two on alarms share all kinds', () => {
    const tested = [
      ...CASES.map(([alert]) => alert),
      'CpusetdGone',
      'CpusetdNowhere',
      'CpusetdUsageStale',
      'CpusetdSavesSlowly',
      'CpusetdVersionsDiffer',
    ];
    expect(alerts.map(({ alert }) => alert).sort()).toEqual([...new Set(tested)].sort());
    const patterns = alerts.flatMap(({ expr }) => /kind=~"([^"]*)"/.exec(expr)?.[1] ?? []);
    expect(patterns).toHaveLength(1);
    expect(patterns[0]!.split('|').filter((kind) => !(ALARM_KINDS as readonly string[]).includes(kind))).toEqual([]);
  });

  test('a healthy node fires nothing', () => {
    const healthy: RuleTest['input_series'] = [
      { series: `up{${labelsOf({ job: 'cpusetd' })}}`, values: '1x60' },
      { series: `cpusetd_nri_connection_state{${labelsOf({ state: 'ready' })}}`, values: '1x60' },
      { series: `cpusetd_nri_connection_state{${labelsOf({ state: 'connecting' })}}`, values: '0x60' },
      { series: `cpusetd_container_verdicts{${labelsOf({ verdict: 'kept' })}}`, values: '5x60' },
      { series: `cpusetd_container_verdicts{${labelsOf({ verdict: 'violated' })}}`, values: '0x60' },
      { series: `cpusetd_repairs_total{${labelsOf({ outcome: 'ok' })}}`, values: '0+1x60' },
      { series: `cpusetd_drift_total{${labelsOf({ cause: 'unknown-writer' })}}`, values: '7x60' },
      ...ALARM_KINDS.map((kind) => ({ series: `cpusetd_alarms{${labelsOf({ kind })}}`, values: '0x60' })),
      { series: `cpusetd_build_info{${labelsOf({ version: '1' })}}`, values: '1x60' },
      { series: `cpusetd_start_time_seconds{${labelsOf({})}}`, values: '0x60' },
      { series: `cpusetd_usage_last_timestamp_seconds{${labelsOf({})}}`, values: '0+60x60' },
      { series: `cpusetd_usage_max_age_seconds{${labelsOf({})}}`, values: '30x60' },
      { series: `cpusetd_qos_scheduling_disabled{${labelsOf({})}}`, values: '0x60' },
      { series: `cpusetd_qos_throttled_containers{${labelsOf({})}}`, values: '0x60' },
    ];
    expectRules([
      {
        interval: '1m',
        input_series: healthy,
        alert_rule_test: alerts.map(({ alert }) => ({ eval_time: '50m', alertname: alert!, exp_alerts: [] })),
      },
    ]);
  });

  test('recording rules answer for the fleet', () => {
    const sampleOf = (name: string, instance: string, labels: string, value: number) => ({
      series: `${name}{cluster="c",instance="${instance}"${labels}}`,
      values: `${value}x10`,
    });
    const sample = (expr: string, labels: string, value: number) => ({
      expr,
      eval_time: '5m',
      exp_samples: [{ labels: `${expr}{${labels}}`, value }],
    });
    expectRules([
      {
        interval: '1m',
        input_series: [
          sampleOf('cpusetd_free_cpus', 'a', '', 30),
          sampleOf('cpusetd_free_cpus', 'b', '', 10),
          sampleOf('cpusetd_free_cpus_fragmentation_ratio', 'a', '', 0.1),
          sampleOf('cpusetd_free_cpus_fragmentation_ratio', 'b', '', 0.5),
          sampleOf('cpusetd_largest_aligned_request_cpus', 'a', ',boundary="numa_node"', 14),
          sampleOf('cpusetd_largest_aligned_request_cpus', 'b', ',boundary="numa_node"', 6),
          sampleOf('cpusetd_free_units', 'a', ',unit="numa_node"', 1),
          sampleOf('cpusetd_free_units', 'b', ',unit="numa_node"', 2),
        ],
        promql_expr_test: [
          sample('cluster:cpusetd_free_cpus:sum', 'cluster="c"', 40),
          sample('cluster:cpusetd_free_cpus_fragmentation:ratio', 'cluster="c"', 0.2),
          sample('cluster_boundary:cpusetd_largest_aligned_request_cpus:max', 'cluster="c",boundary="numa_node"', 14),
          sample('cluster_unit:cpusetd_free_units:sum', 'cluster="c",unit="numa_node"', 3),
        ],
      },
    ]);
  });

  /** Runs the rules without their texts: promtool would compare these with values filled in. */
  function expectRules(tests: readonly RuleTest[]): void {
    const ruleFile = {
      groups: groups.map((group) => ({
        ...group,
        rules: group.rules.map((rule) => ({ ...rule, annotations: undefined })),
      })),
    };
    const file = { rule_files: ['rules.yaml'], evaluation_interval: '1m', tests };
    const { status, output } = runPromtool(promtool, ['test', 'rules'], { file, beside: { 'rules.yaml': ruleFile } });
    expect(`${status} ${output}`).toMatch(/^0 .*SUCCESS/s);
  }
});
