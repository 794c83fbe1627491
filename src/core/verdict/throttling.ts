import type { Container } from '../model/container';
import { isAssigned } from '../model/pool-view';
import type { NodeView } from '../model/node-view';
import type { Observation, Quota } from './observation';
import { plural } from '../text';

/** The owner of a CFS quota that throttles a container with CPUs of its own. */
export type Throttle = 'container' | 'pod';

/**
 * The quotas that throttle a container although it was promised to have none: lifted where cgroups can be written.
 * The pod's quota is the sum over its containers, so it throttles the pinned one with the others; the kubelet lifts
 * both for pinned containers too (its DisableCPUQuotaWithExclusiveCPUs).
 */
export function findThrottles(view: NodeView, container: Container, observation: Observation): readonly Throttle[] {
  if (observation.kind !== 'seen' || !wasLifted(view, container)) return [];
  const { quota, podQuota } = observation;
  return [...(isLimit(quota) ? ['container' as const] : []), ...(isLimit(podQuota) ? ['pod' as const] : [])];
}

/** The quota of a container on CPUs of its own was lifted with the decision that gave them. */
export function wasLifted(view: NodeView, container: Container): boolean {
  if (!isAssigned(container)) return false;
  const { podUid, name } = container;
  return view.assignmentFor(podUid, name)?.quotaLifted ?? false;
}

/** True for a quota that limits: -1 does not, and one that was not read counts as none. */
export function isLimit(quota: Quota | undefined): quota is Quota {
  return quota !== undefined && quota.quotaUs >= 0;
}

/** `2 CPUs (200000 µs in each 100000 µs)` */
export function describeQuota({ quotaUs, periodUs }: Quota): string {
  const cpus = Math.round((quotaUs / periodUs) * 1000) / 1000;
  return `${plural(cpus, 'CPU')} (${quotaUs} µs in each ${periodUs} µs)`;
}
