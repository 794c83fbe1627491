import { dirname } from 'node:path';
import type { Kubepods } from '../../core/inference/kubepods';
import type { CpuBound } from '../../core/topology';
import type { CgroupFailure } from './cgroup-file';
import { isList, type CpusetFiles } from './cpuset-files';

export type BoundReading = Found | CgroupFailure;

/** `unread`: the reason why a class of pods could not be read; it may have fewer. */
type Found = { readonly kind: 'found'; readonly unread?: string } & CpuBound;

/**
 * Reads the CPUs that every pod of Kubernetes can have: those of the root of the pods, else those of the nearest parent
 * that exists and has cpusets. On version 1 a class of pods may have fewer than the root, and a container gets nothing
 * that a cgroup above it lacks: the kernel takes a CPU that goes offline out of both, and returns it to neither.
 */
export function readBound(cpusets: CpusetFiles, { root, burstable, besteffort }: Kubepods): BoundReading {
  const ofRoot = readNearest(cpusets, root);
  if (ofRoot.kind !== 'found' || cpusets.hierarchies.version === 2) return ofRoot;
  let narrowest: Found = ofRoot;
  let unread: string | undefined;
  for (const cgroup of [burstable, besteffort]) {
    const cpus = cpusets.readEffectiveOf(cgroup);
    if (!isList(cpus)) {
      if (cpus.kind !== 'gone') unread ??= cpus.because;
    } else if (!cpus.isEmpty && !narrowest.cpus.isSubsetOf(cpus))
      narrowest = { kind: 'found', cgroup, cpus: cpus.intersect(narrowest.cpus) };
  }
  return unread === undefined ? narrowest : { ...narrowest, unread };
}

/** Names the outermost cgroup with the same CPUs: the one above it has more. */
function readNearest(cpusets: CpusetFiles, podsRoot: string): BoundReading {
  let found: Found | undefined;
  for (let cgroup = podsRoot; ; cgroup = dirname(cgroup)) {
    const cpus = cpusets.readEffectiveOf(cgroup);
    if (!isList(cpus)) {
      if (found) return found;
      const isAbsent = cpus.kind === 'gone' || cpus.errno === 'ENOENT'; // version 2: cpusets are not enabled there
      if (!isAbsent) return cpus;
      if (cgroup === '/')
        return cpus.kind === 'gone'
          ? { kind: 'error', errno: 'ENOENT', because: `there is no cgroup ${podsRoot} and none above it` }
          : cpus;
      continue;
    }
    if (found && !cpus.equals(found.cpus)) return found;
    // Version 1: a new cgroup has no CPUs before somebody gives it those of its parent, as every runtime does.
    if (!cpus.isEmpty) found = { kind: 'found', cgroup, cpus };
    if (cgroup === '/') return found ?? { kind: 'found', cgroup, cpus };
  }
}
