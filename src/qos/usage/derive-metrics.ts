import type { CpuSet } from '../../core/cpuset';
import { busyPercentOf, idleMilliCpuOf, rateOf } from './growth';
import type { ContainerLabels, Metrics, Series } from './metrics';
import { DISK_LABEL, INTERFACE_LABEL, METRIC, type MetricName } from './names';
import { deriveExclusiveUse } from './exclusive-use';
import { deriveSetUsage, type PromisedSetUsage } from './set-usage';
import type { UsageSample } from './sample';

/** The owners of the counters, at the time of the later reading. */
export interface Measured {
  /** The CPUs that belong to one container or pod alone. */
  readonly exclusive: CpuSet;
  /** The containers that have them, by their ids; those of pods that are not in `containers` too. */
  readonly owners: ReadonlySet<string>;
  /** By their ids. Counters of other containers are left out. */
  readonly containers: ReadonlyMap<string, MeasuredContainer>;
  /** `gocrane.io/cpu`: what pods request, and what the Node has; absent = not known. */
  readonly elasticCpu?: ElasticCpu;
}

export interface MeasuredContainer {
  readonly labels: ContainerLabels;
  /** Its exclusive or immovable CPUs; absent = it has none. */
  readonly ownCpus?: CpuSet;
}

export interface ElasticCpu {
  readonly requestedMilliCpu: number;
  readonly allocatableMilliCpu: number;
}

export interface DerivedUsage {
  readonly metrics: Metrics;
  readonly sets: readonly PromisedSetUsage[];
}

type Labels = Readonly<Record<string, string>>;
const NS_PER_SECOND = 1e9;

/**
 * The metrics that two readings give. Without an earlier one there are only those that need none. What could not be
 * read, or whose counter has fallen, has no series.
 */
export function deriveMetrics(before: UsageSample | undefined, after: UsageSample, what: Measured): DerivedUsage {
  const sheet = new MetricSheet(after.atMs);
  addCpus(sheet, before, after, what);
  addMemory(sheet, after);
  if (before) {
    const seconds = (after.monotonicNs - before.monotonicNs) / NS_PER_SECOND;
    addDisks(sheet, before, after, seconds);
    addInterfaces(sheet, before, after, seconds);
  }
  addContainers(sheet, before, after, what);
  if (what.elasticCpu && what.elasticCpu.allocatableMilliCpu > 0) {
    const { requestedMilliCpu, allocatableMilliCpu } = what.elasticCpu;
    sheet.add(METRIC.extCpuTotalDistribute, {}, (requestedMilliCpu / allocatableMilliCpu) * 100);
  }
  return { metrics: sheet.metrics, sets: before ? deriveSetUsage(before, after, what) : [] };
}

/** Collects series. A value that is not known makes none. */
class MetricSheet {
  readonly metrics = new Map<MetricName, Series[]>();

  constructor(private readonly atMs: number) {}

  add(name: MetricName, labels: Labels, value: number | undefined): void {
    if (value === undefined) return;
    const series = this.metrics.get(name);
    if (series) series.push({ labels, value, atMs: this.atMs });
    else this.metrics.set(name, [{ labels, value, atMs: this.atMs }]);
  }
}

function addCpus(sheet: MetricSheet, before: UsageSample | undefined, after: UsageSample, what: Measured): void {
  const percent = before && busyPercentOf(before, after);
  sheet.add(METRIC.cpuTotalUtilization, {}, percent);
  sheet.add(METRIC.cpuTotalUsage, {}, percent === undefined ? undefined : percent * after.cpus.size * 10);
  sheet.add(METRIC.cpuCoreNumbers, {}, after.cpus.size);
  const idle = before && (what.exclusive.isEmpty ? 0 : idleMilliCpuOf(before, after, what.exclusive));
  sheet.add(METRIC.exclusiveCpuIdle, {}, idle);
  const use = before && deriveExclusiveUse(before, after, what);
  sheet.add(METRIC.exclusiveCpuOwners, {}, use?.ownersMilliCpu);
  sheet.add(METRIC.exclusiveCpuOthers, {}, use?.othersMilliCpu);
  sheet.add(METRIC.cpuLoad1Min, {}, after.load?.[0]);
  sheet.add(METRIC.cpuLoad5Min, {}, after.load?.[1]);
  sheet.add(METRIC.cpuLoad15Min, {}, after.load?.[2]);
}

