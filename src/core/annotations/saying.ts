import { oncePer } from '../once-per';
import type { Annotations } from './annotation';
import { listChoices } from './choose-policy';
import { excludesReserved } from './exclude-reserved';
import { resultOf } from './topology-result';

/**
 * All that the annotations of a pod say about one of its containers, as one text: equal texts say the same. What is not
 * understood counts as not said, so the text is short whatever the pod's author writes.
 */
export function sayingOf(annotations: Annotations, containerName: string): string {
  const choices = listChoices(annotations, containerName).map(({ annotation, policy }) => `${annotation}=${policy}`);
  const ofPod = resultOf(annotations) || excludesReserved(annotations) ? sayingOfPod(annotations) : '';
  return choices.length === 0 ? ofPod : [...choices, ...(ofPod === '' ? [] : [ofPod])].join(' ');
}

/** The part that holds for all containers alike. */
const sayingOfPod = oncePer((annotations: Annotations): string => {
  const parsed = resultOf(annotations);
  const result = parsed === undefined ? [] : [parsed.ok ? `result=${[...parsed.result].join(';')}` : 'result=?'];
  return [...result, ...(excludesReserved(annotations) ? ['not-reserved'] : [])].join(' ');
});
