import { runAssign, runChoose, runHazard, runReserved } from './assignment';
import { runHints, runMerge } from './hints';
import { runCgroupParent, runCriNumbers, runEligible, runInference, runPodSum, runQos } from './inference';
import { runOptions } from './options';
import type { Runner } from './scenario';

/** The runner of each area of the scenarios. */
export const AREAS: Readonly<Record<string, Runner>> = {
  affinity: runChoose,
  'assign-distributed': runAssign,
  'assign-hazard': runHazard,
  'assign-packed': runAssign,
  'cgroup-parent': runCgroupParent,
  'cri-numbers': runCriNumbers,
  eligible: runEligible,
  hints: runHints,
  inference: runInference,
  options: runOptions,
  'pod-sum': runPodSum,
  qos: runQos,
  reserved: runReserved,
  'topology-merge': runMerge,
  uncore: runChoose,
};
