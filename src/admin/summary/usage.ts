import { isTriggered, type LentStatus, type QosStatus, type UsageStatus } from '../model/qos-status';
import { formatCpuShare, formatMemory, formatPercent, formatTime, plural } from '../../core/text';
import type { PartSummary } from './part-summary';

export function summarizeUsage(usage: UsageStatus): PartSummary {
  const { at, cpuCores, cpuPercent, memoryBytes, memoryTotalBytes } = usage;
  const exclusive = listExclusiveUse(usage);
  const facts = [
    ...(cpuPercent === undefined ? [] : [`${formatPercent(cpuPercent)} of ${plural(cpuCores, 'CPU')} busy`]),
    ...(memoryBytes === undefined || memoryTotalBytes === undefined
      ? []
      : [`${formatMemory(memoryBytes)} of ${formatMemory(memoryTotalBytes)} memory used`]),
    ...(exclusive.length === 0 ? [] : [`exclusive CPUs: ${exclusive.join(', ')}`]),
  ];
  return { part: 'usage', level: 'ok', text: [...facts, `read ${formatTime(at)}`].join(', ') };
}

/** The time of exclusive CPUs, as far as it is known: used by their owners, used by others, unused. */
export function listExclusiveUse(usage: UsageStatus): readonly string[] {
  const parts = [
    [usage.exclusiveOwnersMilliCpu, 'used by owners'],
    [usage.exclusiveOthersMilliCpu, 'used by others'],
    [usage.exclusiveIdleMilliCpu, 'unused'],
  ] as const;
  return parts.flatMap(([milli, what]) => (milli === undefined ? [] : [`${formatCpuShare(milli)} ${what}`]));
}

export function summarizeQos({ mode, because, rules, schedulingDisabled, throttled }: QosStatus): PartSummary {
  const triggered = rules.filter(isTriggered).length;
  const state =
    because === '' ? `${triggered} of ${plural(rules.length, 'rule')} triggered` : `no rule is followed: ${because}`;
  const effects = [
    ...(schedulingDisabled
      ? [`new pods are kept away since ${formatTime(schedulingDisabled.since)}: ${schedulingDisabled.because}`]
      : []),
    ...(throttled.length > 0 ? [`${plural(throttled.length, 'container is', 'containers are')} throttled`] : []),
  ];
  const isFine = effects.length === 0 && (because === '' || mode === 'off');
  return {
    part: 'qos',
    level: isFine ? 'ok' : 'warning',
    text: [`mode ${mode}, ${state}`, ...effects].join('; '),
    ...(!isFine && { remedy: 'cpusetd qos has the rules, the containers and the reasons' }),
  };
}

export function summarizeLent(lent: LentStatus): PartSummary {
  return { part: 'lent', level: 'ok', text: `${formatLent(lent)}; ${lent.because}` };
}

/** The resources that are lent, in words. */
export function formatLent({ cpuMilli, memoryBytes }: LentStatus): string {
  const amounts = [
    ...(cpuMilli === undefined ? [] : [formatCpuShare(cpuMilli)]),
    ...(memoryBytes === undefined ? [] : [`${formatMemory(memoryBytes)} of memory`]),
  ];
  return amounts.join(' and ') || 'nothing';
}
