import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from './project-root';

/**
 * The mount point of the hierarchy with the cpuset controller: cgroup v1 has a hierarchy for it, v2 has one for all
 * controllers.
 */
const cpusetMount = (): string =>
  existsSync('/sys/fs/cgroup/cgroup.controllers') ? '/sys/fs/cgroup' : '/sys/fs/cgroup/cpuset';

/** The cpuset files of a cgroup. */
export interface CpusetFiles {
  /** `cpuset.cpus`, as written; on v2 an empty one means that of the parent. */
  readonly cpus: string;
  /** The CPUs that its processes can use. */
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

/** The processes of the cgroup, without those of cgroups below it. */
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

/**
 * The CPU shares of a cgroup: what the kernel has on v1, `weight N` on v2. @throws ENOENT when the cgroup does not
 * exist
 */
export function readShares(cgroupPath: string): string {
  const isV2 = existsSync('/sys/fs/cgroup/cgroup.controllers');
  const file = isV2 ? join(cgroupPath, 'cpu.weight') : join('cpu', cgroupPath, 'cpu.shares');
  return `${isV2 ? 'weight' : 'shares'} ${readFileSync(join('/sys/fs/cgroup', file), 'utf8').trim()}`;
}

/** The CPUs that a process may run on. */
export const readMask = (pid: number): string =>
  /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]!;

/** Writes the cpuset of a cgroup, past cpusetd and the runtime. */
export function writeCpuset(cgroupPath: string, cpus: string): void {
  writeFileSync(join(cpusetDirOf(cgroupPath), 'cpuset.cpus'), cpus);
}

/** Moves a process into a cgroup, in each hierarchy that limits or counts CPU time and memory. */
export function joinCgroup(cgroupPath: string, pid: number): void {
  const isV2 = existsSync('/sys/fs/cgroup/cgroup.controllers');
  for (const controller of isV2 ? [''] : ['cpuset', 'cpu', 'memory'])
    writeFileSync(join('/sys/fs/cgroup', controller, cgroupPath, 'cgroup.procs'), String(pid));
}

/** The command that runs another one in a cpuset cgroup that is the root for it. Only on v1. */
export const inCgroup = (cgroupPath: string): string[] => [
  'sh',
  join(projectRoot(), 'scripts/runtime/own-cgroups.sh'),
  cpusetDirOf(cgroupPath),
];
