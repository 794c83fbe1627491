import type { CpuSet } from '../../core/cpuset';
import { CgroupFiles, type WriteOutcome } from './cgroup-file';
import { CpusetFiles, type CpusetChange, type CpusetReading, type CpusReading } from './cpuset-files';
import { findHierarchies, type CgroupVersion } from './find-hierarchies';
import { probeWritable, type Writability } from './probe-writable';
import { reclaimTasks } from './reclaim-tasks';
import { readQuota, writeQuota, type QuotaReading } from './quota';
import { listThreads, type ThreadsReading } from './threads';
import { watchCpusets, type CpusetWatch, type CpusetWatchOptions } from './watch-cpusets';
import { widen, writeCpuset } from './write-cpuset';

/**
 * The node's cgroups. `dir` is always a path below the root of the hierarchy that begins with a slash, as
 * `cgroupPathOf` gives it. All operations are synchronous; none throws for what can happen to a container.
 */
export interface Cgroups {
  readonly version: CgroupVersion;
  /** CPUs, configured and effective: about 10 µs. */
  readCpus(dir: string): CpusReading;
  readCpuset(dir: string): CpusetReading;
  /** The CPUs that any cgroup can have: those of the root. Undefined where the kernel does not say. */
  readActive(): CpuSet | undefined;
  /** About 30 µs for a changed value, 5 µs for the same one, which is not written. */
  writeCpuset(dir: string, change: CpusetChange): WriteOutcome;
  /** Lets a cgroup and those above it have these CPUs too, on version 1; `gone` where one of them is not there yet. */
  widen(dir: string, cpus: CpuSet): WriteOutcome;
  /** Brings processes back that the kernel moved to the parent, on version 1; see reclaimTasks. */
  reclaimTasks(dir: string): WriteOutcome;
  readQuota(dir: string): QuotaReading;
  writeQuota(dir: string, quota: { readonly quotaUs: number; readonly periodUs?: number }): WriteOutcome;
  listThreads(dir: string, options?: { readonly maxThreads?: number }): ThreadsReading;
  probeWritable(): Writability;
  watch(options: CpusetWatchOptions): CpusetWatch;
}

export interface OpenCgroupsOptions {
  readonly cgroupRoot: string;
  readonly procRoot?: string;
}

/** Finds the node's cgroup hierarchies. Throws CgroupError when there are no cpusets. */
export function openCgroups({ cgroupRoot, procRoot = '/proc' }: OpenCgroupsOptions): Cgroups {
  const hierarchies = findHierarchies(cgroupRoot);
  const files = new CgroupFiles();
  const cpusets = new CpusetFiles(files, hierarchies);
  const root = hierarchies.cpusetRoot;
  return {
    version: hierarchies.version,
    readCpus: (dir) => cpusets.readCpus(root + dir),
    readCpuset: (dir) => cpusets.readAll(root + dir),
    readActive: () => cpusets.readEffective(root),
    writeCpuset: (dir, change) => writeCpuset(cpusets, root + dir, change),
    widen: (dir, cpus) => widen(cpusets, root + dir, cpus),
    reclaimTasks: (dir) => reclaimTasks(files, hierarchies, dir),
    readQuota: (dir) => readQuota(files, hierarchies, dir),
    writeQuota: (dir, quota) => writeQuota(files, hierarchies, dir, quota),
    listThreads: (dir, { maxThreads = 1000 } = {}) => listThreads(files, hierarchies, dir, { maxThreads, procRoot }),
    probeWritable: () => probeWritable(root),
    watch: (options) => watchCpusets(root, options),
  };
}
