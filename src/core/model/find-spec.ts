import { oncePer } from '../once-per';
import type { PodInfo } from './events';
import type { NodeView } from './node-model';
import { runtimeUidOf, type ContainerSpec, type PodSpec } from './pod-spec';

export { runtimeUidOf };

/**
 * What the API server told of a pod of the runtime. Annotations can be forged: a mirror counts only for a pod that has
 * the same namespace and name, which nobody else can have, and never against a spec with the pod's own uid.
 */
export function findSpec(
  { podSpecs }: Pick<NodeView, 'podSpecs'>,
  { uid, namespace, name }: Pick<PodInfo, 'uid' | 'namespace' | 'name'>,
): PodSpec | undefined {
  return podSpecs.get(uid) ?? podSpecs.named(namespace, name).find((spec) => runtimeUidOf(spec) === uid);
}

/** The pod with the annotations that the API server has now; the runtime tells those that the sandbox was made with. */
export function asSpecSays(view: Pick<NodeView, 'podSpecs'>, pod: PodInfo): PodInfo {
  const spec = findSpec(view, pod);
  return spec && spec.annotations !== pod.annotations ? { ...pod, annotations: spec.annotations } : pod;
}

/** The container of this name in a pod's spec. */
export function findContainerSpec(spec: PodSpec | undefined, name: string): ContainerSpec | undefined {
  return spec && byName(spec.containers).get(name);
}

/** A pod may have thousands of containers: they are not searched for each of them. */
const byName = oncePer((containers: PodSpec['containers']): ReadonlyMap<string, ContainerSpec> => {
  const found = new Map<string, ContainerSpec>();
  for (const container of containers) if (!found.has(container.name)) found.set(container.name, container);
  return found;
});
