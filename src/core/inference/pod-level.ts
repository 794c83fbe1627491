import type { CpuResources } from '../model/events';
import { DEFAULT_PERIOD_US, MAX_SHARES, MIN_SHARES } from './cri-numbers';

/**
 * True for a container whose message has the CPU request and the CPU limit of its whole pod.
 *
 * It is the only container with CPUs in its pod, or its pod has resources as a whole: there the kubelet gives a
 * container the CPU limit of the pod where it has none of its own, and the limit is the request of a container that has
 * none (`getCPULimit`, Kubernetes 1.34 to 1.37). Its memory limit does not count: it may be its own. From 256 CPUs on,
 * shares say too little, and there has to be a limit.
 *
 * @param pod the sums that the kubelet sent with the sandbox
 */
export function hasCpusOfPod(container: CpuResources, pod: CpuResources | undefined): boolean {
  if (!pod || !asksForCpu(pod)) return false;
  const [quotaUs, ofPodUs] = [container.quotaUs ?? 0, pod.quotaUs ?? 0];
  if (pod.shares! >= MAX_SHARES && ofPodUs <= 0) return false;
  return (
    container.shares === pod.shares &&
    quotaUs === ofPodUs &&
    (container.periodUs ?? DEFAULT_PERIOD_US) === (pod.periodUs ?? DEFAULT_PERIOD_US)
  );
}

/** True for a container that asks for CPU: beside one with all CPUs of the pod, it is more than the pod's sum. */
export function asksForCpu({ shares = 0 }: CpuResources): boolean {
  return shares > MIN_SHARES;
}
