import { classifyQos } from '../../../src/core/inference/qos';
import { exclusiveCpusOf, sumPodCpus } from '../../../src/core/model/pod-cpus';
import { inferCpuRequest } from '../../../src/core/inference/infer-cpu-request';
import {
  milliOfShares,
  quotaUsOfMilli,
  sharesOfMilli,
  wholeCpusOfShares,
} from '../../../src/core/inference/cri-numbers';
import { parseCgroupParent } from '../../../src/core/inference/cgroup-parent';
import type { Runner } from './scenario';

export const runCriNumbers: Runner = ({ given, expect: want }) => {
  const cpuShares = sharesOfMilli(given.milliCpu);
  const got: Record<string, unknown> = {
    cpuShares,
    cpuQuotaUs: quotaUsOfMilli(given.milliCpu, given.periodUs),
    milliFromShares: milliOfShares(cpuShares),
    wholeCpusFromShares: wholeCpusOfShares(cpuShares) ?? null,
  };
  expect(Object.fromEntries(Object.keys(want).map((key) => [key, got[key]]))).toEqual(want);
};

export const runQos: Runner = ({ given, expect: want }) => {
  expect(classifyQos(given.containers)).toBe(want.qos);
};

export const runCgroupParent: Runner = ({ given, expect: want }) => {
  const parent = parseCgroupParent(given.cgroupParent);
  expect(parent?.qos ?? null).toBe(want.qos);
  if ('podUid' in want) expect(parent?.podUid).toBe(want.podUid);
};

export const runEligible: Runner = ({ given, expect: want }) => {
  const requestMilliCpu = parseInt(given.requestCpu, 10);
  expect(exclusiveCpusOf({ qos: given.podQos, requestMilliCpu })).toBe(want.exclusiveCpus);
};

export const runPodSum: Runner = ({ given, expect: want }) => {
  expect(sumPodCpus(given.containersInOrder)).toBe(want.podCpus);
};

export const runInference: Runner = ({ given, expect: want }) => {
  const pod = { sandboxId: 's', uid: '', namespace: 'n', name: 'p', annotations: {}, cgroupParent: given.cgroupParent };
  const resources = {
    shares: given.cpuShares,
    quotaUs: given.cpuQuota,
    periodUs: given.cpuPeriod,
    memoryLimitBytes: given.memoryLimit,
    ...(given.cpusetCpus !== undefined && { cpus: given.cpusetCpus }),
  };
  const container = { id: 'c', sandboxId: 's', name: 'c', phase: 'creating', cgroupsPath: '', resources } as const;
  const got = inferCpuRequest(pod, { ...container, oomScoreAdj: given.oomScoreAdj });
  expect({
    qos: got.qos,
    ...(got.kind === 'conflict' ? { conflict: got.manager } : { exclusiveCpus: got.kind === 'shared' ? 0 : got.count }),
    ...(got.kind === 'shared' && got.doubt && got.qos !== 'unknown' && { [got.doubt]: true }),
  }).toEqual(want);
};
