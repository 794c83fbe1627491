import { posix } from 'node:path';
import type { CpuSet } from '../../core/cpuset';
import type { PodInfo } from '../../core/model/events';
import { cgroupPathOfParent, type Cgroups, type WriteOutcome } from '../../host';

/**
 * The pod's cgroup, which is the parent of the container's: `.../pod<uid>`, or `...-pod<uid>.slice` under systemd, where
 * the dashes of the uid are underscores. Undefined where the parent is something else, which then is not the pod's
 * alone.
 */
export function podCgroupOf(containerDir: string, podUid: string): string | undefined {
  const parent = posix.dirname(containerDir);
  const name = posix.basename(parent);
  const isPods = name === `pod${podUid}` || name.endsWith(`-pod${podUid.replaceAll('-', '_')}.slice`);
  return isPods && podUid !== '' ? parent : undefined;
}

/**
 * Lets the cgroups that this pod's containers are in have these CPUs too; see Cgroups.widen. Version 1 needs that before
 * a container can start on a CPU that was offline, also where it was offline long before the pod: its QoS class lacks it.
 */
export function widenPodCgroup(cgroups: Cgroups, { cgroupParent }: PodInfo, cpus: CpuSet): WriteOutcome {
  if (cgroups.version === 2 || cgroupParent === '') return { kind: 'ok', changed: false };
  const at = cgroupPathOfParent(cgroupParent);
  if (at.kind === 'refused') return { kind: 'refused', errno: 'EINVAL', because: at.because };
  return cgroups.widen(at.path, cpus);
}
