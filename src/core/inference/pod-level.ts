import type { CpuResources } from '../model/events';
import { DEFAULT_PERIOD_US, MAX_SHARES, MIN_SHARES } from './cri-numbers';

/**
 * True for a container whose message has the numbers of its whole pod: CPU shares, quota and memory limit.
 *
 * It is the only container with CPUs in its pod, or its pod has resources as a whole: there the kubelet gives a container the limits of the pod
 * where it has none of its own, and the limit is the request of a container that has none (`getCPULimit`, `getMemoryLimit`, Kubernetes 1.34 to
 * 1.37). From 256 CPUs on shares say too little, and the answer is false.
 *
 * @param pod the sums that the kubelet sent with the sandbox
 */
export function hasNumbersOfPod(container: CpuResources, pod: CpuResources | undefined): boolean {
  if (!pod || !asksForCpu(pod) || pod.shares! >= MAX_SHARES) return false;
  return (
    container.shares === pod.shares &&
    (container.quotaUs ?? 0) === (pod.quotaUs ?? 0) &&
    (container.periodUs ?? DEFAULT_PERIOD_US) === (pod.periodUs ?? DEFAULT_PERIOD_US) &&
    (container.memoryLimitBytes ?? 0) === (pod.memoryLimitBytes ?? 0)
  );
}

/** True for a container that asks for CPU: beside one with the numbers of the pod, it is more than the pod's sum. */
export function asksForCpu({ shares = 0 }: CpuResources): boolean {
  return shares > MIN_SHARES;
}
