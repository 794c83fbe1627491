import { annotationOf, type Annotations } from './annotation';

/** Whether the pod is to be kept off reserved CPUs, also where it shares. Only the exact text `true` says so, as in Crane. */
export function excludesReserved(annotations: Annotations): boolean {
  return annotationOf(annotations, 'topology.crane.io/exclude-reserved-cpus') === 'true';
}
