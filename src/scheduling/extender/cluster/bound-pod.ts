import { looksAtNames, type Announcement, type NodeOffer } from '../../../core/fit';
import { announcementOf, readPod } from '../../../kube';

/** A bound pod with a topology result. */
export interface BoundPod {
  readonly uid: string;
  readonly node: string;
  readonly namespace: string;
  readonly name: string;
  /** Its announcement, without its names. Pods of one template share the object. */
  readonly announced: Announcement;
}

/** The announcement of a pod as a node with these rules looks at it. */
export function announcedTo(rules: NodeOffer['rules'], { announced, namespace, name }: BoundPod): Announcement {
  if (!looksAtNames(rules)) return announced;
  return { ...announced, spec: { ...announced.spec, namespace, name } };
}

/**
 * Most announcements that are remembered, and the longest as text: 8 MB of texts, and objects of a few times as much.
 */
const MAX_SHARED = 2_048;
const MAX_LENGTH = 4_096;

/** Reads bound pods. A cluster has many pods and few templates: what is equal is kept once. */
export class BoundPodReader {
  /** By the text of the announcement; those that were used last are the last ones. */
  private readonly shared = new Map<string, Announcement>();

  /** Undefined for a pod that is not bound, or announces nothing. */
  read(object: unknown): BoundPod | undefined {
    const pod = readPod(object);
    const announced = pod && pod.node !== '' ? announcementOf(pod) : undefined;
    if (!pod || !announced) return undefined;
    const { uid, node, namespace, name } = pod;
    return { uid, node, namespace, name, announced: this.share(announced) };
  }

  private share({ spec, zones }: Announcement): Announcement {
    const announced = { spec: { ...spec, uid: '', namespace: '', name: '' }, zones };
    const text = JSON.stringify([announced.spec, [...zones].map(([zone, amounts]) => [zone, ...amounts])]);
    if (text.length > MAX_LENGTH) return announced;
    const known = this.shared.get(text) ?? announced;
    this.shared.delete(text);
    this.shared.set(text, known);
    if (this.shared.size > MAX_SHARED) this.shared.delete(this.shared.keys().next().value!);
    return known;
  }
}
