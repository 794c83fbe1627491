import * as pb from '../../../gen/cpusetd/v1/cpusetd';
import { parseCpuList } from '../../core/cpuset';
import type { Placement } from '../../core/model/container';
import type { VerdictKind } from '../../core/verdict/judge';
import type { ThreadSample } from '../../core/verdict/observation';
import type { ContainerStatus, DriftTally, ForeignLoad } from '../model/status';
import { decodeTraits, encodeTraits } from './assignment';
import { decodeQuota, decodeRules, decodeTime, encodeQuota, encodeRules, encodeTime, keyOfValue } from './values';

export function encodeContainer(container: ContainerStatus): pb.ContainerStatus {
  const { promise, observation, verdict, rules, drift, foreign } = container;
  return pb.ContainerStatus.create({
    id: container.id,
    podUid: container.podUid,
    namespace: container.namespace,
    pod: container.pod,
    container: container.container,
    pause: container.pause ?? false,
    cpuIdentity: container.cpuIdentity ?? false,
    placement: PLACEMENTS[container.placement],
    ...(promise && {
      promise: {
        cpus: promise.cpus.toString(),
        mems: promise.mems.toString(),
        quotaUs: encodeQuota(promise.quotaUs),
        since: encodeTime(promise.since),
      },
    }),
    ...(observation && {
      observation: {
        cpus: observation.cpus.toString(),
        effectiveCpus: observation.effectiveCpus.toString(),
        mems: observation.mems.toString(),
        quotaUs: encodeQuota(observation.quotaUs),
        podQuotaUs: encodeQuota(observation.podQuotaUs),
        threads: observation.threads && encodeThreads(observation.threads),
        at: encodeTime(observation.at),
      },
    }),
    verdict: { kind: VERDICTS[verdict.kind], reason: verdict.reason, since: encodeTime(verdict.since) },
    because: container.because,
    since: encodeTime(container.since),
    requested: container.requested,
    ...encodeTraits(container),
    ...(drift && { drift: { ...drift, lastAt: encodeTime(drift.lastAt) } }),
    ...(foreign && { foreign: { ...foreign, at: encodeTime(foreign.at) } }),
    ...(rules && { rules: encodeRules(rules) }),
  });
}

export function decodeContainer(container: pb.ContainerStatus): ContainerStatus {
  const { promise, observation, verdict, rules, drift, foreign } = container;
  return {
    id: container.id,
    podUid: container.podUid,
    namespace: container.namespace,
    pod: container.pod,
    container: container.container,
    ...(container.pause && { pause: true as const }),
    ...(container.cpuIdentity && { cpuIdentity: true as const }),
    placement: keyOfValue(PLACEMENTS, container.placement) ?? 'left-alone',
    ...(promise && {
      promise: {
        cpus: parseCpuList(promise.cpus),
        mems: parseCpuList(promise.mems),
        ...decodeQuota(promise.quotaUs),
        ...(promise.since && { since: decodeTime(promise.since) }),
      },
    }),
    ...(observation && {
      observation: {
        cpus: parseCpuList(observation.cpus),
        effectiveCpus: parseCpuList(observation.effectiveCpus),
        mems: parseCpuList(observation.mems),
        ...decodeQuota(observation.quotaUs),
        ...(observation.podQuotaUs !== undefined && { podQuotaUs: Number(observation.podQuotaUs) }),
        ...(observation.threads && { threads: decodeThreads(observation.threads) }),
        at: decodeTime(observation.at),
      },
    }),
    verdict: {
      kind: keyOfValue(VERDICTS, verdict?.kind) ?? 'unknown',
      reason: verdict?.reason ?? '',
      since: decodeTime(verdict?.since),
    },
    ...(drift && { drift: decodeDrift(drift) }),
    ...(foreign && { foreign: decodeForeign(foreign) }),
    because: container.because,
    since: decodeTime(container.since),
    requested: container.requested,
    ...decodeTraits(container),
    ...(rules && { rules: decodeRules(rules) }),
  };
}

function decodeDrift({ drifts, repairs, failedRepairs, lastAt }: pb.DriftTally): DriftTally {
  return { drifts, repairs, failedRepairs, lastAt: decodeTime(lastAt) };
}

function decodeForeign({ at, percent, threads, most }: pb.ForeignLoad): ForeignLoad {
  return { at: decodeTime(at), percent, threads, most };
}

function encodeThreads({ looked, narrower, narrowerCpus, outside }: ThreadSample): pb.ThreadSample {
  return pb.ThreadSample.create({
    looked,
    narrower,
    narrowerCpus: narrowerCpus.toString(),
    outside: outside.toString(),
  });
}

function decodeThreads({ looked, narrower, narrowerCpus, outside }: pb.ThreadSample): ThreadSample {
  return { looked, narrower, narrowerCpus: parseCpuList(narrowerCpus), outside: parseCpuList(outside) };
}

const PLACEMENTS: Readonly<Record<Placement, pb.Placement>> = {
  exclusive: pb.Placement.EXCLUSIVE,
  immovable: pb.Placement.IMMOVABLE,
  numa: pb.Placement.NUMA,
  shared: pb.Placement.SHARED,
  'left-alone': pb.Placement.LEFT_ALONE,
};

const VERDICTS: Readonly<Record<VerdictKind, pb.VerdictKind>> = {
  unknown: pb.VerdictKind.UNKNOWN,
  kept: pb.VerdictKind.KEPT,
  pending: pb.VerdictKind.PENDING,
  drifted: pb.VerdictKind.DRIFTED,
  violated: pb.VerdictKind.VIOLATED,
  'held-under-old-rules': pb.VerdictKind.HELD_UNDER_OLD_RULES,
  'left-alone': pb.VerdictKind.LEFT_ALONE,
};
