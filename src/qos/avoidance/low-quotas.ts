import { quotaUsOfMilli } from '../../core/inference/cri-numbers';
import type { QosPod } from '../objects/objects';
import { plainQuota, UNLIMITED } from './quota';
import type { ContainerState } from './situation';

/** A quota that is lower than the spec of its container says, and what the spec says. */
export interface LowQuota {
  readonly container: ContainerState;
  readonly pod: QosPod;
  readonly fromUs: number;
  /** `UNLIMITED` for a container without a limit. */
  readonly toUs: number;
  readonly periodUs: number;
}

export interface UnknownQuota {
  /** Of the container. */
  readonly id: string;
  /** namespace/pod/container. */
  readonly subject: string;
  readonly because: string;
}

export interface LowQuotas {
  readonly low: readonly LowQuota[];
  /** Containers of which it is not known now whether their quota is lower than it should be. */
  readonly unknown: readonly UnknownQuota[];
}

/** The quotas that a lost record may have listed, or the reason why they are not known yet. */
export type UnknownThrottles = LowQuotas | { readonly because: string };

/**
 * The quotas that are lower than the specs of their pods say: what a lost record of throttles may have listed. Left out
 * are containers that are never throttled, and those without a limit in a pod that has one (`hasPodLimit`): no spec of
 * the container has their quota.
 */
export function findLowQuotas(
  pods: readonly QosPod[],
  containers: readonly ContainerState[],
  hasPodLimit: (pod: QosPod) => boolean,
): LowQuotas {
  const byUid = new Map(pods.map((pod) => [pod.uid, pod]));
  const unknown: UnknownQuota[] = [];
  const low = containers.flatMap((container): LowQuota[] => {
    const { isPinned, quotaUs, periodUs } = container;
    const pod = byUid.get(container.podUid);
    const spec = pod?.containers.find(({ name }) => name === container.name);
    if (!pod || !spec || isPinned) return [];
    if (pod.isCritical || pod.isStatic || pod.qos === 'Guaranteed') return [];
    const { limitMilliCpu } = spec;
    if (!limitMilliCpu && hasPodLimit(pod)) return [];
    const leaveOut = (because: string): [] => {
      unknown.push({ id: container.id, subject: `${pod.namespace}/${pod.name}/${container.name}`, because });
      return [];
    };
    if (quotaUs === undefined || !periodUs) return leaveOut("its quota can't be read");
    const fromUs = plainQuota(quotaUs);
    if (fromUs === UNLIMITED) return [];
    const mostUs = quotaUsOfMilli(limitMilliCpu ?? spec.elasticLimitMilliCpu ?? 0, periodUs) || Infinity;
    if (fromUs >= mostUs) return [];
    if (pod.isResizePending) return leaveOut('the kubelet has not granted a resize, so its limit is not known');
    return [{ container, pod, fromUs, toUs: limitMilliCpu ? mostUs : UNLIMITED, periodUs }];
  });
  return { low, unknown };
}

/** The reason for which some of them can't be put back; empty = all of them are known. */
export function whyUnknown(unknown: UnknownThrottles): string {
  if ('because' in unknown) return unknown.because;
  const [first, ...others] = unknown.unknown;
  if (first === undefined) return '';
  return `${first.subject}: ${first.because}${others.length > 0 ? `, and ${others.length} more` : ''}`;
}

/**
 * The containers that are not throttled before their quota is put back, by id: a step would make the low quota the
 * original.
 */
export function refuseLow({ low, unknown }: LowQuotas): ReadonlyMap<string, string> {
  const ids = [...low.map(({ container }) => container.id), ...unknown.map(({ id }) => id)];
  const because = 'its quota may be one that a lost record had lowered, and is not put back yet';
  return new Map(ids.map((id) => [id, because]));
}