function addMemory(sheet: MetricSheet, { memory }: UsageSample): void {
  if (!memory) return;
  const usedBytes = Math.max(0, memory.totalBytes - memory.availableBytes);
  sheet.add(METRIC.memoryTotalUsage, {}, usedBytes);
  sheet.add(
    METRIC.memoryTotalUtilization,
    {},
    memory.totalBytes > 0 ? (usedBytes / memory.totalBytes) * 100 : undefined,
  );
  sheet.add(METRIC.memoryTotal, {}, memory.totalBytes);
}

function addDisks(sheet: MetricSheet, before: UsageSample, after: UsageSample, seconds: number): void {
  for (const [name, now] of after.disks) {
    const then = before.disks.get(name);
    const labels = { [DISK_LABEL]: name };
    const kibiseconds = seconds * 1024;
    sheet.add(METRIC.diskReadKibps, labels, rateOf(then?.readBytes, now.readBytes, kibiseconds));
    sheet.add(METRIC.diskWriteKibps, labels, rateOf(then?.writtenBytes, now.writtenBytes, kibiseconds));
    sheet.add(METRIC.diskReadIops, labels, rateOf(then?.reads, now.reads, seconds));
    sheet.add(METRIC.diskWriteIops, labels, rateOf(then?.writes, now.writes, seconds));
    // A thousand ms busy in a second are 100 per cent.
    sheet.add(METRIC.diskUtilization, labels, rateOf(then?.busyMs, now.busyMs, seconds * 10));
  }
}

function addInterfaces(sheet: MetricSheet, before: UsageSample, after: UsageSample, seconds: number): void {
  for (const [name, now] of after.interfaces) {
    const then = before.interfaces.get(name);
    const labels = { [INTERFACE_LABEL]: name };
    // A thousand bits are 125 bytes.
    sheet.add(METRIC.networkReceiveKibps, labels, rateOf(then?.receivedBytes, now.receivedBytes, seconds * 125));
    sheet.add(METRIC.networkSentKibps, labels, rateOf(then?.sentBytes, now.sentBytes, seconds * 125));
    sheet.add(METRIC.networkReceivePckps, labels, rateOf(then?.receivedPackets, now.receivedPackets, seconds));
    sheet.add(METRIC.networkSentPckps, labels, rateOf(then?.sentPackets, now.sentPackets, seconds));
    sheet.add(METRIC.networkDropIn, labels, rateOf(then?.droppedIn, now.droppedIn, seconds));
    sheet.add(METRIC.networkDropOut, labels, rateOf(then?.droppedOut, now.droppedOut, seconds));
  }
}

function addContainers(sheet: MetricSheet, before: UsageSample | undefined, after: UsageSample, what: Measured): void {
  let [elasticCpus, elasticBytes] = [0, 0];
  for (const [id, container] of what.containers) {
    const now = after.containers.get(id);
    if (!now) continue;
    const then = before?.containers.get(id);
    const ns = then ? now.monotonicNs - then.monotonicNs : 0;
    const labels = { ...container.labels };
    const cpus = rateOf(then?.cpuNs, now.cpuNs, ns);
    sheet.add(METRIC.containerCpuTotalUsage, labels, cpus);
    sheet.add(METRIC.containerSchedRunQueueTime, labels, rateOf(then?.runQueueNs, now.runQueueNs, ns / 1e6));
    sheet.add(METRIC.containerCpuLimit, labels, now.shares);
    sheet.add(METRIC.containerCpuQuota, labels, now.quotaUs);
    sheet.add(METRIC.containerCpuPeriod, labels, now.periodUs);
    sheet.add(METRIC.containerMemTotalUsage, labels, now.workingSetBytes);
    if (labels.HasExtRes === 'false') continue;
    elasticCpus += cpus ?? 0;
    elasticBytes += now.workingSetBytes ?? 0;
  }
  sheet.add(METRIC.extResContainerCpuTotalUsage, {}, before && elasticCpus);
  sheet.add(METRIC.extResContainerMemTotalUsage, {}, elasticBytes);
}
