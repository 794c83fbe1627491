import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { HostError } from '../host-error';

export type CgroupVersion = 1 | 2;

/** No usable cpuset hierarchy. The message names the path, what was found there and the remedy. */
export class CgroupError extends HostError {
  override readonly name = 'CgroupError';
}

/** Mount points of the controllers. */
export interface Hierarchies {
  readonly version: CgroupVersion;
  readonly cpusetRoot: string;
  /** Undefined on version 1 when the cpu controller is not mounted. */
  readonly cpuRoot: string | undefined;
  /** The same for the controllers that count CPU time and memory; version 2 counts CPU time without a controller. */
  readonly cpuacctRoot: string | undefined;
  readonly memoryRoot: string | undefined;
  /** The controller of huge pages is there. Runtimes look at the same places. */
  readonly hasHugetlb: boolean;
}

/**
 * Finds the hierarchy of cpusets. Version 1 wins when its cpuset controller is mounted, also on hybrid hosts with a
 * version 2 hierarchy at `unified`: a controller is in one hierarchy only.
 *
 * Throws CgroupError when neither version offers cpusets below the root.
 */
export function findHierarchies(cgroupRoot: string): Hierarchies {
  const v1Root = join(cgroupRoot, 'cpuset');
  if (existsSync(join(v1Root, 'cpuset.cpus')) && existsSync(join(v1Root, 'tasks'))) {
    const find = (file: string, ...names: readonly string[]): string | undefined =>
      names.map((name) => join(cgroupRoot, name)).find((path) => existsSync(join(path, file)));
    return {
      version: 1,
      cpusetRoot: v1Root,
      cpuRoot: find('cpu.shares', 'cpu', 'cpu,cpuacct', 'cpuacct,cpu'),
      cpuacctRoot: find('cpuacct.usage', 'cpuacct', 'cpu,cpuacct', 'cpuacct,cpu'),
      memoryRoot: find('memory.usage_in_bytes', 'memory'),
      hasHugetlb: existsSync(join(cgroupRoot, 'hugetlb')),
    };
  }
  const path = join(cgroupRoot, 'cgroup.controllers');
  const text = readIfThere(path)?.trim();
  if (text === undefined) {
    throw new CgroupError(
      `${cgroupRoot}: neither cpuset/cpuset.cpus (cgroup version 1) nor cgroup.controllers (version 2) is there; ` +
        `give the mount point of the node's cgroups with --cgroup-root`,
    );
  }
  const controllers = text.split(' ');
  if (!controllers.includes('cpuset')) {
    throw new CgroupError(
      `${path}: read "${text}" without "cpuset"; cpusetd needs the cpuset controller in the root of the hierarchy: ` +
        `mount the node's own /sys/fs/cgroup into the pod, or enable CONFIG_CPUSETS in the kernel`,
    );
  }
  return {
    version: 2,
    cpusetRoot: cgroupRoot,
    cpuRoot: cgroupRoot,
    cpuacctRoot: cgroupRoot,
    memoryRoot: cgroupRoot,
    hasHugetlb: controllers.includes('hugetlb'),
  };
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
