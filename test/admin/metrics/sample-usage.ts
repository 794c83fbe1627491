import type { UsageReading } from '../../../src/admin/metrics/usage-metrics';
import type { Series } from '../../../src/qos/usage/metrics';
import { sampleUsage } from '../sample-status';

// The metrics that Crane's agent collects, by its names.

const NODE = [
  ...[
    'cpu_total_utilization',
    'cpu_total_usage',
    'cpu_core_numbers',
    'exclusive_cpu_idle',
    'exclusive_cpu_owners',
    'exclusive_cpu_others',
  ],
  ...['cpu_load_1_min', 'cpu_load_5_min', 'cpu_load_15_min'],
  ...['memory_total_usage', 'memory_total_utilization', 'memory_total'],
  ...['ext_res_container_cpu_total_usage', 'ext_res_container_mem_total_usage', 'ext_cpu_total_distribute'],
];
const DISK = ['disk_read_kibps', 'disk_write_kibps', 'disk_read_iops', 'disk_write_iops', 'disk_read_utilization'];
const NETWORK = [
  ...['network_receive_kibps', 'network_sent_kibps', 'network_receive_pckps', 'network_sent_pckps'],
  ...['network_drop_in', 'network_drop_out'],
];
const CONTAINER = [
  ...['container_cpu_total_usage', 'container_sched_run_queue_time', 'container_cpu_limit', 'container_cpu_quota'],
  ...['container_cpu_period', 'container_mem_total_usage'],
];

/** The labels of a container. */
export function labelsOf(pod: string, container: string, id = `${pod}-${container}`): Record<string, string> {
  return {
    PodName: pod,
    PodNamespace: 'default',
    PodUid: `uid-${pod}`,
    ContainerName: container,
    ContainerId: id,
    HasExtRes: 'false',
  };
}

/** A reading that has each metric. The values count up from 1 in their order. */
export function sampleReading(atMs: number): UsageReading {
  const metrics = new Map<string, readonly Series[]>();
  const add = (names: readonly string[], labels: Record<string, string>): void => {
    for (const name of names) metrics.set(name, [{ labels, value: metrics.size + 1, atMs }]);
  };
  add(NODE, {});
  add(DISK, { diskName: 'nvme0n1' });
  add(NETWORK, { NetInterface: 'eth0' });
  add(CONTAINER, labelsOf('web', 'app'));
  return { metrics, sets: sampleUsage.sets, atMs, busyMs: 4.5 };
}
