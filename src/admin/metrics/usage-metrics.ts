import type { Metrics as Collected, Series } from '../../qos/usage/metrics';
import type { PromisedSetStatus } from '../model/qos-status';
import { boundLabel, formatGauge, formatLabels, MAX_CONTAINERS, type Labels } from './exposition';

/** The last reading of the node's counters, and what followed from it. */
export interface UsageReading {
  readonly metrics: Collected;
  readonly sets: readonly PromisedSetStatus[];
  /** Time of the reading, in ms since 1970. */
  readonly atMs: number;
  /** Time that the daemon worked on it, in ms. */
  readonly busyMs: number;
}

export interface UsageOptions {
  /** Values that are older vanish. */
  readonly maxAgeMs: number;
  readonly nowMs: number;
  /** Series for each container are among the figures. */
  readonly containerSeries: boolean;
}

type Scope = 'node' | 'disk' | 'interface' | 'container';

/** The collected metrics, by the names that Crane gives them. */
const COLLECTED: readonly (readonly [name: string, scope: Scope, help: string])[] = [
  ['cpu_total_utilization', 'node', 'Part of the time of all CPUs in which they were not idle, in per cent.'],
  ['cpu_total_usage', 'node', 'The same as thousandths of a CPU.'],
  ['cpu_core_numbers', 'node', 'Number of CPUs.'],
  ['exclusive_cpu_idle', 'node', 'Thousandths of a CPU that exclusive CPUs were idle, in all.'],
  ['exclusive_cpu_owners', 'node', 'Thousandths of a CPU that containers with exclusive CPUs used.'],
  ['exclusive_cpu_others', 'node', 'Thousandths of a CPU that exclusive CPUs were busy with others than their owners.'],
  ['cpu_load_1_min', 'node', 'Load average over 1 minute.'],
  ['cpu_load_5_min', 'node', 'Load average over 5 minutes.'],
  ['cpu_load_15_min', 'node', 'Load average over 15 minutes.'],
  ['memory_total_usage', 'node', 'Memory that is not available, in bytes.'],
  ['memory_total_utilization', 'node', 'Part of the memory that is not available, in per cent.'],
  ['memory_total', 'node', 'Memory of the node, in bytes.'],
  ['disk_read_kibps', 'disk', 'KiB that were read in a second.'],
  ['disk_write_kibps', 'disk', 'KiB that were written in a second.'],
  ['disk_read_iops', 'disk', 'Reads in a second.'],
  ['disk_write_iops', 'disk', 'Writes in a second.'],
  ['disk_read_utilization', 'disk', 'Part of the time in which a request was under way, in per cent.'],
  ['network_receive_kibps', 'interface', 'Thousands of bits that were received in a second.'],
  ['network_sent_kibps', 'interface', 'Thousands of bits that were sent in a second.'],
  ['network_receive_pckps', 'interface', 'Packets that were received in a second.'],
  ['network_sent_pckps', 'interface', 'Packets that were sent in a second.'],
  ['network_drop_in', 'interface', 'Incoming packets that were dropped in a second.'],
  ['network_drop_out', 'interface', 'Outgoing packets that were dropped in a second.'],
  ['container_cpu_total_usage', 'container', 'CPUs that a container used.'],
  ['container_sched_run_queue_time', 'container', 'Microseconds of a second in which threads waited for a CPU.'],
  ['container_cpu_limit', 'container', 'CPU shares.'],
  ['container_cpu_quota', 'container', 'CFS quota in microseconds; -1 without a limit.'],
  ['container_cpu_period', 'container', 'CFS period in microseconds.'],
  ['container_mem_total_usage', 'container', 'Working set in bytes.'],
  ['ext_res_container_cpu_total_usage', 'node', 'CPUs that containers with lent resources used.'],
  ['ext_res_container_mem_total_usage', 'node', 'Bytes that containers with lent resources used.'],
  ['ext_cpu_total_distribute', 'node', 'Part of the lent CPUs that pods request, in per cent.'],
];

/**
 * Names of collected labels, and ours for them. Ids are left out: names tell containers apart, as in the other series.
 */
