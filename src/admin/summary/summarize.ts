import type { Status } from '../model/status';
import { addAlarms } from './alarms';
import { summarizeGap, summarizeOptions, summarizeProcess } from './daemon';
import type { PartSummary } from './part-summary';
import { summarizePods, summarizeRecords, summarizeRuntime } from './peers';
import { summarizeDrifts, summarizeForeign, summarizePromises, summarizeRefused } from './promises';
import { summarizeLent, summarizeQos, summarizeUsage } from './usage';

/**
 * One entry for each part, in the order in which an operator would look. `nowMs`: the time for which "lately" is meant,
 * in ms since 1970.
 */
export function summarize({ node, containers, idle }: Status, nowMs = Date.now()): readonly PartSummary[] {
  const parts: readonly PartSummary[] = [
    summarizeProcess(node),
    summarizeRuntime(node),
    ...(node.mode === 'nri' && node.cri.state !== 'off' ? [summarizeRecords(node)] : []),
    ...(node.kube ? [summarizePods(node.kube, idle)] : []),
    ...summarizeOptions(node),
    { part: 'state', level: 'ok' as const, text: `generation ${node.generation}` },
    summarizePromises(containers),
    ...summarizeDrifts(containers, nowMs),
    ...summarizeForeign(containers),
    ...(node.refused ? [summarizeRefused(node.refused)] : []),
    ...summarizeGap(node, nowMs),
    ...(node.usage ? [summarizeUsage(node.usage)] : []),
    ...(node.qos ? [summarizeQos(node.qos)] : []),
    ...(node.lent ? [summarizeLent(node.lent)] : []),
  ];
  return addAlarms(parts, node.alarms);
}
