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
/**
 * The kubelet's own cgroup is at most so deep, where it runs in a container itself; its pods' are at most so deep below
 * it.
 */
const MAX_DEPTH = { above: 4, pods: 5 };
/** Most folders that are looked at. */
const MAX_LOOKED = 20_000;

/**
 * The cpusets of the root, of the cgroups below it, and of the kubelet's pods wherever they are, in the order of their
 * levels. No other cgroup is named. `isCut`: there are more than `most`. Throws CgroupError when there are no cpusets.
 */
export function listCpusets(
  cgroupRoot: string,
  most: number,
): { readonly cgroups: readonly CpusetListing[]; readonly isCut: boolean } {
  const { version, cpusetRoot, cpuRoot } = findHierarchies(cgroupRoot);
  const names = FILES[version];
  const cgroups: CpusetListing[] = [];
  let level: readonly Visit[] = [{ cgroup: '/', podsDepth: 0 }];
  let looked = 0;
  for (let depth = 0; level.length > 0; depth++) {
    const next: Visit[] = [];
    for (const { cgroup, podsDepth } of level) {
      const isPods = podsDepth > 0;
      if (cgroups.length === most || ++looked > MAX_LOOKED) return { cgroups, isCut: true };
      if (depth <= 1 || isPods)
        cgroups.push({
          cgroup,
          files: {
            ...readFiles(join(cpusetRoot, cgroup), names.cpuset),
            ...(cpuRoot !== undefined && readFiles(join(cpuRoot, cgroup), names.cpu)),
          },
        });
      if (isPods ? podsDepth > MAX_DEPTH.pods : depth >= MAX_DEPTH.above) continue;
      for (const name of listBelow(join(cpusetRoot, cgroup)))
        next.push({ cgroup: join(cgroup, name), podsDepth: isPods || name.includes('kubepods') ? podsDepth + 1 : 0 });
    }
    level = next;
  }
  return { cgroups, isCut: false };
}

interface Visit {
  readonly cgroup: string;
  /** 1 for the kubelet's own cgroup, more below it, 0 elsewhere. */
  readonly podsDepth: number;
}

function readFiles(directory: string, names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const read = readBounded(join(directory, name), MAX_BYTES);
      return read.ok ? [[name, read.text.trim()]] : [];
    }),
  );
}

function listBelow(directory: string): readonly string[] {
  try {
    const entries = readdirSync(directory, { withFileTypes: true });
    return entries
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name)
      .sort();
  } catch {
    return []; // removed meanwhile
  }
}