const LABELS: Readonly<Record<Scope, Readonly<Record<string, string>>>> = {
  node: {},
  disk: { diskName: 'disk' },
  interface: { NetInterface: 'interface' },
  container: { PodNamespace: 'namespace', PodName: 'pod', ContainerName: 'container', HasExtRes: 'has_ext_res' },
};

/**
 * The figures of the last reading in Prometheus' text format. The time of the reading stays when its values have become
 * too old, so that their age can be seen.
 */
export function formatUsage(reading: UsageReading | undefined, options: UsageOptions): string {
  if (!reading) return '';
  const { metrics, sets, atMs, busyMs } = reading;
  const { maxAgeMs, containerSeries } = options;
  const isFresh = (ofMs: number): boolean => options.nowMs - ofMs <= maxAgeMs;
  const freshSets = containerSeries && isFresh(atMs) ? sets : [];
  const containers = new ContainerLimit();
  const promised = freshSets
    .map((set) => ({ set, labels: nameOf(set) }))
    .filter(({ labels }) => containers.admit(labels));
  const ofSets = (name: string, help: string, read: (set: PromisedSetStatus) => number | undefined) =>
    formatGauge(
      `promised_set_${name}`,
      help,
      promised.map(({ set, labels }) => [labels, read(set)]),
    );
  const lines = COLLECTED.flatMap(([name, scope, help]) => {
    if (scope === 'container' && !containerSeries) return [];
    const samples = (metrics.get(name) ?? [])
      .filter((series) => isFresh(series.atMs))
      .map((series) => [labelsOf(series, scope), series.value] as const);
    return formatGauge(
      name,
      help,
      scope === 'container' ? samples.filter(([labels]) => containers.admit(labels)) : samples,
    );
  });
  return [
    ...lines,
    ...ofSets(
      'used_cores',
      'CPUs that a container used of those that it is promised.',
      (set) => set.usedMilliCpu / 1e3,
    ),
    ...ofSets(
      'wait_seconds_per_second',
      'Time in each second in which threads of the container were ready and had no CPU, all threads together.',
      ({ waitMsPerSecond: ms }) => (ms === undefined ? undefined : ms / 1e3),
    ),
    ...ofSets(
      'throttled_ratio',
      'Part of the time in which its CFS quota kept the container from running.',
      ({ throttledPercent: percent }) => (percent === undefined ? undefined : percent / 100),
    ),
    ...(containerSeries
      ? formatGauge('usage_containers_without_series', 'Containers that have no series of use: they are too many.', [
          [{}, containers.refused],
        ])
      : []),
    ...formatGauge('usage_last_timestamp_seconds', 'Time of the last reading of use.', [[{}, atMs / 1e3]]),
    ...formatGauge('usage_max_age_seconds', 'Age from which values of use are left out.', [[{}, maxAgeMs / 1e3]]),
    ...formatGauge('usage_busy_seconds', 'Time that cpusetd worked on the last reading of use.', [[{}, busyMs / 1e3]]),
    '',
  ].join('\n');
}

/** Lets the first containers have series, and counts the others. */
class ContainerLimit {
  private readonly admitted = new Set<string>();
  private readonly others = new Set<string>();

  get refused(): number {
    return this.others.size;
  }

  admit({ namespace = '', pod = '', container = '' }: Labels): boolean {
    const key = formatLabels({ namespace, pod, container });
    const isAdmitted = this.admitted.has(key) || this.admitted.size < MAX_CONTAINERS;
    (isAdmitted ? this.admitted : this.others).add(key);
    return isAdmitted;
  }
}

function labelsOf({ labels }: Series, scope: Scope): Labels {
  return Object.fromEntries(
    Object.entries(LABELS[scope]).map(([theirs, ours]) => [ours, boundLabel(labels[theirs] ?? '')]),
  );
}

function nameOf({ namespace, pod, container }: PromisedSetStatus): Labels {
  return { namespace: boundLabel(namespace), pod: boundLabel(pod), container: boundLabel(container) };
}
