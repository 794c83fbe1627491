import { locatePod } from './cgroup-parent';

/**
 * The cgroups that the kubelet makes for all its pods, as paths below the root of the hierarchy. Everything at `root`
 * and below it is Kubernetes' own; everything above it belongs to somebody else.
 */
export interface Kubepods {
  readonly root: string;
  readonly burstable: string;
  readonly besteffort: string;
}

export type CgroupDriver = 'systemd' | 'cgroupfs';

/** The part of the kubelet's configuration that says where its pods are. */
export interface KubeletCgroups {
  /** `--cgroup-root`; absent or empty = the root of the hierarchy. */
  readonly cgroupRoot?: string;
  /** Absent = not known: newer kubelets ask the runtime. */
  readonly cgroupDriver?: CgroupDriver;
  /** False: the kubelet makes no cgroups for pods. Absent = true. */
  readonly cgroupsPerQos?: boolean;
}

/**
 * Names Kubernetes' cgroups by the cgroup parent of one of its pods: `/system/kubepods/burstable/pod<uid>` gives
 * `/system/kubepods`. Of a slice the last element decides, because systemd nests it by its name. Undefined for a parent
 * that is no pod's of the kubelet.
 */
export function kubepodsOfParent(cgroupParent: string, podUid?: string): Kubepods | undefined {
  const pod = locatePod(cgroupParent, podUid);
  if (pod === undefined) return undefined;
  return pod.driver === 'systemd' ? ofSlice(pod.root) : ofDirectory(pod.root);
}

/**
 * Names them by the kubelet's configuration: the one of its driver, or both where the driver is not known. A dash of
 * the cgroup root becomes an underscore under systemd. Empty where the kubelet makes none, and for a root that leaves
 * the hierarchy.
 */
export function kubepodsOfKubelet({
  cgroupRoot = '',
  cgroupDriver,
  cgroupsPerQos,
}: KubeletCgroups): readonly Kubepods[] {
  if (cgroupsPerQos === false) return [];
  const elements = cgroupRoot.split('/').filter((element) => element !== '');
  const drivers: readonly CgroupDriver[] = cgroupDriver === undefined ? ['systemd', 'cgroupfs'] : [cgroupDriver];
  return drivers.flatMap((driver) => {
    const named =
      driver === 'systemd'
        ? ofSlice([...elements.map((element) => element.replaceAll('-', '_')), 'kubepods'].join('-'))
        : ofDirectory(['', ...elements, 'kubepods'].join('/'));
    return named ?? [];
  });
}

/**
 * True for a path that ends in the name of a pod's cgroup, by either driver: another one within `Kubepods` is not the
 * kubelet's.
 */
export function isPodCgroup(path: string): boolean {
  return /(?:^|\/)pod[^/]+$|-pod[^/-]+\.slice$/.test(path);
}

/** `x-kubepods`, without its suffix. */
function ofSlice(name: string): Kubepods | undefined {
  const root = expandSlice(`${name}.slice`);
  if (root === undefined || !isSafe(root)) return undefined;
  return {
    root,
    burstable: `${root}/${name}-burstable.slice`,
    besteffort: `${root}/${name}-besteffort.slice`,
  };
}

function ofDirectory(root: string): Kubepods | undefined {
  return isSafe(root) ? { root, burstable: `${root}/burstable`, besteffort: `${root}/besteffort` } : undefined;
}

/** The path stays in the hierarchy. */
function isSafe(path: string): boolean {
  return !/[\u0000-\u001f\u007f]/.test(path) && !path.split('/').some((element) => element === '.' || element === '..');
}

/**
 * `a-b.slice` -> `/a.slice/a-b.slice`, and the root for `-.slice`; see systemd.slice(5). Undefined for a text that is
 * no name of a slice.
 */
export function expandSlice(slice: string): string | undefined {
  if (slice === '-.slice') return '';
  if (!slice.endsWith('.slice') || slice.includes('/')) return undefined;
  const parts = slice.slice(0, -'.slice'.length).split('-');
  if (parts.includes('')) return undefined;
  return parts.map((_, i) => `/${parts.slice(0, i + 1).join('-')}.slice`).join('');
}
