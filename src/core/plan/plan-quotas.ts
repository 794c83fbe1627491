import type { Container, PromisedQuota } from '../model/container';
import type { NodeView } from '../model/node-model';
import type { Observation, Quota } from '../verdict/observation';
import { findThrottles, type Throttle } from '../verdict/throttling';
import { podQuotaToRestore } from './pod-quota';

/** One CFS quota that is not what it has to be, as data. */
export interface QuotaStep {
  readonly containerId: string;
  readonly podUid: string;
  /** Of the container, whose quota it is, or which runs in the pod whose quota it is. */
  readonly cgroupsPath: string;
  readonly of: Throttle;
  readonly to: PromisedQuota;
}

/**
 * Compares the quotas that were seen with those that have to be: none where they were lifted, and again what was asked for where the
 * container has lost its CPUs while it runs. A quota that was not read is not compared. Pure.
 */
export function planQuotas(view: NodeView, container: Container, observation: Observation): readonly QuotaStep[] {
  if (observation.kind !== 'seen') return [];
  const { id: containerId, podUid, cgroupsPath } = container;
  const step = (of: Throttle, to: PromisedQuota): QuotaStep => ({ containerId, podUid, cgroupsPath, of, to });
  const lifted = findThrottles(view, container, observation).map((of) => step(of, { quotaUs: -1 }));
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
