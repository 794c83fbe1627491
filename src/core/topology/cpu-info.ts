/** One online CPU and the units it lies in. */
export interface CpuInfo {
  /** The kernel's number of the CPU, as in /sys/devices/system/cpu/cpuN. */
  readonly id: number;
  /** Unique over the whole machine. The sysfs reader uses the lowest CPU id of the core; other sources may number otherwise. */
  readonly core: number;
  readonly socket: number;
  readonly numaNode: number;
  /** The group of CPUs behind one last-level cache; unique over the whole machine. */
  readonly uncoreCache: number;
}
