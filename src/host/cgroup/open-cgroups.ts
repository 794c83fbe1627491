import type { CpuSet } from '../../core/cpuset';
import type { Kubepods } from '../../core/inference/kubepods';
import { CgroupFiles, type WriteOutcome } from './cgroup-file';
import { CpusetFiles, type CpusetChange, type CpusetReading, type CpusReading } from './cpuset-files';
import { findHierarchies, type CgroupVersion } from './find-hierarchies';
import { probeWritable, type Writability } from './probe-writable';
import { readQuota, writeQuota, type QuotaReading } from './quota';
import { listIds, type IdsReading } from './list-ids';
import { locateContainer, type CgroupPlace, type ContainerToLocate, type Located } from './locate-container';
import { listThreads, type ThreadsQuery, type ThreadsReading } from './threads';
import { readBound, type BoundReading } from './read-bound';
import { TreeTime } from './tree-time';
import { watchCpusets, type CpusetWatch, type CpusetWatchOptions } from './watch-cpusets';
import { reclaimTasks } from './reclaim-tasks';
import { widen, type Tree } from './widen';
import { writeCpuset } from './write-cpuset';
import type { InnerCpusets } from './inner-cpusets';

/**
 * The node's cgroups. `cgroupPath` is always a path below the root of the hierarchy that begins with a slash, as
 * `cgroupPathOf` gives it. All operations are synchronous; none throws for what can happen to a container.
 */
export interface Cgroups {
  readonly version: CgroupVersion;
  /** The controller of huge pages is there. */
  readonly hasHugetlb: boolean;
  /** The lists that cgroups inside of containers had before their containers were narrowed. */
  readonly inner: InnerCpusets;
  /** Finds the cgroup of a container: some files of /proc and of the hierarchy, about 30 µs. */
  locate(container: ContainerToLocate): Located;
  /** CPUs, configured and effective: about 10 µs. */
  readCpus(cgroupPath: string): CpusReading;
  readCpuset(cgroupPath: string): CpusetReading;
  /** The CPUs of the root, which any cgroup can have. Undefined when they can't be read. */
  readActive(): CpuSet | undefined;
  /** The CPUs that every pod of Kubernetes can have: some small files. */
  readBound(kubepods: Kubepods): BoundReading;
  /** About 30 µs for a changed value, 5 µs for the same one, which is not written. */
  writeCpuset(cgroupPath: string, change: CpusetChange): WriteOutcome;
  /** Adds CPUs to a tree of cgroups, on version 1; `gone` when it does not exist. */
  widen(tree: Tree, cpus: CpuSet): WriteOutcome;
  /** Moves processes back that the kernel moved to the parent, on version 1. */
  reclaimTasks(place: CgroupPlace): WriteOutcome;
  readQuota(cgroupPath: string): QuotaReading;
  writeQuota(cgroupPath: string, quota: { readonly quotaUs: number; readonly periodUs?: number }): WriteOutcome;
  listThreads(cgroupPath: string, options?: Partial<Omit<ThreadsQuery, 'procRoot'>>): ThreadsReading;
  /** The processes of the cgroup itself, at most 64 of them: one small file. */
  listProcesses(cgroupPath: string): IdsReading;
  probeWritable(): Writability;
  watch(options: CpusetWatchOptions): CpusetWatch;
}

export interface OpenCgroupsOptions {
  readonly cgroupRoot: string;
  readonly procRoot?: string;
  /** Monotonic clock in ms. */
  readonly nowMs?: () => number;
}

const MAX_PROCESSES = 64;

/** Finds the node's cgroup hierarchies. Throws CgroupError when there are no cpusets. */
export function openCgroups({ cgroupRoot, procRoot = '/proc', nowMs }: OpenCgroupsOptions): Cgroups {
  const hierarchies = findHierarchies(cgroupRoot);
  const files = new CgroupFiles();
  const cpusets = new CpusetFiles(files, hierarchies, new TreeTime(nowMs));
  const root = hierarchies.cpusetRoot;
  return {
    version: hierarchies.version,
    hasHugetlb: hierarchies.hasHugetlb,
    inner: cpusets.inner,
    locate: (container) => locateContainer(files, hierarchies, procRoot, container),
    readCpus: (cgroupPath) => cpusets.readCpus(root + cgroupPath),
    readCpuset: (cgroupPath) => cpusets.readAll(root + cgroupPath),
    readActive: () => cpusets.readEffective(root),
    readBound: (kubepods) => readBound(cpusets, kubepods),
    writeCpuset: (cgroupPath, change) => writeCpuset(cpusets, root + cgroupPath, change),
    widen: ({ top, below }, cpus) => widen(cpusets, { top: root + top, below: below.map((path) => root + path) }, cpus),
    reclaimTasks: (place) => reclaimTasks(files, hierarchies, place),
    readQuota: (cgroupPath) => readQuota(files, hierarchies, cgroupPath),
    writeQuota: (cgroupPath, quota) => writeQuota(files, hierarchies, cgroupPath, quota),
    listThreads: (cgroupPath, { maxThreads = 1000, maxDirectories } = {}) =>
      listThreads(files, hierarchies, cgroupPath, { maxThreads, maxDirectories, procRoot }),
    listProcesses: (cgroupPath) =>
      listIds(files, root + cgroupPath, { listFile: 'cgroup.procs', maxIds: MAX_PROCESSES, maxDirectories: 1 }),
    probeWritable: () => probeWritable(root),
    watch: (options) => watchCpusets(root, options),
  };
}
