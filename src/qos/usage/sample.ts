/**
 * Counters of the node and of its containers, as read at one time. Absent = could not be read, or does not exist here.
 */
export interface UsageSample {
  /** Time of the reading: ms since 1970, for the time stamps of metrics. */
  readonly atMs: number;
  /** The same time of the monotonic clock, in ns: counters are divided by differences of it. */
  readonly monotonicNs: number;
  /** Ticks of each online CPU since the boot, by its id. */
  readonly cpus: ReadonlyMap<number, CpuTicks>;
  /** Load averages over 1, 5 and 15 minutes. */
  readonly load?: readonly [number, number, number];
  readonly memory?: MemoryState;
  readonly disks: ReadonlyMap<string, DiskCounters>;
  readonly interfaces: ReadonlyMap<string, InterfaceCounters>;
  /** By the id of the container. */
  readonly containers: ReadonlyMap<string, ContainerCounters>;
}

/** Ticks of 10 ms since the boot. Busy is all but idle, so waiting for I/O is busy here, as Crane counts it. */
export interface CpuTicks {
  readonly busy: number;
  readonly idle: number;
}

export interface MemoryState {
  readonly totalBytes: number;
  readonly availableBytes: number;
}

export interface DiskCounters {
  readonly reads: number;
  readonly writes: number;
  readonly readBytes: number;
  readonly writtenBytes: number;
  /** Time in which at least one request was under way. */
  readonly busyMs: number;
}

export interface InterfaceCounters {
  readonly receivedBytes: number;
  readonly sentBytes: number;
  readonly receivedPackets: number;
  readonly sentPackets: number;
  readonly droppedIn: number;
  readonly droppedOut: number;
}

export interface ContainerCounters {
  /** Time of the reading of this container, of the monotonic clock. */
  readonly monotonicNs: number;
  /** CPU time since its start. */
  readonly cpuNs: number;
  /** Time in which its threads were ready and had no CPU. */
  readonly runQueueNs?: number;
  /** Time and periods in which its CFS quota kept it from running; absent without a quota. */
  readonly throttledNs?: number;
  readonly throttledPeriods?: number;
  readonly periods?: number;
  /** CPU shares of version 1; the weight of version 2 as shares. */
  readonly shares?: number;
  /** -1 = no limit. */
  readonly quotaUs?: number;
  readonly periodUs?: number;
  /** Memory in use without inactive file pages, as the kubelet counts it. */
  readonly workingSetBytes?: number;
}
