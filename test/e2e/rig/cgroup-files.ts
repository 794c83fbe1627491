import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Where the hierarchy with the cpuset controller is mounted: cgroup v1 has one of its own, v2 one for all. */
const cpusetMount = (): string =>
  existsSync('/sys/fs/cgroup/cgroup.controllers') ? '/sys/fs/cgroup' : '/sys/fs/cgroup/cpuset';

/** The kernel's word on a cgroup's CPUs. */
export interface CpusetFiles {
  /** `cpuset.cpus`: what was written; on v2 empty means as the parent. */
  readonly cpus: string;
  /** What its processes can really run on. */
  readonly effectiveCpus: string;
  readonly mems: string;
}

/** The folder of a cgroup in the hierarchy that has the cpuset controller. */
export const cpusetDirOf = (cgroupPath: string): string => join(cpusetMount(), cgroupPath);

/** @throws ENOENT when the cgroup does not exist: on containerd until StartContainer */
export function readCpuset(cgroupPath: string): CpusetFiles {
  const dir = cpusetDirOf(cgroupPath);
  const read = (name: string) => readFileSync(join(dir, name), 'utf8').trim();
  const isV1 = existsSync(join(dir, 'cpuset.effective_cpus'));
  return {
    cpus: read('cpuset.cpus'),
    effectiveCpus: read(isV1 ? 'cpuset.effective_cpus' : 'cpuset.cpus.effective'),
    mems: read('cpuset.mems'),
  };
}

/** Processes that are in the cgroup itself. */
export const readPids = (cgroupPath: string): number[] =>
  readFileSync(join(cpusetDirOf(cgroupPath), 'cgroup.procs'), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map(Number);

/** The file with the CFS quota of a cgroup. */
export const quotaFileOf = (cgroupPath: string): string =>
  existsSync('/sys/fs/cgroup/cgroup.controllers')
    ? join('/sys/fs/cgroup', cgroupPath, 'cpu.max')
    : join('/sys/fs/cgroup/cpu', cgroupPath, 'cpu.cfs_quota_us');

/** The CFS quota of a cgroup in µs per period; -1 = none. @throws ENOENT when the cgroup does not exist */
export function readQuotaUs(cgroupPath: string): number {
  const [quota = ''] = readFileSync(quotaFileOf(cgroupPath), 'utf8').trim().split(' ');
  return quota === 'max' ? -1 : Number(quota);
}

/** The CPUs that a process may run on. */
export const readMask = (pid: number): string =>
  /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]!;

/** Writes the cpuset of a cgroup behind the back of cpusetd. */
export function writeCpuset(cgroupPath: string, cpus: string): void {
  writeFileSync(join(cpusetDirOf(cgroupPath), 'cpuset.cpus'), cpus);
}
