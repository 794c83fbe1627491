/** The names of the metrics, as Crane spells them. */
export const METRIC = {
  /** Per cent of all online CPUs. Waiting for I/O counts as busy. */
  cpuTotalUtilization: 'cpu_total_utilization',
  /** The same in milli-CPU. */
  cpuTotalUsage: 'cpu_total_usage',
  cpuCoreNumbers: 'cpu_core_numbers',
  /** Milli-CPU of exclusive CPUs that were idle. */
  exclusiveCpuIdle: 'exclusive_cpu_idle',
  /** Milli-CPU that containers with exclusive CPUs used. */
  exclusiveCpuOwners: 'exclusive_cpu_owners',
  /** Milli-CPU that exclusive CPUs were busy beyond that. */
  exclusiveCpuOthers: 'exclusive_cpu_others',
  cpuLoad1Min: 'cpu_load_1_min',
  cpuLoad5Min: 'cpu_load_5_min',
  cpuLoad15Min: 'cpu_load_15_min',
  /** Bytes that are not available. */
  memoryTotalUsage: 'memory_total_usage',
  memoryTotalUtilization: 'memory_total_utilization',
  memoryTotal: 'memory_total',
  /** KiB a second. */
  diskReadKibps: 'disk_read_kibps',
  diskWriteKibps: 'disk_write_kibps',
  diskReadIops: 'disk_read_iops',
  /** Crane gives reads and writes the one name disk_read_iops, and so loses one of them. */
  diskWriteIops: 'disk_write_iops',
  /** Per cent of the time with a request under way, reads and writes. */
  diskUtilization: 'disk_read_utilization',
  /** Thousands of bits a second. */
  networkReceiveKibps: 'network_receive_kibps',
  networkSentKibps: 'network_sent_kibps',
  /** Packets a second. */
  networkReceivePckps: 'network_receive_pckps',
  networkSentPckps: 'network_sent_pckps',
  networkDropIn: 'network_drop_in',
  networkDropOut: 'network_drop_out',
  /** CPUs in use. */
  containerCpuTotalUsage: 'container_cpu_total_usage',
  /** Microseconds in each second in which threads were ready and had no CPU, summed over the threads. */
  containerSchedRunQueueTime: 'container_sched_run_queue_time',
  /** CPU shares, in spite of the name. */
  containerCpuLimit: 'container_cpu_limit',
  /** Microseconds; -1 = no limit. */
  containerCpuQuota: 'container_cpu_quota',
  containerCpuPeriod: 'container_cpu_period',
  containerMemTotalUsage: 'container_mem_total_usage',
  /** Sums over the containers with `gocrane.io/cpu` or `gocrane.io/memory`, in CPUs and in bytes. */
  extResContainerCpuTotalUsage: 'ext_res_container_cpu_total_usage',
  extResContainerMemTotalUsage: 'ext_res_container_mem_total_usage',
  /** Per cent of the allocatable `gocrane.io/cpu` that pods request. */
  extCpuTotalDistribute: 'ext_cpu_total_distribute',
} as const;

export type MetricName = (typeof METRIC)[keyof typeof METRIC];

/** The labels of a disk's and of an interface's series. */
export const DISK_LABEL = 'diskName';
export const INTERFACE_LABEL = 'NetInterface';
