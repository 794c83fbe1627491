import type { HugePages } from '../huge-pages';
import { oncePer } from '../once-per';
import { MIRROR, MIRROR_HASH, type ContainerKind, type QosClass } from './pod-kinds';

/**
 * A pod of this node as the API server describes it, reduced to what decides placements. Its numbers are exact, those
 * of the runtime's messages are not. Texts of annotations can be forged.
 */
export interface PodSpec {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly annotations: Readonly<Record<string, string>>;
  readonly qos: QosClass;
  /** Succeeded or Failed: no container of it will ever run again. */
  readonly finished: boolean;
  /**
   * It was asked to end: the kubelet makes no container and no sandbox of it any more. Those that it has may run for
   * long. Never set for a mirror.
   */
  readonly isBeingDeleted?: true;
  /** In the order of the pod spec, init containers first. Ephemeral containers are left out. */
  readonly containers: readonly ContainerSpec[];
  /** Pod-level resources, where the pod has them. */
  readonly podResources?: SpecResources;
}

export interface ContainerSpec extends SpecResources {
  readonly name: string;
  readonly kind: ContainerKind;
  /**
   * It has ended for good: an init container that completed, or one that its pod's restart policy does not start again.
   */
  readonly ended: boolean;
  /** Absent = it asks for none. */
  readonly limitHugePages?: HugePages;
}

/** As in the spec, after the API server's defaulting; absent = not set. */
export interface SpecResources {
  readonly requestMilliCpu?: number;
  readonly limitMilliCpu?: number;
  readonly requestMemoryBytes?: number;
  readonly limitMemoryBytes?: number;
}

/**
 * The uid that the runtime knows the pod by. The kubelet makes a static pod from a file; the API server has its mirror,
 * under a uid of its own, with the kubelet's uid in an annotation.
 */
export function runtimeUidOf({ uid, annotations }: Pick<PodSpec, 'uid' | 'annotations'>): string {
  const hash = Object.hasOwn(annotations, MIRROR_HASH) ? annotations[MIRROR_HASH] : '';
  return Object.hasOwn(annotations, MIRROR) && hash ? hash : uid;
}

/**
 * True for the uid of a static pod: the kubelet makes it of the manifest's digest, and no dashes are in it. The API
 * server makes those of all other pods itself, with dashes, so no author of a pod can have one like it. A manifest that
 * names a uid of its own is not recognized.
 */
export function isStaticPodUid(uid: string): boolean {
  return /^[0-9a-f]{32}$/.test(uid);
}

/**
 * True while the kubelet makes containers of the pod, and its sandbox again: for that time it needs CPUs that no
 * container of it has.
 */
export function isMadeAgain({ finished, isBeingDeleted }: Pick<PodSpec, 'finished' | 'isBeingDeleted'>): boolean {
  return !finished && isBeingDeleted !== true;
}

/** The container of this name in a pod's spec. */
export function findContainerSpec(spec: PodSpec | undefined, name: string): ContainerSpec | undefined {
  return spec && byName(spec.containers).get(name);
}

/** Found once for each spec: a pod may have thousands of containers. */
const byName = oncePer((containers: PodSpec['containers']): ReadonlyMap<string, ContainerSpec> => {
  const found = new Map<string, ContainerSpec>();
  for (const container of containers) if (!found.has(container.name)) found.set(container.name, container);
  return found;
});
