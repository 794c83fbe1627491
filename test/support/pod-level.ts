import { quotaUsOfMilli, sharesOfMilli } from '../../src/core/inference/cri-numbers';
import type { CpuResources } from '../../src/core/model/events';
import type { SpecResources } from '../../src/core/model/pod-spec';

const PERIOD_US = 100_000;

/**
 * The numbers that a kubelet of 1.34 to 1.37 sends: `generateLinuxContainerResources` and `calculateSandboxResources`
 * of its sources.
 */
export function messageOf(own: SpecResources, pod: SpecResources): CpuResources {
  const limit = own.limitMilliCpu ?? pod.limitMilliCpu ?? 0;
  const memory = own.limitMemoryBytes ?? pod.limitMemoryBytes ?? 0;
  return {
    shares: sharesOfMilli(own.requestMilliCpu ?? limit),
    quotaUs: quotaUsOfMilli(limit, PERIOD_US),
    periodUs: PERIOD_US,
    ...(memory > 0 && { memoryLimitBytes: memory }),
  };
}

/** The spec as the API server has it: a request that is missing is the limit. */
export function defaulted(own: SpecResources): SpecResources {
  return {
    ...(own.limitMilliCpu !== undefined && { requestMilliCpu: own.limitMilliCpu }),
    ...(own.limitMemoryBytes !== undefined && { requestMemoryBytes: own.limitMemoryBytes }),
    ...own,
  };
}
