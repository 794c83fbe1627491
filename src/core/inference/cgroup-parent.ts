import type { QosClass } from '../model/pod-kinds';

/** The facts that the kubelet writes into the name of a pod's cgroup. */
export interface CgroupParent {
  readonly qos: QosClass;
  /** As the kubelet knows it, dashes included; 32 hex digits without dashes for a pod from a manifest file. */
  readonly podUid: string;
}

const UID = '[0-9a-f]{8}[-_]?[0-9a-f]{4}[-_]?[0-9a-f]{4}[-_]?[0-9a-f]{4}[-_]?[0-9a-f]{12}';
const LOOKS_LIKE_UID = new RegExp(`^${UID}$`, 'i');
const UID_LENGTH = 36;
const MAX_LENGTH = 4096;

interface Patterns {
  readonly systemd: RegExp;
  readonly cgroupfs: RegExp;
}

/** Compiled once, for every pod with an ordinary UID: compiling takes 200 µs, more than the rest of a decision. */
const PATTERNS = compile(UID);

/**
 * Reads QoS class and pod UID out of a pod's cgroup parent, as the kubelet's two drivers write it:
 * `/kubepods/burstable/pod<uid>` (cgroupfs), `kubepods-burstable-pod<uid_with_underscores>.slice` (systemd). The part
 * in front (a cgroup root, a nested kubelet) does not matter, and of a systemd path the last element is enough.
 *
 * `podUid`, when known, is accepted as the UID even if it does not look like one. Undefined for a parent that is not a
 * pod cgroup of the kubelet, the empty one of `--cgroups-per-qos=false` included.
 */
export function parseCgroupParent(parent: string, podUid?: string): CgroupParent | undefined {
  if (parent.length > MAX_LENGTH) return undefined;
  if (podUid?.length === UID_LENGTH && parent.endsWith(podUid) && !podUid.includes('/')) {
    // The most common form is read without the patterns, because the runtime waits.
    const above = parent.slice(0, -UID_LENGTH);
    if (above.endsWith('/kubepods/burstable/pod')) return { qos: 'Burstable', podUid };
    if (above.endsWith('/kubepods/besteffort/pod')) return { qos: 'BestEffort', podUid };
    if (above.endsWith('/kubepods/pod')) return { qos: 'Guaranteed', podUid };
  }
  const pod = locatePod(parent, podUid);
  return pod && { qos: pod.qos, podUid: pod.podUid };
}

/** A pod's cgroup parent, with the cgroup of all pods in it. */
export interface LocatedPod extends CgroupParent {
  readonly driver: 'systemd' | 'cgroupfs';
  /**
   * The cgroup of all pods: a path that begins with a slash, under systemd the name of the slice without its suffix.
   */
  readonly root: string;
}

/** Reads a parent as `parseCgroupParent` does, and finds the kubelet's own cgroup in it. */
export function locatePod(parent: string, podUid?: string): LocatedPod | undefined {
  if (parent.length > MAX_LENGTH) return undefined;
  const { systemd, cgroupfs } = patternsFor(podUid);
  const elements = parent.split('/').filter((element) => element !== '');
  const pathTo = (last: number): string => `/${elements.slice(0, last + 1).join('/')}`;
  for (let i = elements.length - 1; i >= 0; i--) {
    const [, root, sliceQos, sliceUid] = systemd.exec(elements[i]!) ?? [];
    if (root !== undefined && sliceUid !== undefined)
      return { qos: qosNamed(sliceQos), podUid: sliceUid.replaceAll('_', '-'), driver: 'systemd', root };

    const [, uid] = cgroupfs.exec(elements[i]!) ?? [];
    if (uid === undefined) continue;
    const above = elements[i - 1];
    if (above === 'kubepods') return { qos: 'Guaranteed', podUid: uid, driver: 'cgroupfs', root: pathTo(i - 1) };
    if (elements[i - 2] === 'kubepods' && (above === 'burstable' || above === 'besteffort')) {
      return { qos: qosNamed(above), podUid: uid, driver: 'cgroupfs', root: pathTo(i - 2) };
    }
  }
  return undefined;
}

function patternsFor(podUid: string | undefined): Patterns {
  if (!podUid || LOOKS_LIKE_UID.test(podUid)) return PATTERNS;
  return compile(`${UID}|${escapeRegExp(podUid)}|${escapeRegExp(podUid.replaceAll('-', '_'))}`);
}

function compile(uid: string): Patterns {
  return {
    systemd: new RegExp(`^((?:.*-)?kubepods)(?:-(burstable|besteffort))?-pod(${uid})\\.slice$`, 'i'),
    cgroupfs: new RegExp(`^pod(${uid})$`, 'i'),
  };
}

function qosNamed(text: string | undefined): QosClass {
  if (text === undefined) return 'Guaranteed';
  return text.toLowerCase() === 'burstable' ? 'Burstable' : 'BestEffort';
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
