import { kubepodsOfKubelet, kubepodsOfParent, type KubeletCgroups, type Kubepods } from '../../core/inference/kubepods';
import type { PodInfo } from '../../core/model/events';
import type { CpuBound } from '../../core/topology';
import type { CpuSet } from '../../core/cpuset';
import type { Cgroups } from '../../host';

type ParentOfPod = Pick<PodInfo, 'cgroupParent' | 'uid'>;

/** The place of the kubelet's pods where it makes no cgroups for them, or none that could be named. */
const ANYWHERE: Kubepods = { root: '/', burstable: '/', besteffort: '/' };

/**
 * The cgroups that hold Kubernetes' pods: those that its pods are in, and before there are any, those that the
 * kubelet's configuration names. Without it the usual ones of both drivers.
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

/** The bound of pods on a machine: none where they can have all online CPUs. */
export type JudgedBound =
  | { readonly ok: true; readonly bound: CpuBound | undefined }
  /** `bound`: of the cgroups that could be read all the same. */
  | { readonly ok: false; readonly because: string; readonly bound: CpuBound | undefined };

/**
 * Reads the CPUs that pods in each of these cgroups can have. One that can't be read is reported, and hides no other.
 */
export function readBoundOf(
  cgroups: Pick<Cgroups, 'readBound'>,
  kubepods: readonly Kubepods[],
  online: CpuSet,
): JudgedBound {
  let bound: CpuBound | undefined;
  let because: string | undefined;
  for (const each of kubepods) {
    const reading = cgroups.readBound(each);
    if (reading.kind === 'found') {
      const problem = findProblem(reading, online, bound);
      if (problem === undefined) bound = narrow(bound, reading, online);
      because ??= problem ?? reading.unread;
    } else because ??= reading.because;
  }
  return because === undefined ? { ok: true, bound } : { ok: false, because, bound };
}

/**
 * A bound without an online CPU, also together with the others, is wrong or about to change: processes run in these
 * cgroups.
 */
function findProblem({ cgroup, cpus }: CpuBound, online: CpuSet, others: CpuBound | undefined): string | undefined {
  if (!online.overlaps(cpus))
    return `the cgroup ${cgroup} has ${cpus.isEmpty ? 'no CPUs' : `CPUs ${cpus.toString()} only`}, and none of them is online`;
  if (others && !online.overlaps(cpus.intersect(others.cpus)))
    return `the cgroups ${others.cgroup} and ${cgroup} have no online CPU in common`;
  return undefined;
}

/** Both bounds together; the first alone where no online CPU is in both. */
export function narrow(bound: CpuBound | undefined, more: CpuBound | undefined, online: CpuSet): CpuBound | undefined {
  if (!more || online.isSubsetOf(more.cpus) || bound?.cpus.isSubsetOf(more.cpus) === true) return bound;
  const { cgroup } = more;
  const cpus = bound ? bound.cpus.intersect(more.cpus) : more.cpus;
  return online.overlaps(cpus) ? { cgroup, cpus } : bound;
}
