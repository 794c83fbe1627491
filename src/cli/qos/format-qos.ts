import type {
  PromisedSetStatus,
  QosActionRecord,
  QosStatus,
  RuleStatus,
  ThrottledContainer,
  UsageStatus,
} from '../../admin/model/qos-status';
import { isTriggered } from '../../admin/model/qos-status';
import type { NodeStatus } from '../../admin/model/status';
import { formatLent, listExclusiveUse } from '../../admin/summary/usage';
import { showText } from '../../core/show-text';
import { compareTexts, formatCpuShare, formatMemory, formatPercent, formatQuota, plural } from '../../core/text';
import { formatTable, formatTime } from '../format/table';
import { PLAIN, type Terminal, type Tone } from '../format/terminal';
import { wrap } from '../format/width';

type Fact = readonly [name: string, text: string];

/** Use, rules and what is lent as text: facts of the node, then a table for each list that has something. */
export function formatQos(
  { usage, qos, lent }: Pick<NodeStatus, 'usage' | 'qos' | 'lent'>,
  terminal: Terminal = PLAIN,
): string {
  const facts: Fact[] = [
    ...(usage
      ? factsOfUsage(usage)
      : [['usage', 'not measured: collect-interval is off, or there was no second reading yet'] as const]),
    ...(qos ? factsOfQos(qos) : [['rules', 'no NodeQOS objects are followed'] as const]),
    lent
      ? ['lent', `${formatLent(lent)}, since ${formatTime(lent.since)}: ${lent.because}`]
      : ['lent', 'nothing: node-resource is off'],
  ];
  const tables = [
    ...(usage && usage.sets.length > 0 ? [formatSets(usage.sets, terminal)] : []),
    ...(qos && qos.rules.length > 0 ? [formatRules(qos.rules, terminal)] : []),
    ...(qos && qos.throttled.length > 0 ? [formatThrottled(qos.throttled, terminal)] : []),
    ...(qos && qos.recent.length > 0 ? [formatActions(qos.recent, qos.mode, terminal)] : []),
  ];
  return [formatFacts(facts, terminal), ...tables].join('\n');
}

function factsOfUsage(usage: UsageStatus): readonly Fact[] {
  const { at, busyMs, cpuCores, cpuPercent, memoryBytes, memoryTotalBytes, load1 } = usage;
  const exclusive = listExclusiveUse(usage);
  const unread = 'could not be read';
  return [
    ['read', `${formatTime(at)}, in ${Number(busyMs.toFixed(1))} ms`],
    ['CPUs', cpuPercent === undefined ? unread : `${formatPercent(cpuPercent)} of ${plural(cpuCores, 'CPU')} busy`],
    [
      'memory',
      memoryBytes === undefined || memoryTotalBytes === undefined
        ? unread
        : `${formatMemory(memoryBytes)} of ${formatMemory(memoryTotalBytes)} used`,
    ],
    ...(load1 === undefined ? [] : [['load', `${load1.toFixed(2)} over 1 minute`] as const]),
    ...(exclusive.length === 0
      ? []
      : [['exclusive', `${exclusive.join(', ')}, of all exclusive CPUs together`] as const]),
  ];
}

function factsOfQos({ mode, because, schedulingDisabled, actionsLeft, evictionsLeft }: QosStatus): readonly Fact[] {
  const left = `${plural(actionsLeft, 'action')} and ${plural(evictionsLeft, 'eviction')} left in this hour`;
  return [
    ['rules', `mode ${mode}, ${because === '' ? left : `no rule is followed: ${because}`}`],
    ...(schedulingDisabled
      ? [
          [
            'new pods',
            `kept away since ${formatTime(schedulingDisabled.since)}: ${schedulingDisabled.because}`,
          ] as const,
        ]
      : []),
  ];
}

const NAME_WIDTH = 11;
/** Longest text of a fact: reasons are sentences. */
const MAX_FACT_LENGTH = 8_192;

function formatFacts(facts: readonly Fact[], { width }: Terminal): string {
  return facts
    .flatMap(([name, text]) => {
      const shown = showText(text, MAX_FACT_LENGTH);
      const lines = width === undefined ? [shown] : wrap(shown, Math.max(20, width - NAME_WIDTH));
      return lines.map((line, i) => `${(i === 0 ? name : '').padEnd(NAME_WIDTH)}${line}\n`);
    })
    .join('');
}

function formatSets(sets: readonly PromisedSetStatus[], terminal: Terminal): string {
  const rows = sortByName(sets).map((set) => [
    `${set.namespace}/${set.pod}`,
    set.container,
    set.cpus.toString(),
    `${formatCpuShare(set.usedMilliCpu)}${set.cpus.isEmpty ? '' : ` (${formatPercent(set.usedMilliCpu / 10 / set.cpus.size)})`}`,
    set.waitMsPerSecond === undefined ? '' : `${Number(set.waitMsPerSecond.toFixed(1))} ms/s`,
    set.throttledPercent === undefined ? '' : formatPercent(set.throttledPercent),
  ]);
  const table = formatTable(['POD', 'CONTAINER', 'CPUS', 'USED', 'WAIT', 'THROTTLED'], rows, { terminal, toneOf });
  return `Promised CPUs, and what their containers did with them.\n${table}`;
}

function formatRules(rules: readonly RuleStatus[], terminal: Terminal): string {
  const rows = [...rules]
    .sort((a, b) => Number(isTriggered(b)) - Number(isTriggered(a)) || compareTexts(a.rule, b.rule))
    .map(({ rule, state, action, because }) => [rule, state, action, because]);
  return `Rules of NodeQOS objects.\n${formatTable(['RULE', 'STATE', 'ACTION', 'BECAUSE'], rows, { terminal, toneOf })}`;
}

function formatThrottled(throttled: readonly ThrottledContainer[], terminal: Terminal): string {
  const rows = sortByName(throttled).map((container) => [
    `${container.namespace}/${container.pod}`,
    container.container,
    formatQuota(container.originalQuotaUs, container.periodUs),
    formatQuota(container.quotaUs, container.periodUs),
    formatTime(container.since),
    container.because,
  ]);
  const table = formatTable(['POD', 'CONTAINER', 'FROM', 'TO', 'SINCE', 'BECAUSE'], rows, { terminal, toneOf });
  return `Throttled: containers whose CFS quota a rule made smaller.\n${table}`;
}

function formatActions(recent: readonly QosActionRecord[], mode: QosStatus['mode'], terminal: Terminal): string {
  const rows = recent.map(({ at, action, subject, outcome, because }) => [
    formatTime(at),
    action,
    subject,
    outcome,
    because,
  ]);
  const title =
    mode === 'preview' ? 'The last actions, as they would have been: preview changes nothing.' : 'The last actions.';
  return `${title}\n${formatTable(['TIME', 'ACTION', 'SUBJECT', 'OUTCOME', 'BECAUSE'], rows, { terminal, toneOf })}`;
}

function toneOf(cell: string, title: string): Tone | undefined {
  if (title === 'STATE') return isTriggered({ state: cell }) ? 'warning' : 'good';
  if (title === 'OUTCOME') return cell === 'failed' ? 'bad' : undefined;
  return cell === '-' ? 'dim' : undefined;
}

function sortByName<T extends Pick<PromisedSetStatus, 'namespace' | 'pod' | 'container'>>(all: readonly T[]): T[] {
  const nameOf = ({ namespace, pod, container }: T): string => `${namespace}/${pod}/${container}`;
  return [...all].sort((a, b) => compareTexts(nameOf(a), nameOf(b)));
}
