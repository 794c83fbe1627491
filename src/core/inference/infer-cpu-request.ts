import type { ContainerInfo, CpuResources, PodInfo } from '../model/events';
import { parseCgroupParent } from './cgroup-parent';
import { MAX_SHARES, MIN_SHARES, milliOfShares, wholeCpusOfQuota, wholeCpusOfShares } from './cri-numbers';
import { qosOfOomScore } from './qos';
import type { QosClass } from '../model/pod-kinds';
import { plural } from '../text';

/** The CPUs that a container is entitled to by its creation request. `because` is written for the operator. */
export type CpuRequest =
  /** `count` whole CPUs of its own. */
  | {
      readonly kind: 'exclusive';
      readonly qos: QosClass | 'unknown';
      readonly count: number;
      readonly because: string;
    }
  /**
   * The shared pool. A `doubt` is worth a warning: the numbers disagree with each other, or do not suffice to decide.
   */
  | {
      readonly kind: 'shared';
      readonly qos: QosClass | 'unknown';
      readonly because: string;
      readonly doubt?: 'contradiction' | 'undecidable';
    }
  /** Another program pins this container already; two managers cannot work on one node. */
  | {
      readonly kind: 'conflict';
      readonly qos: QosClass;
      readonly manager: 'kubelet-cpu-manager';
      readonly because: string;
    };

type Shared = Extract<CpuRequest, { readonly kind: 'shared' }>;

/** The request of a container that has no CPUs of its own. */
export function shared(qos: Shared['qos'], because: string, doubt?: Shared['doubt']): Shared {
  return { kind: 'shared', qos, because, ...(doubt && { doubt }) };
}

/**
 * Infers the number of exclusive CPUs that a container is entitled to from the request to the runtime.
 *
 * Exclusive are containers of Guaranteed pods whose CPU shares are those of a whole number of CPUs, unless quota,
 * memory limit or the pod's sum contradict. In doubt a container is shared: too little isolation is repaired more
 * easily than CPUs that were taken from others by mistake.
 *
 * Give it the resources as the kubelet asked for them: a quota that cpusetd itself has lifted reads as a conflict.
 * `podResources` are compared too; leave them out after an in-place resize, when they may be older than the
 * container's.
 */
export function inferCpuRequest(pod: PodInfo, container: ContainerInfo): CpuRequest {
  const parent = parseCgroupParent(pod.cgroupParent, pod.uid);
  const qos = parent?.qos ?? qosOfOomScore(container.oomScoreAdj);
  if (qos === 'unknown') return shared(qos, becauseUnknown(pod, container), 'undecidable');
  if (qos !== 'Guaranteed') return shared(qos, `the pod is ${qos}, and only Guaranteed pods have exclusive CPUs`);
  return inferWithinGuaranteed(container.resources, pod.podResources);
}

function inferWithinGuaranteed(resources: CpuResources, podResources: CpuResources | undefined): CpuRequest {
  const qos = 'Guaranteed';
  const shares = resources.shares ?? 0;
  const quotaUs = resources.quotaUs ?? 0;
  if (shares <= MIN_SHARES) return shared(qos, 'the container asks for no CPU of its own');
  const ofQuota = quotaUs > 0 ? wholeCpusOfQuota(quotaUs, resources.periodUs) : undefined;
  const atBound = shares >= MAX_SHARES;
  if (atBound && quotaUs === 0) {
    return shared(
      qos,
      `CPU shares ${shares} stand for 256 CPUs or more, and there is no quota that says how many`,
      'undecidable',
    );
  }
  const count = atBound ? ofQuota : wholeCpusOfShares(shares);

  if (quotaUs < 0 && (atBound || count !== undefined)) {
    return {
      kind: 'conflict',
      qos,
      manager: 'kubelet-cpu-manager',
      because:
        'the CPU quota of a Guaranteed container was lifted before cpusetd saw it: the static CPU manager policy of the ' +
        'kubelet pins it; set cpuManagerPolicy: none there',
    };
  }
  if (count === undefined) {
    if (atBound) return shared(qos, `CPU quota ${describeQuota(resources)} is not a whole number of CPUs`);
    return shared(qos, `${milliOfShares(shares)}m CPU is not a whole number of CPUs`);
  }
  if (atBound && count < MAX_SHARES / 1024) {
    return shared(qos, `CPU shares stand for 256 CPUs or more, but the quota for ${count}`, 'contradiction');
  }
  if (quotaUs > 0 && ofQuota !== count) {
    return shared(
      qos,
      `CPU shares stand for ${count} CPUs, but the quota is ${describeQuota(resources)}: request and limit differ, ` +
        'as with resources of the pod as a whole',
      'contradiction',
    );
  }
  // A kubelet that knows resources of the pod as a whole (1.34) sends the pod's limit for a container without one: none
  // comes from an older one.
  if ((resources.memoryLimitBytes ?? 0) <= 0) {
    return shared(qos, 'the container has no memory limit, so it is not Guaranteed by itself', 'contradiction');
  }
  const podShares = podResources?.shares ?? 0;
  if (podShares > MIN_SHARES && podShares < Math.min(shares, MAX_SHARES)) {
    return shared(
      qos,
      `the container asks for ${plural(count, 'CPU')}, but its whole pod only for ${milliOfShares(podShares)}m: ` +
        'something changed the request on its way',
      'contradiction',
    );
  }
  return { kind: 'exclusive', qos, count, because: `Guaranteed pod, and ${plural(count, 'whole CPU')} requested` };
}

function describeQuota({ quotaUs = 0, periodUs }: CpuResources): string {
  return `${quotaUs} µs per ${periodUs === undefined || periodUs <= 0 ? 'default period' : `${periodUs} µs`}`;
}

function becauseUnknown(pod: PodInfo, container: ContainerInfo): string {
  const where = pod.cgroupParent === '' ? 'no cgroup parent' : "a cgroup parent that is not the kubelet's";
  const score = container.oomScoreAdj === undefined ? 'no OOM score' : `OOM score ${container.oomScoreAdj}`;
  return `the QoS class does not follow from ${where} and ${score}`;
}
