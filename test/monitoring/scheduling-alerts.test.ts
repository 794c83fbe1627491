import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { AnnotatorMetrics } from '../../src/scheduling/annotator/metrics';
import { ExtenderMetrics } from '../../src/scheduling/extender/metrics';
import { readPage, ROOT } from '../docs/markdown';
import { defineWithPrerequisite } from '../support/not-run';
import { findPrometheus, runPromtool, type RuleTest } from './promtool';
import { toInputSeries } from './recorded';

// The alerts of deploy/scheduling.

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly labels?: { readonly severity: string };
  readonly annotations?: { readonly summary: string; readonly description: string; readonly runbook_url: string };
}
const PATH = join(ROOT, 'deploy/scheduling/alerts.yaml');
const { groups } = parse(readFileSync(PATH, 'utf8')) as { groups: { rules: Alert[] }[] };
const alerts = groups.flatMap(({ rules }) => rules);

test('each alert has a severity, texts, and a chapter of the runbook, and each chapter has an alert', () => {
  const chapters = [...readPage('load-aware-scheduling.md').matchAll(/^### (Cpusetd\w+)$/gm)].map(([, name]) => name!);
  expect(alerts.map(({ alert }) => alert)).toEqual(chapters);
  for (const { alert, labels, annotations } of alerts) {
    expect(['critical', 'warning', 'info']).toContain(labels?.severity);
    expect(annotations).toEqual({
      summary: expect.stringMatching(/^\S.{10,120}\.$/) as unknown,
      description: expect.stringMatching(/^\S.{20,250}\.$/) as unknown,
      runbook_url: `docs/load-aware-scheduling.md#${alert.toLowerCase()}`,
    });
  }
});

test('no alert asks for the increase of a counter, which an event before the first scrape is not in', () => {
  expect(alerts.filter(({ expr }) => /\bincrease\(/.test(expr))).toEqual([]);
});

const programs = findPrometheus();
defineWithPrerequisite('obstacle' in programs ? programs.obstacle : undefined, () => {
  const promtool = 'promtool' in programs ? programs.promtool : '';
  const none = (): number => 0;
  const scrapeOf = async (metrics: AnnotatorMetrics | ExtenderMetrics) => ({
    text: await metrics.expose(),
    atMs: Date.now(),
  });
  const all = {
    metrics: new Set(alerts.flatMap(({ expr }) => expr.match(/cpusetd_\w+/g) ?? [])),
    minutes: 300,
  };
  const expectAlert = (
    input: RuleTest['input_series'],
    expected: readonly [time: string, alert: string, labels: Record<string, string> | undefined][],
  ): void => {
    const file = {
      rule_files: ['rules.yaml'],
      evaluation_interval: '1m',
      tests: [
        {
          interval: '1m',
          input_series: input,
          alert_rule_test: expected.map(([eval_time, alertname, labels]) => {
            return { eval_time, alertname, exp_alerts: labels ? [{ exp_labels: labels }] : [] };
          }),
        },
      ],
    };
    const rules = {
      groups: groups.map((group) => ({
        ...group,
        rules: group.rules.map((rule) => ({ ...rule, annotations: undefined })),
      })),
    };
    const { status, output } = runPromtool(promtool, ['test', 'rules'], { file, beside: { 'rules.yaml': rules } });
    expect(`${status} ${output}`).toMatch(/^0 .*SUCCESS/s);
  };

  test('promtool accepts the rules', () => {
    expect(runPromtool(promtool, ['check', 'rules', PATH], {})).toMatchObject({ status: 0 });
  });

  test('CpusetdPolicyNotInForce: the first refusal of a process; it fires until the file is correct', async () => {
    let isRefused = false;
    const metrics = new ExtenderMetrics({
      isSynced: () => true,
      nodes: none,
      topologies: none,
      pods: none,
      policyIsRefused: () => isRefused,
    });
    const before = await scrapeOf(metrics);
    isRefused = true;
    metrics.policyReloaded('failed');
    const refused = await scrapeOf(metrics);
    const target = { instance: 'a', job: 'extender' };
    const input = toInputSeries(
      [
        { scrape: before, target, from: 0, to: 9 },
        { scrape: refused, target, from: 10, to: 200 },
        { scrape: before, target, from: 201, to: 300 },
      ],
      all,
    );
    expectAlert(input, [
      ['9m', 'CpusetdPolicyNotInForce', undefined],
      ['12m', 'CpusetdPolicyNotInForce', { severity: 'warning' }],
      ['200m', 'CpusetdPolicyNotInForce', { severity: 'warning' }],
      ['202m', 'CpusetdPolicyNotInForce', undefined],
    ]);
    expect(before.text).toContain('cpusetd_extender_policy_reloads_total{result="failed"} 0\n');
  });

  test('CpusetdLoadNotRead: no answer since the start of the leader, while a replica that waits is young', async () => {
    jest.useFakeTimers({ now: 0 });
    try {
      const [leads, waits] = [true, false].map(
        (isLeading) => new AnnotatorMetrics(['cpu'], () => ({ nodes: 0, bindings: 0, isLeading })),
      );
      const young = await scrapeOf(waits!);
      const fresh = await scrapeOf(leads!);
      jest.advanceTimersByTime(4 * 3_600_000);
      const old = await scrapeOf(leads!);
      const input = toInputSeries(
        [
          { scrape: fresh, target: { instance: 'a' }, from: 0, to: 99 },
          { scrape: old, target: { instance: 'a' }, from: 100, to: 300 },
          { scrape: young, target: { instance: 'b' }, from: 0, to: 300 },
        ],
        all,
      );
      expectAlert(input, [
        ['99m', 'CpusetdLoadNotRead', undefined],
        ['115m', 'CpusetdLoadNotRead', { severity: 'warning', metric: 'cpu' }],
      ]);
    } finally {
      jest.useRealTimers();
    }
  });

  test('CpusetdNoExtender and CpusetdNobodyWritesLoad fire without any target', () => {
    expectAlert(
      [],
      [
        ['10m', 'CpusetdNoExtender', { severity: 'critical' }],
        ['10m', 'CpusetdNobodyWritesLoad', { severity: 'warning' }],
      ],
    );
  });
});
