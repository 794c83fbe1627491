import type { CpuResources } from '../model/events';
import type { ContainerSpec, PodSpec } from '../model/pod-spec';
import { DEFAULT_PERIOD_US, MIN_SHARES, quotaUsOfMilli, sharesOfMilli } from './cri-numbers';
import { shared, type CpuRequest } from './infer-cpu-request';
import { exclusiveCpusOf } from '../model/pod-cpus';
import { plural } from '../text';

/**
 * True for a creation message with the numbers that the kubelet makes of this spec. They differ while a resize is
 * pending or was not admitted: then the message has the resources of the container, and the spec those that it may get.
 *
 * In a pod with resources as a whole, the kubelet gives a container without a CPU limit the limit of its pod. One that
 * has no request either then has the pod's shares too: it looks like one that asks for all CPUs of the pod.
 */
export function explainsMessage(
  { podResources }: Pick<PodSpec, 'podResources'>,
  { requestMilliCpu, limitMilliCpu }: ContainerSpec,
  { shares = 0, quotaUs = 0, periodUs = DEFAULT_PERIOD_US }: CpuResources,
): boolean {
  const limit = limitMilliCpu ?? podResources?.limitMilliCpu;
  const requests = [requestMilliCpu ?? 0, requestMilliCpu ?? limit ?? 0];
  if (!requests.some((request) => sharesOfMilli(request) === Math.max(shares, MIN_SHARES))) return false;
  // No quota: the kubelet sends none (cpuCFSQuota: false). No limit of its own: the quota is the pod's.
  return quotaUs <= 0 || limitMilliCpu === undefined || quotaUsOfMilli(limitMilliCpu, periodUs) === quotaUs;
}

/**
 * The entitlement by the static policy: whole CPUs in a Guaranteed pod. Resources of the pod as a whole decide its QoS
 * class only; a container of it is entitled by its own request, as long as that is its limit. Its memory does not
 * count: no message shows whether the memory limit is the container's own.
 */
export function guaranteedBySpec(
  { qos, podResources }: Pick<PodSpec, 'qos' | 'podResources'>,
  { requestMilliCpu = 0, limitMilliCpu = 0 }: ContainerSpec,
): CpuRequest {
  if (qos !== 'Guaranteed') return shared(qos, `the pod is ${qos}, and only Guaranteed pods have exclusive CPUs`);
  if (requestMilliCpu === 0) return shared(qos, 'the container asks for no CPU of its own');
  if (podResources && limitMilliCpu !== requestMilliCpu)
    return shared(qos, 'the pod has resources as a whole, and CPU request and limit of the container differ');
  const count = exclusiveCpusOf({ qos, requestMilliCpu });
  if (count === 0) return shared(qos, `${requestMilliCpu}m CPU is not a whole number of CPUs`);
  return { kind: 'exclusive', qos, count, because: `Guaranteed pod, and ${plural(count, 'whole CPU')} requested` };
}

/** The entitlement by Crane's policies: an app container whose CPU request is its limit, and a whole number. */
export function wholeBySpec(
  { qos }: Pick<PodSpec, 'qos'>,
  { kind, requestMilliCpu = 0, limitMilliCpu = 0 }: ContainerSpec,
): CpuRequest {
  if (kind !== 'app') return shared(qos, "it is an init container, and Crane's policies are for app containers");
  if (requestMilliCpu === 0) return shared(qos, 'the container asks for no CPU');
  const count = requestMilliCpu / 1000;
  if (!Number.isSafeInteger(count)) return shared(qos, `${requestMilliCpu}m CPU is not a whole number of CPUs`);
  if (limitMilliCpu === 0) return shared(qos, 'the container has no CPU limit');
  if (limitMilliCpu !== requestMilliCpu) return shared(qos, 'CPU request and limit of the container differ');
  return { kind: 'exclusive', qos, count, because: `${plural(count, 'whole CPU')} requested, and no more allowed` };
}
