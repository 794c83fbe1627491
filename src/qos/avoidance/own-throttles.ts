import type { QosContainer } from '../objects/objects';
import type { Skipped } from './plan';
import { isSameQuota, limitUs, plainQuota } from './quota';
import { formatQuota } from './round';
import type { ContainerState, Throttle } from './situation';

export interface OwnThrottles {
  /** Throttles that the kernel has, by the container's id; `quotaUs` is the kernel's. */
  readonly live: ReadonlyMap<string, Throttle>;
  /** Throttles whose quota can't be read now. They stay as they are. */
  readonly unread: readonly Throttle[];
  readonly ended: readonly Skipped[];
}

/** Compares the remembered throttles with the kernel. One that someone else changed has ended: an update of the pod replaced it. */
export function judgeThrottles(
  throttles: readonly Throttle[],
  containers: ReadonlyMap<string, ContainerState>,
): OwnThrottles {
  const live = new Map<string, Throttle>();
  const unread: Throttle[] = [];
  const ended: Skipped[] = [];
  for (const throttle of throttles) {
    const judged = judge(throttle, containers.get(throttle.id));
    if (judged === 'unread') unread.push(throttle);
    else if (typeof judged === 'string') ended.push({ subject: subjectOf(throttle), because: judged });
    else live.set(throttle.id, judged);
  }
  return { live, unread, ended };
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

function judge(throttle: Throttle, container: ContainerState | undefined): Throttle | string {
  const { periodUs, originalUs, quotaUs, previousUs } = throttle;
  if (!container) return 'the container is gone';
  if (container.isPinned) return 'cpusetd manages its quota now, or leaves it alone';
  if (container.quotaUs === undefined || container.periodUs === undefined) return 'unread';
  if (container.periodUs !== periodUs)
    return `someone else changed its period from ${periodUs} us to ${container.periodUs} us`;
  const kernelUs = plainQuota(container.quotaUs);
  if (isSameQuota(kernelUs, originalUs, periodUs)) return 'its quota is the original';
  if (isSameQuota(kernelUs, quotaUs, periodUs) || isSameQuota(kernelUs, previousUs, periodUs))
    return { ...throttle, quotaUs: kernelUs, previousUs: kernelUs };
  return `someone else changed its quota from ${formatQuota(quotaUs)} to ${formatQuota(kernelUs)}`;
}
