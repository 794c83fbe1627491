import { DEFAULT_PERIOD_US, quotaUsOfMilli, sharesOfMilli } from '../../core/inference/cri-numbers';
import type { QosContainer, QosPod } from '../objects/objects';
import type { ContainerLabels, Metrics, Series } from '../usage/metrics';
import { showCpus } from './lendable';

export interface PodQuotaInput {
  readonly pods: readonly QosPod[];
  readonly metrics: Metrics;
  readonly nowMs: number;
  /** Figures that are older do not count. */
  readonly maxAgeMs: number;
  /** It has CPUs of its own. */
  readonly isPinned: (containerId: string) => boolean;
  /** An action against it is in force, which decides its quota. */
  readonly isThrottled: (containerId: string) => boolean;
}

/** A CFS quota that the pod's spec asks for and the container does not have. */
export interface QuotaChange {
  readonly containerId: string;
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  readonly quotaUs: number;
  readonly periodUs: number;
  readonly shares: number;
  readonly because: string;
}

/**
 * The quotas of containers with a limit of `gocrane.io/cpu`, which the kubelet does not know: it starts them without a
 * quota. A container with another quota than none is left alone, so is one with a CPU limit, which the kubelet takes
 * care of.
 */
export function planPodQuotas(input: PodQuotaInput): readonly QuotaChange[] {
  const { metrics, nowMs, maxAgeMs } = input;
  const isFresh = ({ atMs }: Series): boolean => Math.abs(nowMs - atMs) <= maxAgeMs;
  const periods = byContainer((metrics.get('container_cpu_period') ?? []).filter(isFresh));
  const podsByUid = new Map(input.pods.flatMap((pod) => [pod.uid, pod.runtimeUid].map((uid) => [uid, pod] as const)));
  return (metrics.get('container_cpu_quota') ?? []).filter(isFresh).flatMap((series) => {
    const { PodUid, ContainerName, ContainerId = '' } = series.labels as Partial<ContainerLabels>;
    const pod = podsByUid.get(PodUid ?? '');
    const container = pod?.containers.find(({ name }) => name === ContainerName);
    if (!pod || !container || ContainerId === '') return [];
    if (input.isPinned(ContainerId) || input.isThrottled(ContainerId)) return [];
    const change = planQuota(container, series.value, periods.get(ContainerId));
    return change ? [{ containerId: ContainerId, namespace: pod.namespace, pod: pod.name, ...change }] : [];
  });
}

function planQuota(
  { name, limitMilliCpu, elasticLimitMilliCpu: limit, elasticRequestMilliCpu: request }: QosContainer,
  quotaUs: number,
  measuredPeriodUs: number | undefined,
): Omit<QuotaChange, 'containerId' | 'namespace' | 'pod'> | undefined {
  if (limit === undefined || limit <= 0 || limitMilliCpu !== undefined) return undefined;
  if (quotaUs !== -1 && quotaUs !== 0) return undefined;
  const periodUs = measuredPeriodUs !== undefined && measuredPeriodUs > 0 ? measuredPeriodUs : DEFAULT_PERIOD_US;
  const wanted = quotaUsOfMilli(limit, periodUs);
  return {
    container: name,
    quotaUs: wanted,
    periodUs,
    shares: sharesOfMilli(request ?? limit),
    because: `its limit of gocrane.io/cpu is ${showCpus(limit)}, and it had no quota: ${wanted} of ${periodUs} µs`,
  };
}

function byContainer(series: readonly Series[]): ReadonlyMap<string, number> {
  return new Map(series.map(({ labels, value }) => [labels['ContainerId'] ?? '', value]));
}
