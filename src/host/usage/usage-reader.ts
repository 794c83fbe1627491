import type { ContainerCounters, UsageSample } from '../../qos/usage/sample';
import { CgroupFiles } from '../cgroup/cgroup-file';
import { findHierarchies, type Hierarchies } from '../cgroup/find-hierarchies';
import type { TimeSlices } from '../proc/time-slices';
import { readContainerCounters, readMonotonicNs } from './container-counters';
import { readDisks } from './disks';
import { readInterfaces } from './interfaces';
import { readCpuTicks, readLoad, readMemory } from './node-state';
import { readRunQueue } from './run-queue';

export interface UsageReaderOptions {
  readonly cgroupRoot: string;
  readonly sysfsRoot: string;
  readonly procRoot?: string;
}

export interface ContainerToRead {
  readonly id: string;
  /** Below the root of the hierarchy of cpusets. */
  readonly cgroupPath: string;
  /** Below the roots of the other hierarchies; absent = the same. */
  readonly cpuPath?: string;
  /** All its threads are looked at; of other containers only the leaders of processes. */
  readonly hasOwnCpus: boolean;
}

export interface UsageRequest {
  readonly containers: readonly ContainerToRead[];
  /** The network interfaces that are read. */
  readonly interfaces: readonly string[];
}

export interface UsageReading {
  readonly sample: UsageSample;
  /** The containers that are there and could not be read, by their ids, with the reason. */
  readonly unread: ReadonlyMap<string, string>;
}

/**
 * Most threads and processes that one reading looks at; containers for which none are left have no time in the run
 * queue.
 */
const MAX_TASKS = 20_000;

/** Reads the counters of the node and of its containers. */
export class UsageReader {
  private readonly files = new CgroupFiles();
  private readonly hierarchies: Hierarchies;
  private readonly procRoot: string;

  /** Throws CgroupError when there are no cpusets. */
  constructor(private readonly options: UsageReaderOptions) {
    this.hierarchies = findHierarchies(options.cgroupRoot);
    this.procRoot = options.procRoot ?? '/proc';
  }

  /** Reads everything, with turns for others in between. Throws the system's error when /proc/stat can't be read. */
  async read({ containers, interfaces }: UsageRequest, slices: TimeSlices): Promise<UsageReading> {
    const { procRoot } = this;
    const node = {
      atMs: Date.now(),
      monotonicNs: readMonotonicNs(),
      cpus: readCpuTicks(procRoot),
      interfaces: readInterfaces(procRoot, interfaces),
      disks: readDisks(procRoot, this.options.sysfsRoot),
    };
    const [load, memory] = [readLoad(procRoot), readMemory(procRoot)];
    const counters = new Map<string, ContainerCounters>();
    const unread = new Map<string, string>();
    let tasksLeft = MAX_TASKS;
    for (const container of inOrder(containers)) {
      if (slices.isOver) await slices.rest();
      const { id, cgroupPath, cpuPath = cgroupPath, hasOwnCpus } = container;
      const reading = readContainerCounters(this.files, this.hierarchies, cpuPath);
      if (reading.kind === 'error') unread.set(id, reading.because);
      if (reading.kind !== 'found') continue;
      const scope = hasOwnCpus ? 'threads' : 'leaders';
      const runQueue = await readRunQueue(
        { files: this.files, hierarchies: this.hierarchies, procRoot },
        { cgroupPath, scope, maxTasks: tasksLeft },
        slices,
      );
      tasksLeft -= runQueue?.tasks ?? 0;
      counters.set(id, { ...reading.counters, ...(runQueue && { runQueueNs: runQueue.ns }) });
    }
    const sample = { ...node, ...(load && { load }), ...(memory && { memory }), containers: counters };
    return { sample, unread };
  }
}

/** Those with CPUs of their own first. */
function inOrder(containers: readonly ContainerToRead[]): readonly ContainerToRead[] {
  return [...containers.filter((each) => each.hasOwnCpus), ...containers.filter((each) => !each.hasOwnCpus)];
}
