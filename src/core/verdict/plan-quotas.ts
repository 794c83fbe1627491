import { DEFAULT_PERIOD_US, quotaUsOfMilli } from '../inference/cri-numbers';
import { sumPodCpus } from '../model/pod-cpus';
import type { Container, PromisedQuota } from '../model/container';
import { findSpec } from '../model/spec-book';
import type { NodeView } from '../model/node-view';
import type { Observation, Quota } from './observation';
import { findThrottles, wasLifted, type Throttle } from './throttling';

/** One CFS quota that has to be written, as data. */
export interface QuotaStep {
  readonly containerId: string;
  readonly podUid: string;
  /** Of the container, whose quota it is, or which runs in the pod whose quota it is. */
  readonly cgroupsPath: string;
  readonly scope: Throttle;
  readonly to: PromisedQuota;
}

/**
 * Compares the observed quotas with the desired ones: none when it was lifted, and the requested one again when the
 * container has lost its CPUs while it runs. A quota that was not read is not compared. Pure.
 */
export function planQuotas(view: NodeView, container: Container, observation: Observation): readonly QuotaStep[] {
  if (observation.kind !== 'seen') return [];
  const { id: containerId, podUid, cgroupsPath } = container;
  const step = (scope: Throttle, to: PromisedQuota): QuotaStep => ({ containerId, podUid, cgroupsPath, scope, to });
  const lifted = findThrottles(view, container, observation).map((throttle) => step(throttle, { quotaUs: -1 }));
  if (container.quota !== 'as-asked') return lifted;

  const { quota, podQuota } = observation;
  const own = container.promise?.quota;
  const ofPod = podQuotaToRestore(view, container);
  return [
    ...lifted,
    ...(own && quota && !isQuota(quota, own) ? [step('container', own)] : []),
    ...(ofPod && podQuota && !isQuota(podQuota, ofPod) ? [step('pod', ofPod)] : []),
  ];
}

function isQuota({ quotaUs, periodUs }: Quota, to: PromisedQuota): boolean {
  const isLimit = quotaUs >= 0;
  if (!isLimit || to.quotaUs < 0) return isLimit === to.quotaUs >= 0;
  return quotaUs === to.quotaUs && periodUs === (to.periodUs ?? periodUs);
}

/**
 * The CFS quota that the kubelet gave the container's pod as a whole. It is set again when no container of the pod has
 * a lifted quota any more. Undefined while one has, and when it is not known.
 */
export function podQuotaToRestore(view: NodeView, container: Container): PromisedQuota | undefined {
  if (view.containersOf(container.podUid).some((other) => wasLifted(view, other))) return undefined;
  const pod = view.pods.get(container.sandboxId);
  if (!pod) return undefined;
  const { quotaUs = 0, periodUs = DEFAULT_PERIOD_US } = pod.podResources ?? view.podLevel.get(pod.uid) ?? {};
  if (quotaUs > 0) return { quotaUs, periodUs };

  const spec = findSpec(view, pod);
  const limits = spec?.containers.map(({ kind, limitMilliCpu = 0 }) => ({ kind, cpus: limitMilliCpu })) ?? [];
  const ofContainers = limits.every(({ cpus }) => cpus > 0) ? sumPodCpus(limits) : 0;
  const milliCpu = spec?.podResources?.limitMilliCpu ?? ofContainers;
  return milliCpu > 0 ? { quotaUs: quotaUsOfMilli(milliCpu), periodUs: DEFAULT_PERIOD_US } : undefined;
}
