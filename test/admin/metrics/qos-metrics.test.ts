import { Metrics } from '../../../src/admin/metrics/metrics';
import { formatQos, type QosReading } from '../../../src/admin/metrics/qos-metrics';
import { NodeDriver } from '../../core/transition/node-driver';
import { sampleLent, sampleQos, sampleStatus } from '../sample-status';

const linesOf = (reading: QosReading): string[] =>
  formatQos(reading)
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));

test('rules, what they do, and what is lent', () => {
  expect(linesOf({ qos: sampleQos, lent: sampleLent })).toEqual([
    'cpusetd_qos_rule_triggered{rule="busy/memory",action="clear"} 0',
    'cpusetd_qos_rule_triggered{rule="busy/cpu",action="slow-down"} 1',
    'cpusetd_qos_scheduling_disabled 1',
    'cpusetd_qos_throttled_containers 2',
    'cpusetd_qos_budget_left{kind="action"} 9',
    'cpusetd_qos_budget_left{kind="eviction"} 2',
    'cpusetd_lent_cpu_cores 2.5',
    `cpusetd_lent_memory_bytes ${6 * 2 ** 30}`,
  ]);
});

test('while all is well the gauges are 0, and a resource that is not lent has no series', () => {
  const { schedulingDisabled: _none, ...calm } = { ...sampleQos, rules: [], throttled: [] };
  expect(linesOf({ qos: calm, lent: { because: '', since: sampleLent.since, cpuMilli: 0 } })).toEqual([
    'cpusetd_qos_scheduling_disabled 0',
    'cpusetd_qos_throttled_containers 0',
    'cpusetd_qos_budget_left{kind="action"} 9',
    'cpusetd_qos_budget_left{kind="eviction"} 2',
    'cpusetd_lent_cpu_cores 0',
  ]);
  expect(formatQos({ qos: undefined, lent: undefined })).toBe('');
});

test('of two rules of one name the triggered one is shown', () => {
  const [triggered] = sampleQos.rules;
  const rules = [triggered!, { ...triggered!, state: 'restored' }];
  expect(linesOf({ qos: { ...sampleQos, rules }, lent: undefined })[0]).toBe(
    'cpusetd_qos_rule_triggered{rule="busy/cpu",action="slow-down"} 1',
  );
});

test('actions are counted by outcome from 0, once rules are followed', async () => {
  const metrics = new Metrics({ status: () => sampleStatus, node: new NodeDriver().model });
  metrics.countQosAction('throttle', 'done'); // nothing is followed yet
  expect(await metrics.expose()).not.toContain('cpusetd_qos');
  metrics.addQos(() => ({ qos: sampleQos, lent: undefined }));
  metrics.countQosAction('throttle', 'done');
  metrics.countQosAction('throttle', 'done');
  metrics.countQosAction('evict', 'failed');
  const lines = (await metrics.expose()).split('\n');
  expect(lines).toEqual(
    expect.arrayContaining([
      'cpusetd_qos_actions_total{action="throttle",outcome="done"} 2',
      'cpusetd_qos_actions_total{action="evict",outcome="failed"} 1',
      'cpusetd_qos_actions_total{action="enable-scheduling",outcome="preview"} 0',
      'cpusetd_qos_throttled_containers 2',
    ]),
  );
});
