import type { ContainerCounters } from '../../qos/usage/sample';
import { malformed, type CgroupFailure, type CgroupFiles, type Gone } from '../cgroup/cgroup-file';
import type { Hierarchies } from '../cgroup/find-hierarchies';
import { readQuota } from '../cgroup/quota';

export type CountersReading = { readonly kind: 'found'; readonly counters: ContainerCounters } | Gone | CgroupFailure;

/**
 * Reads the counters of the cgroup at `cgroupPath`, those of its run queue left out. Only the CPU time has to be there:
 * other values that can't be read are absent.
 */
export function readContainerCounters(
  files: CgroupFiles,
  hierarchies: Hierarchies,
  cgroupPath: string,
): CountersReading {
  const monotonicNs = readMonotonicNs();
  const cpu = readCpuTime(files, hierarchies, cgroupPath);
  if (cpu.kind !== 'found') return cpu;
  const quota = readQuota(files, hierarchies, cgroupPath);
  const isLimited = quota.kind === 'found' && quota.quotaUs >= 0;
  const shares = readShares(files, hierarchies, cgroupPath);
  const workingSetBytes = readWorkingSet(files, hierarchies, cgroupPath);
  return {
    kind: 'found',
    counters: {
      monotonicNs,
      cpuNs: cpu.cpuNs,
      ...(isLimited && readThrottling(files, hierarchies, cgroupPath, cpu.stat)),
      ...(shares !== undefined && { shares }),
      ...(quota.kind === 'found' && { quotaUs: quota.quotaUs, periodUs: quota.periodUs }),
      ...(workingSetBytes !== undefined && { workingSetBytes }),
    },
  };
}

/**
 * The monotonic clock in ns. A double holds it exactly for 104 days after the boot, and to within 4 ns for more than a
 * year.
 */
export function readMonotonicNs(): number {
  return Number(process.hrtime.bigint());
}

/**
 * CPU shares for a weight of version 2, by the kubelet's linear formula, rounded down as there. The weight has fewer
 * steps, so they are not exactly those that were asked for. Newer versions of runc and crun make weights by another
 * formula (kubernetes/kubernetes#131216): their shares differ.
 */
export function sharesOfWeight(weight: number): number {
  // A group of the class SCHED_IDLE has the weight 0.
  return Math.max(2, Math.floor(((weight - 1) * 262142) / 9999) + 2);
}

/** `stat` is the text of cpu.stat where that has the CPU time. */
function readCpuTime(
  files: CgroupFiles,
  { version, cpuacctRoot }: Hierarchies,
  cgroupPath: string,
): { readonly kind: 'found'; readonly cpuNs: number; readonly stat?: string } | Gone | CgroupFailure {
  if (cpuacctRoot === undefined)
    return {
      kind: 'error',
      errno: 'ENODEV',
      because: 'the cpuacct controller is not mounted, so CPU time is not counted',
    };
  const path = `${cpuacctRoot}${cgroupPath}/${version === 1 ? 'cpuacct.usage' : 'cpu.stat'}`;
  const text = files.read(path);
  if (typeof text !== 'string') return text;
  if (version === 1) {
    const cpuNs = parseCount(text);
    return cpuNs === undefined ? malformed(path, text, 'a whole number of ns is expected') : { kind: 'found', cpuNs };
  }
  const usageUs = fieldOf(text, 'usage_usec');
  if (usageUs === undefined) return malformed(path, text, 'a line "usage_usec" is expected');
  return { kind: 'found', cpuNs: usageUs * 1000, stat: text };
}

/** Nothing where one of the three is missing. */
function readThrottling(
  files: CgroupFiles,
  { version, cpuRoot }: Hierarchies,
  cgroupPath: string,
  stat: string | undefined,
): Pick<ContainerCounters, 'throttledNs' | 'throttledPeriods' | 'periods'> {
  const text = stat ?? files.read(`${cpuRoot ?? ''}${cgroupPath}/cpu.stat`);
  if (typeof text !== 'string') return {};
  const throttled = fieldOf(text, version === 1 ? 'throttled_time' : 'throttled_usec');
  const [periods, throttledPeriods] = [fieldOf(text, 'nr_periods'), fieldOf(text, 'nr_throttled')];
  if (throttled === undefined || periods === undefined || throttledPeriods === undefined) return {};
  return { throttledNs: version === 1 ? throttled : throttled * 1000, throttledPeriods, periods };
}

function readShares(files: CgroupFiles, { version, cpuRoot }: Hierarchies, cgroupPath: string): number | undefined {
  if (cpuRoot === undefined) return undefined;
  const text = files.read(`${cpuRoot}${cgroupPath}/${version === 1 ? 'cpu.shares' : 'cpu.weight'}`);
  const value = typeof text === 'string' ? parseCount(text) : undefined;
  return value === undefined || version === 1 ? value : sharesOfWeight(value);
}

/** Memory in use without inactive pages of files, which the kernel gives up first. */
function readWorkingSet(
  files: CgroupFiles,
  { version, memoryRoot }: Hierarchies,
  cgroupPath: string,
): number | undefined {
  if (memoryRoot === undefined) return undefined;
  const directory = `${memoryRoot}${cgroupPath}`;
  const [usedFile, inactiveName] =
    version === 1 ? ['memory.usage_in_bytes', 'total_inactive_file'] : ['memory.current', 'inactive_file'];
  const used = files.read(`${directory}/${usedFile}`);
  const usedBytes = typeof used === 'string' ? parseCount(used) : undefined;
  if (usedBytes === undefined) return undefined;
  const stat = files.read(`${directory}/memory.stat`);
  const inactiveBytes = typeof stat === 'string' ? fieldOf(stat, inactiveName) : undefined;
  return inactiveBytes === undefined ? undefined : Math.max(0, usedBytes - inactiveBytes);
}

/** The number in the line `name number`. */
function fieldOf(text: string, name: string): number | undefined {
  const start = text.startsWith(`${name} `) ? 0 : text.indexOf(`\n${name} `) + 1;
  if (start === 0 && !text.startsWith(`${name} `)) return undefined;
  const end = text.indexOf('\n', start);
  return parseCount(text.slice(start + name.length + 1, end < 0 ? undefined : end));
}

/** Counters of the kernel have 64 bits; a double holds them to within one part in 10^15. */
function parseCount(text: string): number | undefined {
  return /^\d{1,20}$/.test(text) ? Number(text) : undefined;
}
