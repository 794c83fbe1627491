import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readBounded } from '../../files/read-bounded';
import { findHierarchies } from './find-hierarchies';

/** A cgroup as its files have it: their texts by their names, those that are not there left out. */
export interface CpusetListing {
  /** Below the root of the hierarchy. */
  readonly cgroup: string;
  readonly files: Readonly<Record<string, string>>;
}

const FILES = {
  1: {
    cpuset: ['cpuset.cpus', 'cpuset.effective_cpus', 'cpuset.mems'],
    cpu: ['cpu.cfs_quota_us', 'cpu.cfs_period_us'],
  },
  2: {
    cpuset: ['cpuset.cpus', 'cpuset.cpus.effective', 'cpuset.mems', 'cpuset.cpus.partition', 'cgroup.subtree_control'],
    cpu: ['cpu.max'],
  },
} as const;
const MAX_BYTES = 64 * 1024;
/** The kubelet's pods are at most so deep below its own cgroup. */
const MAX_DEPTH = 6;

/**
 * The cpusets of the root, of the cgroups below it, and of all below those of the kubelet's pods, in the order of their levels. `isCut`: there
 * are more than `most`. Throws CgroupError when there are no cpusets.
 */
export function listCpusets(
  cgroupRoot: string,
  most: number,
): { readonly cgroups: readonly CpusetListing[]; readonly isCut: boolean } {
  const { version, cpusetRoot, cpuRoot } = findHierarchies(cgroupRoot);
  const names = FILES[version];
  const cgroups: CpusetListing[] = [];
  let level = ['/'];
  for (let depth = 0; level.length > 0 && depth <= MAX_DEPTH; depth++) {
    const next: string[] = [];
    for (const cgroup of level) {
      if (cgroups.length === most) return { cgroups, isCut: true };
      const files = {
        ...readFiles(join(cpusetRoot, cgroup), names.cpuset),
        ...(cpuRoot !== undefined && readFiles(join(cpuRoot, cgroup), names.cpu)),
      };
      cgroups.push({ cgroup, files });
      if (depth === 0 || cgroup.startsWith('/kubepods')) next.push(...listBelow(cpusetRoot, cgroup));
    }
    level = next;
  }
  return { cgroups, isCut: false };
}

function readFiles(directory: string, names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const read = readBounded(join(directory, name), MAX_BYTES);
      return read.ok ? [[name, read.text.trim()]] : [];
    }),
  );
}

function listBelow(root: string, cgroup: string): readonly string[] {
  try {
    const entries = readdirSync(join(root, cgroup), { withFileTypes: true });
    return entries
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => join(cgroup, name))
      .sort();
  } catch {
    return []; // removed meanwhile
  }
}
