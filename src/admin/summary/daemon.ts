import type { NodeStatus } from '../model/status';
import { formatTime, plural } from '../../core/text';
import { isShownAt } from './alarms';
import { wasLately, type PartSummary } from './part-summary';

export function summarizeProcess({ nodeName, version, mode, startedAt }: NodeStatus): PartSummary {
  const place = nodeName === undefined ? '' : ` on node ${nodeName}`;
  return { part: 'cpusetd', level: 'ok', text: `${version}${place}, mode ${mode}, started ${formatTime(startedAt)}` };
}

/** Options that were changed and are not in force. */
export function summarizeOptions({ pendingOptions = [], alarms }: NodeStatus): readonly PartSummary[] {
  if (pendingOptions.length === 0 && !alarms.some(({ kind }) => isShownAt(kind, 'options'))) return [];
  if (pendingOptions.length === 0) return [{ part: 'options', level: 'ok', text: 'those of before are in force' }];
  const texts = pendingOptions.map(
    ({ option, inForce, configured, because }) =>
      `${option}: ${configured || 'not set'} is configured, ${inForce || 'not set'} is in force: ${because}`,
  );
  return [
    {
      part: 'options',
      level: 'warning',
      text: texts.join('; '),
      remedy: 'restart cpusetd; containers keep their CPUs',
    },
  ];
}

export function summarizeGap({ gap }: NodeStatus, nowMs: number): readonly PartSummary[] {
  if (!gap || (gap.to && gap.containers === 0)) return []; // nothing was missed
  const names = gap.names.length > 0 ? ` (${gap.names.join(', ')})` : '';
  const span = `${formatTime(gap.from)} to ${gap.to ? formatTime(gap.to) : 'now'}`;
  const text = `${span}: ${plural(gap.containers, 'container')} started without cpusetd${names}`;
  if (!gap.to) return [{ part: 'gap', level: 'warning', text }]; // the runtime has the remedy
  if (!wasLately(gap.to, nowMs)) return [{ part: 'gap', level: 'ok', text }];
  const remedy =
    'cpusetd events --kind gap,found-unpinned has the containers; how to have no gap: docs/install.md, The gap';
  return [{ part: 'gap', level: 'warning', text, remedy }];
}
