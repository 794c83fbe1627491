import * as pb from '../../../gen/cpusetd/v1/cpusetd';
import { parseCpuList } from '../../core/cpuset';
import type { LentStatus, PromisedSetStatus, QosStatus, ThrottledContainer, UsageStatus } from '../model/qos-status';
import { decodeTime, encodeTime, keyOfValue } from './values';

export function encodeUsage(usage: UsageStatus): pb.UsageStatus {
  const { at, busyMs, cpuCores, cpuPercent, memoryBytes, memoryTotalBytes, load1, sets } = usage;
  const { exclusiveIdleMilliCpu, exclusiveOwnersMilliCpu, exclusiveOthersMilliCpu } = usage;
  return pb.UsageStatus.create({
    at: encodeTime(at),
    busyMs,
    cpuCores,
    cpuPercent,
    load1,
    exclusiveIdleMilliCpu,
    exclusiveOwnersMilliCpu,
    exclusiveOthersMilliCpu,
    memoryBytes: encodeBytes(memoryBytes),
    memoryTotalBytes: encodeBytes(memoryTotalBytes),
    sets: sets.map((set) => pb.PromisedSetStatus.create({ ...set, cpus: set.cpus.toString() })),
  });
}

export function decodeUsage(usage: pb.UsageStatus): UsageStatus {
  const { at, busyMs, cpuCores, cpuPercent, memoryBytes, memoryTotalBytes, load1, sets } = usage;
  const { exclusiveIdleMilliCpu, exclusiveOwnersMilliCpu, exclusiveOthersMilliCpu } = usage;
  return {
    at: decodeTime(at),
    busyMs,
    cpuCores,
    ...(cpuPercent !== undefined && { cpuPercent }),
    ...(memoryBytes !== undefined && { memoryBytes: Number(memoryBytes) }),
    ...(memoryTotalBytes !== undefined && { memoryTotalBytes: Number(memoryTotalBytes) }),
    ...(load1 !== undefined && { load1 }),
    ...(exclusiveIdleMilliCpu !== undefined && { exclusiveIdleMilliCpu }),
    ...(exclusiveOwnersMilliCpu !== undefined && { exclusiveOwnersMilliCpu }),
    ...(exclusiveOthersMilliCpu !== undefined && { exclusiveOthersMilliCpu }),
    sets: sets.map(decodeSet),
  };
}

function decodeSet(set: pb.PromisedSetStatus): PromisedSetStatus {
  const { namespace, pod, container, containerId, cpus, usedMilliCpu, waitMsPerSecond, throttledPercent } = set;
  return {
    namespace,
    pod,
    container,
    containerId,
    cpus: parseCpuList(cpus),
    usedMilliCpu,
    ...(waitMsPerSecond !== undefined && { waitMsPerSecond }),
    ...(throttledPercent !== undefined && { throttledPercent }),
  };
}

const MODES: Readonly<Record<QosStatus['mode'], pb.QosMode>> = {
  off: pb.QosMode.OFF,
  preview: pb.QosMode.PREVIEW,
  enforce: pb.QosMode.ENFORCE,
};

export function encodeQos(qos: QosStatus): pb.QosStatus {
  const { mode, because, rules, schedulingDisabled, throttled, recent, actionsLeft, evictionsLeft } = qos;
  return pb.QosStatus.create({
    mode: MODES[mode],
    because,
    rules: rules.map((rule) => pb.RuleStatus.create(rule)),
    ...(schedulingDisabled && {
      schedulingDisabled: { because: schedulingDisabled.because, since: encodeTime(schedulingDisabled.since) },
    }),
    throttled: throttled.map((container) =>
      pb.ThrottledContainer.create({
        ...container,
        originalQuotaUs: encodeWhole(container.originalQuotaUs),
        quotaUs: encodeWhole(container.quotaUs),
        periodUs: encodeWhole(container.periodUs),
        since: encodeTime(container.since),
      }),
    ),
    recent: recent.map((action) => pb.QosAction.create({ ...action, at: encodeTime(action.at) })),
    actionsLeft,
    evictionsLeft,
  });
}

/** A mode that this version does not know is shown as `off`. */
export function decodeQos(qos: pb.QosStatus): QosStatus {
  const { mode, because, rules, schedulingDisabled, throttled, recent, actionsLeft, evictionsLeft } = qos;
  return {
    mode: keyOfValue(MODES, mode) ?? 'off',
    because,
    rules: rules.map(({ rule, state, action, because: why }) => ({ rule, state, action, because: why })),
    ...(schedulingDisabled && {
      schedulingDisabled: { because: schedulingDisabled.because, since: decodeTime(schedulingDisabled.since) },
    }),
    throttled: throttled.map(decodeThrottled),
    recent: recent.map(({ at, action, subject, outcome, because: why }) => {
      return { at: decodeTime(at), action, subject, outcome, because: why };
    }),
    actionsLeft,
    evictionsLeft,
  };
}

function decodeThrottled(encoded: pb.ThrottledContainer): ThrottledContainer {
  const { namespace, pod, container, containerId, because } = encoded;
  return {
    namespace,
    pod,
    container,
    containerId,
    originalQuotaUs: Number(encoded.originalQuotaUs),
    quotaUs: Number(encoded.quotaUs),
    periodUs: Number(encoded.periodUs),
    because,
    since: decodeTime(encoded.since),
  };
}

export function encodeLent({ cpuMilli, memoryBytes, because, since }: LentStatus): pb.LentStatus {
  return pb.LentStatus.create({
    cpuMilli,
    memoryBytes: encodeBytes(memoryBytes),
    because,
    since: encodeTime(since),
  });
}

export function decodeLent({ cpuMilli, memoryBytes, because, since }: pb.LentStatus): LentStatus {
  return {
    ...(cpuMilli !== undefined && { cpuMilli }),
    ...(memoryBytes !== undefined && { memoryBytes: Number(memoryBytes) }),
    because,
    since: decodeTime(since),
  };
}

function encodeBytes(bytes: number | undefined): bigint | undefined {
  return bytes === undefined ? undefined : encodeWhole(Math.max(0, bytes));
}

/** A computed figure may have a fraction, which an integer of the message can't hold. */
function encodeWhole(value: number): bigint {
  return BigInt(Math.round(value));
}
