import { MAX_SHARES, milliOfShares } from '../inference/cri-numbers';
import { askedHugePages } from '../model/asked-huge-pages';
import type { ContainerInfo } from '../model/events';
import type { ChosenPolicy } from '../model/policies';
import type { Settings } from '../model/settings';
import type { ResolvedPod } from '../model/spec-book';
import { countHeldBySpec, podMilliCpuOf, withoutSum } from './entitlement';
import type { PinRequest } from '../policy';

/** The amounts that a container with CPUs of its own asks for. `runs`: it was created before. */
export function amountsAsked(
  settings: Settings,
  pod: ResolvedPod,
  container: ContainerInfo,
  { chosen, count, runs }: { readonly chosen: ChosenPolicy; readonly count: number; readonly runs: boolean },
): PinRequest {
  const podCount = podCountOf(settings, pod, runs ? withoutSum(pod) : pod, { chosen, count });
  const hugePages = askedHugePages(pod.spec, container);
  return {
    count,
    ...(podCount !== undefined && { podCount }),
    memoryBytes: container.resources.memoryLimitBytes ?? 0,
    ...(hugePages && { hugePages }),
  };
}

/**
 * Whole CPUs of all containers of the pod together, as far as they are known `now`; undefined when neither a spec nor
 * the runtime has sent its sum. The runtime's has those of containers that take none, too.
 */
function podCountOf(
  settings: Settings,
  pod: ResolvedPod,
  now: ResolvedPod,
  { chosen: { policy }, count }: { readonly chosen: ChosenPolicy; readonly count: number },
): number | undefined {
  if (pod.spec) return Math.max(count, countHeldBySpec(settings, pod.spec));
  if ((pod.podResources?.shares ?? 0) === 0) return undefined;
  return Math.max(count, Math.floor((podMilliCpuOf(now, policy) ?? milliOfShares(MAX_SHARES)) / 1000));
}
