import type { CpuSet } from '../cpuset';
import { hasCgroup, type Container } from '../model/container';
import type { NodeView } from '../model/node-view';
import { isLost, type Observation } from './observation';
import { readingOf } from './reading';

/** The effect of a container that is left alone on those that own CPUs. */
export type Disturbance =
  | { readonly kind: 'none' }
  /** It may run on these CPUs, which others own. */
  | { readonly kind: 'seen'; readonly cpus: CpuSet }
  /** `isLasting`: it runs, and what it may run on stays unread. */
  | { readonly kind: 'not-known'; readonly because: string; readonly isLasting: boolean };

/**
 * Compares the CPUs that a container without a promise may run on with those that others own. CPUs that were not read
 * are no good news. Pure.
 */
export function findDisturbance(
  { exclusive }: NodeView,
  container: Container,
  observation: Observation | undefined,
): Disturbance {
  if (exclusive.isEmpty || !hasCgroup(container)) return { kind: 'none' };
  const reading = readingOf(container, observation);
  if (reading.kind === 'seen') {
    const cpus = reading.effective.intersect(exclusive);
    return cpus.isEmpty ? { kind: 'none' } : { kind: 'seen', cpus };
  }
  // It does no work, and that of a virtual machine has no cgroup here.
  if (container.pause) return { kind: 'none' };
  const mayHaveEnded = observation?.kind === 'gone' && !(observation.missing && isLost(observation.missing));
  return { kind: 'not-known', because: reading.because, isLasting: reading.kind === 'unknown' && !mayHaveEnded };
}
