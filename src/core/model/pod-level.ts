import type { CpuResources } from './events';

/**
 * A pod that was found to have resources as a whole, without a spec that says so. It has the sums that the kubelet sent with its sandbox, since the
 * lists of a runtime may lack them.
 */
export interface PodLevel extends Pick<CpuResources, 'shares' | 'quotaUs' | 'periodUs' | 'memoryLimitBytes'> {
  readonly podUid: string;
}

/** What is remembered of a pod with these sums. */
export function toPodLevel(podUid: string, sums: CpuResources | undefined): PodLevel {
  const { shares, quotaUs, periodUs, memoryLimitBytes } = sums ?? {};
  return {
    podUid,
    ...(shares !== undefined && { shares }),
    ...(quotaUs !== undefined && { quotaUs }),
    ...(periodUs !== undefined && { periodUs }),
    ...(memoryLimitBytes !== undefined && { memoryLimitBytes }),
  };
}
