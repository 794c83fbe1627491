import { annotationOf, type Annotations } from './annotation';
import { listChoices } from './choose-policy';
import { EXCLUDE_RESERVED, excludesReserved } from './exclude-reserved';
import { parseTopologyResult, TOPOLOGY_RESULT } from './topology-result';

/** What names a static pod's mirror (`core/model/find-spec.ts`). */
const IDENTITY = ['kubernetes.io/config.mirror', 'kubernetes.io/config.hash'];

/**
 * The annotations without those that decide nothing here: for these containers `sayingOf` and `choosePolicy` make the same
 * of them. Short, whatever the pod's author writes.
 */
export function decisiveAnnotations(annotations: Annotations, containerNames: readonly string[]): Annotations {
  const kept: Record<string, string> = {};
  for (const name of containerNames)
    for (const { annotation, policy } of listChoices(annotations, name)) kept[annotation] = policy;
  if (excludesReserved(annotations)) kept[EXCLUDE_RESERVED] = 'true';
  const result = annotationOf(annotations, TOPOLOGY_RESULT);
  if (result !== undefined) kept[TOPOLOGY_RESULT] = parseTopologyResult(result).ok ? result : '?';
  for (const name of IDENTITY) {
    const value = annotationOf(annotations, name);
    if (value !== undefined) kept[name] = value;
  }
  return kept;
}
