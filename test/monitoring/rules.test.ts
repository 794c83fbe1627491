import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { ALARM_KINDS } from '../../src/admin/model/alarm';
import { readPage, ROOT } from '../docs/markdown';
import { defineWithPrerequisite } from '../support/not-run';
import { createMetrics, readLabels } from './exposed';
import { listSelectors } from './promql';
import { findPrometheus, runPromtool, type RuleTest } from './promtool';

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

  /** `values`: samples of one minute each. The alert is quiet at first, fires at `fires`, and is quiet again at `ends`. */
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
    const of = (name: string, instance: string, labels: string, value: number) => ({
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
          of('cpusetd_free_cpus', 'a', '', 30),
          of('cpusetd_free_cpus', 'b', '', 10),
          of('cpusetd_free_cpus_fragmentation_ratio', 'a', '', 0.1),
          of('cpusetd_free_cpus_fragmentation_ratio', 'b', '', 0.5),
          of('cpusetd_largest_aligned_request_cpus', 'a', ',boundary="numa_node"', 14),
          of('cpusetd_largest_aligned_request_cpus', 'b', ',boundary="numa_node"', 6),
          of('cpusetd_free_units', 'a', ',unit="numa_node"', 1),
          of('cpusetd_free_units', 'b', ',unit="numa_node"', 2),
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
