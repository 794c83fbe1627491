import { Counter, type Registry } from 'prom-client';
import { isTriggered, type LentStatus, type QosStatus } from '../model/qos-status';
import { boundLabel, formatGauge } from './exposition';

/** Rules and what is lent, as of now; each undefined while it is off. */
export interface QosReading {
  readonly qos: QosStatus | undefined;
  readonly lent: LentStatus | undefined;
}

export const QOS_ACTIONS = ['throttle', 'restore', 'evict', 'disable-scheduling', 'enable-scheduling'] as const;
export const QOS_OUTCOMES = ['done', 'preview', 'failed'] as const;
export type QosActionName = (typeof QOS_ACTIONS)[number];
export type QosOutcome = (typeof QOS_OUTCOMES)[number];

/** Counts the actions of rules. Each series begins at 0. */
export function countQosActions(registry: Registry): Counter<'action' | 'outcome'> {
  const counter = new Counter({
    name: 'cpusetd_qos_actions_total',
    help: 'Actions of rules on the node and on pods.',
    labelNames: ['action', 'outcome'],
    registers: [registry],
  });
  for (const action of QOS_ACTIONS) for (const outcome of QOS_OUTCOMES) counter.inc({ action, outcome }, 0);
  return counter;
}

/** The gauges in Prometheus' text format. */
export function formatQos({ qos, lent }: QosReading): string {
  const gauges = [...(qos ? formatRules(qos) : []), ...(lent ? formatLent(lent) : [])];
  return gauges.length === 0 ? '' : [...gauges, ''].join('\n');
}

function formatRules({ rules, schedulingDisabled, throttled, actionsLeft, evictionsLeft }: QosStatus) {
  return [
    ...formatGauge(
      'qos_rule_triggered',
      '1 while the threshold of the rule is passed.',
      // Two rules of one name are one series: that of the triggered one.
      [...rules]
        .sort((a, b) => Number(isTriggered(a)) - Number(isTriggered(b)))
        .map((rule) => [{ rule: boundLabel(rule.rule), action: boundLabel(rule.action) }, isTriggered(rule) ? 1 : 0]),
    ),
    ...formatGauge('qos_scheduling_disabled', '1 while new pods are kept away from the node.', [
      [{}, schedulingDisabled ? 1 : 0],
    ]),
    ...formatGauge('qos_throttled_containers', 'Containers whose CFS quota a rule made smaller.', [
      [{}, throttled.length],
    ]),
    ...formatGauge('qos_budget_left', 'Actions that the budget of the hour still allows.', [
      [{ kind: 'action' }, actionsLeft],
      [{ kind: 'eviction' }, evictionsLeft],
    ]),
  ];
}

function formatLent({ cpuMilli, memoryBytes }: LentStatus) {
  return [
    ...formatGauge('lent_cpu_cores', 'CPUs that are lent to pods.', [
      [{}, cpuMilli === undefined ? undefined : cpuMilli / 1e3],
    ]),
    ...formatGauge('lent_memory_bytes', 'Memory that is lent to pods.', [[{}, memoryBytes]]),
  ];
}
