import { quotaUsOfMilli } from '../../core/inference/cri-numbers';
import type { QosContainer } from '../objects/objects';
import type { Skipped } from './plan';
import { isSameQuota, limitUs, plainQuota, UNLIMITED } from './quota';
import { formatQuota } from './round';
import type { AvoidanceSituation, ContainerState, Throttle, Yielded } from './situation';

export interface OwnThrottles {
  /** Throttles that the kernel has, by the container's id; `quotaUs` is the kernel's. */
  readonly live: ReadonlyMap<string, Throttle>;
  /** Throttles whose quota can't be read now. They stay as they are. */
  readonly unread: readonly Throttle[];
  readonly ended: readonly Skipped[];
  /** Those of the ended ones whose quota someone else has changed. */
  readonly yielded: readonly Yielded[];
}

/**
 * Compares the noted throttles with the kernel. One that someone else changed has ended: an update of the pod replaced
 * it.
 */
export function judgeThrottles(
  throttles: readonly Throttle[],
  containers: ReadonlyMap<string, ContainerState>,
): OwnThrottles {
  const live = new Map<string, Throttle>();
  const unread: Throttle[] = [];
  const ended: Skipped[] = [];
  const yielded: Yielded[] = [];
  for (const throttle of throttles) {
    const judged = judge(throttle, containers.get(throttle.id));
    if (judged === 'unread') unread.push(throttle);
    else if ('ended' in judged) {
      ended.push({ subject: subjectOf(throttle), because: judged.ended });
      if (judged.isTheirs) yielded.push({ id: throttle.id, rules: throttle.causes.map(({ rule }) => rule) });
    } else live.set(throttle.id, judged);
  }
  return { live, unread, ended, yielded };
}

/** Those that are still left alone: their container is there, and not all of their rules are calm or gone. */
export function stillYielded({
  yielded,
  containers,
  restored,
  actingRules,
}: Pick<AvoidanceSituation, 'yielded' | 'containers' | 'restored' | 'actingRules'>): readonly Yielded[] {
  if (yielded.length === 0) return [];
  const ids = new Set(containers.map(({ id }) => id));
  const calm = new Set(restored.map(({ rule }) => rule));
  const acting = new Set(actingRules);
  return yielded.filter(({ id, rules }) => ids.has(id) && rules.some((rule) => acting.has(rule) && !calm.has(rule)));
}

/** The throttle with the limit of now: an original above a limit that was lowered since is not put back. */
export function followLimit(throttle: Throttle, spec: QosContainer | undefined): Throttle {
  const limitMilliCpu = spec?.limitMilliCpu;
  const { limitMilliCpu: before, originalUs, periodUs } = throttle;
  if (!limitMilliCpu || limitMilliCpu === before) return throttle;
  const mostUs = limitUs(limitMilliCpu, periodUs);
  return { ...throttle, limitMilliCpu, originalUs: originalUs > 0 ? Math.min(originalUs, mostUs) : mostUs };
}

export function subjectOf({ namespace, pod, container }: Throttle): string {
  return `${namespace}/${pod}/${container}`;
}

/** `isTheirs`: someone else has changed the quota. */
interface Ended {
  readonly ended: string;
  readonly isTheirs?: boolean;
}

function judge(throttle: Throttle, container: ContainerState | undefined): Throttle | Ended | 'unread' {
  const { periodUs, originalUs, quotaUs, previousUs } = throttle;
  if (!container) return { ended: 'the container is gone' };
  if (container.isPinned) return { ended: 'cpusetd manages its quota now, or leaves it alone' };
  if (container.quotaUs === undefined || container.periodUs === undefined) return 'unread';
  if (container.periodUs !== periodUs)
    return {
      ended: `someone else changed its period from ${periodUs} us to ${container.periodUs} us`,
      isTheirs: true,
    };
  const kernelUs = plainQuota(container.quotaUs);
  const isOurs = isSameQuota(kernelUs, quotaUs, periodUs) || isSameQuota(kernelUs, previousUs, periodUs);
  if (isSameQuota(kernelUs, originalUs, periodUs)) return { ended: 'its quota is the original', isTheirs: !isOurs };
  if (isOurs) return { ...throttle, quotaUs: kernelUs, previousUs: kernelUs };
  const ended = `someone else changed its quota from ${formatQuota(quotaUs)} to ${formatQuota(kernelUs)}`;
  return { ended, isTheirs: true };
}

/**
 * The throttle with an original that can be of that container. Of a record that nothing vouches for, an original that
 * is not the quota of the limit beside it is not put back: the one of the limit is. Without a limit that is none.
 */
export function plausibleThrottle(throttle: Throttle): Throttle {
  const { limitMilliCpu, originalUs, periodUs } = throttle;
  const ofLimit = limitMilliCpu ? quotaUsOfMilli(limitMilliCpu, periodUs) : UNLIMITED;
  return isSameQuota(originalUs, ofLimit, periodUs) ? throttle : { ...throttle, originalUs: ofLimit };
}
