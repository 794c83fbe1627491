import { kubepodsOfKubelet, kubepodsOfParent, type KubeletCgroups, type Kubepods } from '../../core/inference/kubepods';
import type { PodInfo } from '../../core/model/events';
import type { CpuBound } from '../../core/topology';
import { CpuSet } from '../../core/cpuset';
import type { BoundReading, Cgroups } from '../../host';

type ParentOfPod = Pick<PodInfo, 'cgroupParent' | 'uid'>;

/** The place of the kubelet's pods where it makes no cgroups for them, or none that could be named. */
const ANYWHERE: Kubepods = { root: '/', burstable: '/', besteffort: '/' };

/**
 * The cgroups that hold Kubernetes' pods: those that its pods are in, and before there are any, those that the kubelet's configuration names. Without
 * it the usual ones of both drivers.
 */
export function listKubepods(pods: Iterable<ParentOfPod>, kubelet: KubeletCgroups = {}): readonly Kubepods[] {
  const known = new Map<string, Kubepods>();
  for (const { cgroupParent, uid } of pods) {
    const found = kubepodsOfParent(cgroupParent, uid);
    if (found) known.set(found.root, found);
  }
  if (known.size > 0) return [...known.values()];
  const named = kubepodsOfKubelet(kubelet);
  return named.length > 0 ? named : [ANYWHERE];
}

/** Reads the CPUs that pods in any of these cgroups can have. The first that can't be read is the result. */
export function readBoundOf(cgroups: Pick<Cgroups, 'readBound'>, kubepods: readonly Kubepods[]): BoundReading {
  let [cgroup, cpus]: [string | undefined, CpuSet] = [undefined, CpuSet.empty];
  for (const each of kubepods) {
    const reading = cgroups.readBound(each);
    if (reading.kind !== 'found') return reading;
    if (cgroup === undefined || !cpus.isSubsetOf(reading.cpus))
      [cgroup, cpus] = [reading.cgroup, cgroup === undefined ? reading.cpus : cpus.intersect(reading.cpus)];
  }
  return { kind: 'found', cgroup: cgroup ?? '/', cpus };
}

/** The bound that a reading stands for on a machine with these online CPUs: none where all may be used. */
export type JudgedBound =
  { readonly ok: true; readonly bound: CpuBound | undefined } | { readonly ok: false; readonly because: string };

/** A bound without an online CPU is wrong or about to change: processes run in these cgroups. */
export function judgeBound(online: CpuSet, reading: BoundReading): JudgedBound {
  if (reading.kind !== 'found') return { ok: false, because: reading.because };
  const { cgroup, cpus } = reading;
  if (!online.overlaps(cpus))
    return {
      ok: false,
      because: `the cgroup ${cgroup} has ${cpus.isEmpty ? 'no CPUs' : `CPUs ${cpus.toString()} only`}, and none of them is online`,
    };
  return { ok: true, bound: online.isSubsetOf(cpus) ? undefined : { cgroup, cpus } };
}
