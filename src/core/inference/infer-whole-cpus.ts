import type { ContainerInfo, PodInfo } from '../model/events';
import { parseCgroupParent } from './cgroup-parent';
import { MAX_SHARES, MIN_SHARES, milliOfShares, wholeCpusOfQuota, wholeCpusOfShares } from './cri-numbers';
import { inferCpuRequest, shared, type CpuRequest } from './infer-cpu-request';
import { qosOfOomScore } from './qos';
import { plural } from '../text';

/**
 * Infers the targets of Crane's policies: a container whose CPU request is its limit, and a whole number, whatever the
 * QoS class of its pod and its memory. The shares give the request and the quota gives the limit; both must be there,
 * so there are no such containers where the kubelet sets no quotas (`cpuCFSQuota: false`).
 *
 * Give it the resources as the kubelet asked for them.
 */
export function inferWholeCpus(pod: PodInfo, container: ContainerInfo): CpuRequest {
  const asGuaranteed = inferCpuRequest(pod, container);
  if (asGuaranteed.kind === 'conflict') return asGuaranteed;
  const qos = parseCgroupParent(pod.cgroupParent, pod.uid)?.qos ?? qosOfOomScore(container.oomScoreAdj);
  const { shares = 0, quotaUs = 0, periodUs } = container.resources;
  if (shares <= MIN_SHARES) return shared(qos, 'the container asks for no CPU');
  const atBound = shares >= MAX_SHARES;
  const ofShares = wholeCpusOfShares(shares);
  if (!atBound && ofShares === undefined)
    return shared(qos, `${milliOfShares(shares)}m CPU is not a whole number of CPUs`);
  if (quotaUs < 0) return shared(qos, 'the CPU limit was lifted, so it is no longer known', 'contradiction');
  if (quotaUs === 0) return shared(qos, 'the container has no CPU limit, or the kubelet does not send it');
  const ofQuota = wholeCpusOfQuota(quotaUs, periodUs);
  const count = atBound ? ofQuota : ofShares;
  if (count === undefined || ofQuota !== count || (atBound && count < MAX_SHARES / 1024)) {
    return shared(qos, 'CPU request and limit of the container differ');
  }
  return { kind: 'exclusive', qos, count, because: `${plural(count, 'whole CPU')} requested, and no more allowed` };
}
