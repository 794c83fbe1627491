import { annotationOf, type Annotations } from './annotation';

export const EXCLUDE_RESERVED = 'topology.crane.io/exclude-reserved-cpus';

/** Whether the pod is to be kept off reserved CPUs, also where it shares. Only the exact text `true` says so, as in Crane. */
export function excludesReserved(annotations: Annotations): boolean {
  return annotationOf(annotations, EXCLUDE_RESERVED) === 'true';
}
