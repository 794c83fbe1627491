import type { PromisedSetStatus, UsageStatus } from '../../admin/model/qos-status';
import { METRIC } from '../../qos/usage/names';
import type { PromisedSetUsage } from '../../qos/usage/set-usage';
import type { Collected } from './state-collector';

/**
 * The measured state of the node for operators. `cpuCores`: the number of CPUs where the collection does not have it.
 */
export function toUsageStatus(collected: Collected, cpuCores: number): UsageStatus {
  const { metrics, atMs, busyMs, sets } = collected;
  const value = (name: string): number | undefined => metrics.get(name)?.[0]?.value;
  const [cpuPercent, memoryBytes, memoryTotalBytes, load1] = [
    METRIC.cpuTotalUtilization,
    METRIC.memoryTotalUsage,
    METRIC.memoryTotal,
    METRIC.cpuLoad1Min,
  ].map(value);
  const [exclusiveIdleMilliCpu, exclusiveOwnersMilliCpu, exclusiveOthersMilliCpu] = [
    METRIC.exclusiveCpuIdle,
    METRIC.exclusiveCpuOwners,
    METRIC.exclusiveCpuOthers,
  ].map(value);
  return {
    at: new Date(atMs).toISOString(),
    busyMs,
    cpuCores: value(METRIC.cpuCoreNumbers) ?? cpuCores,
    ...(cpuPercent !== undefined && { cpuPercent }),
    ...(memoryBytes !== undefined && { memoryBytes }),
    ...(memoryTotalBytes !== undefined && { memoryTotalBytes }),
    ...(load1 !== undefined && { load1 }),
    ...(exclusiveIdleMilliCpu !== undefined && { exclusiveIdleMilliCpu }),
    ...(exclusiveOwnersMilliCpu !== undefined && { exclusiveOwnersMilliCpu }),
    ...(exclusiveOthersMilliCpu !== undefined && { exclusiveOthersMilliCpu }),
    sets: sets.map(toSetStatus),
  };
}

/** The use that a container made of its CPUs, for operators. */
export function toSetStatus({
  labels,
  cpus,
  usedMilliCpu,
  waitMsPerSecond,
  throttledPart,
}: PromisedSetUsage): PromisedSetStatus {
  return {
    namespace: labels.PodNamespace,
    pod: labels.PodName,
    container: labels.ContainerName,
    containerId: labels.ContainerId,
    cpus,
    usedMilliCpu,
    ...(waitMsPerSecond !== undefined && { waitMsPerSecond }),
    ...(throttledPart !== undefined && { throttledPercent: 100 * throttledPart }),
  };
}
