import { runCgroupParent, runCriNumbers, runEligible, runInference, runPodSum, runQos } from './inference';
import type { Runner } from './scenario';

/** Which part of this project answers for an area of the scenarios. */
export const AREAS: Readonly<Record<string, Runner>> = {
  'cri-numbers': runCriNumbers,
  'cgroup-parent': runCgroupParent,
  eligible: runEligible,
  inference: runInference,
  'pod-sum': runPodSum,
  qos: runQos,
};
