import { DEFAULT_PERIOD_US, quotaUsOfMilli, sumPodCpus } from '../inference';
import type { Container, PromisedQuota } from '../model/container';
import type { NodeView } from '../model/node-model';
import { findSpec } from '../model/spec-book';
import { wasLifted } from '../verdict/throttling';

/**
 * The CFS quota that the kubelet gave the container's pod as a whole: to be set again when the last of its containers that
 * had theirs lifted has it no more. Undefined while there is one, and when it cannot be told.
 */
export function podQuotaToRestore(view: NodeView, container: Container): PromisedQuota | undefined {
  if (view.containersOf(container.podUid).some((other) => wasLifted(view, other))) return undefined;
  const pod = view.pods.get(container.sandboxId);
  if (!pod) return undefined;
  const { quotaUs = 0, periodUs = DEFAULT_PERIOD_US } = pod.podResources ?? {};
  if (quotaUs > 0) return { quotaUs, periodUs };

  const spec = findSpec(view, pod);
  const limits = spec?.containers.map(({ kind, limitMilliCpu = 0 }) => ({ kind, cpus: limitMilliCpu })) ?? [];
  const ofContainers = limits.every(({ cpus }) => cpus > 0) ? sumPodCpus(limits) : 0;
  const milliCpu = spec?.podResources?.limitMilliCpu ?? ofContainers;
  return milliCpu > 0 ? { quotaUs: quotaUsOfMilli(milliCpu), periodUs: DEFAULT_PERIOD_US } : undefined;
}
