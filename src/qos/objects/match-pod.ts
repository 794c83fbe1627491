import { matchLabels } from './match-labels';
import type { LabelSelector, PodQos, PodScope, QosPod } from './objects';
import { parsePriorityRange } from './priority-range';

/** The part of a pod that a PodQOS selects by. */
export type SelectablePod = Pick<QosPod, 'namespace' | 'labels' | 'qos' | 'priority'>;

/**
 * True when a PodQOS selects a pod: all its selectors have to hold. One without any term selects nothing, because
 * actions are taken against what it selects. Labels that are not known match: who writes a pod must not get out of a
 * rule by more labels.
 */
export function matchPod({ labelSelector, scopes }: PodQos, pod: SelectablePod): boolean {
  if (scopes.length === 0 && !hasTerms(labelSelector)) return false;
  if (labelSelector && pod.labels && !matchLabels(labelSelector, pod.labels)) return false;
  return scopes.every((scope) => matchScope(scope, pod));
}

function hasTerms(selector: LabelSelector | undefined): boolean {
  return selector !== undefined && Object.keys(selector.matchLabels).length + selector.matchExpressions.length > 0;
}

function matchScope({ name, operator, values }: PodScope, pod: SelectablePod): boolean {
  const isIn = name === 'Priority' ? isInRanges(values, pod.priority) : values.includes(nameOf(name, pod));
  if (isIn === undefined) return false;
  return isIn === (operator === 'In');
}

function nameOf(scope: 'QOSClass' | 'Namespace', pod: SelectablePod): string {
  return scope === 'QOSClass' ? pod.qos : pod.namespace;
}

/** Undefined when a value is no range: the scope holds for no pod then, whatever its operator. */
function isInRanges(values: readonly string[], priority: number): boolean | undefined {
  const ranges = values.map(parsePriorityRange);
  if (ranges.includes(undefined)) return undefined;
  return ranges.some((range) => range !== undefined && range.from <= priority && priority <= range.to);
}
