import type { PodInfo } from './events';
import type { NodeView } from './node-model';
import type { ContainerSpec, PodSpec } from './pod-spec';

/**
 * The uid that the runtime knows the pod by. A static pod is made by the kubelet from a file; what the API server has is its
 * mirror, under a uid of its own, with the kubelet's in an annotation.
 */
export function runtimeUidOf({ uid, annotations }: PodSpec): string {
  const isMirror = Object.hasOwn(annotations, 'kubernetes.io/config.mirror');
  const hash = Object.hasOwn(annotations, 'kubernetes.io/config.hash') ? annotations['kubernetes.io/config.hash'] : '';
  return isMirror && hash ? hash : uid;
}

/**
 * What the API server told of a pod of the runtime. Annotations can be forged: a mirror counts only for a pod that has
 * the same namespace and name, which nobody else can have, and never against a spec with the pod's own uid.
 */
export function findSpec(
  { podSpecs }: Pick<NodeView, 'podSpecs'>,
  { uid, namespace, name }: Pick<PodInfo, 'uid' | 'namespace' | 'name'>,
): PodSpec | undefined {
  const own = podSpecs.get(uid);
  if (own) return own;
  for (const spec of podSpecs.values())
    if (runtimeUidOf(spec) === uid && spec.namespace === namespace && spec.name === name) return spec;
  return undefined;
}

/** The pod with the annotations that the API server has now; the runtime tells those that the sandbox was made with. */
export function asSpecSays(view: Pick<NodeView, 'podSpecs'>, pod: PodInfo): PodInfo {
  const spec = findSpec(view, pod);
  return spec ? { ...pod, annotations: spec.annotations } : pod;
}

/** The container of this name in a pod's spec. */
export function findContainerSpec(spec: PodSpec | undefined, name: string): ContainerSpec | undefined {
  return spec?.containers.find((container) => container.name === name);
}
