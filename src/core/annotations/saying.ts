import type { Annotations } from './annotation';
import { annotationOf } from './annotation';
import { listChoices } from './choose-policy';
import { excludesReserved } from './exclude-reserved';
import { parseTopologyResult, TOPOLOGY_RESULT } from './topology-result';

/**
 * All that the annotations of a pod say about one of its containers, as one text: equal texts say the same. What is not
 * understood counts as not said, so the text is short whatever the pod's author writes.
 */
export function sayingOf(annotations: Annotations, containerName: string): string {
  const choices = listChoices(annotations, containerName).map(({ annotation, policy }) => `${annotation}=${policy}`);
  const text = annotationOf(annotations, TOPOLOGY_RESULT);
  const parsed = text === undefined ? undefined : parseTopologyResult(text);
  const result = parsed === undefined ? [] : [parsed.ok ? `result=${[...parsed.result].join(';')}` : 'result=?'];
  return [...choices, ...result, ...(excludesReserved(annotations) ? ['not-reserved'] : [])].join(' ');
}
