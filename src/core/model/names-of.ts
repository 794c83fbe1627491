import type { Container } from './container';
import type { ContainerInfo, PodInfo } from './events';
import type { NodeView } from './node-view';

/** The names of a container in the log. */
export interface Names {
  readonly podUid: string;
  /** `namespace/name`. */
  readonly pod: string;
  readonly container: string;
  readonly containerId: string;
}

/** Names a container in an event or a line of the log. */
export function namesOf(
  { uid, namespace, name }: Pick<PodInfo, 'uid' | 'namespace' | 'name'>,
  { id, name: container }: Pick<ContainerInfo, 'id' | 'name'>,
): Names {
  return { podUid: uid, pod: `${namespace}/${name}`, container, containerId: id };
}

/** Names a container of the model, also after its pod was removed. */
export function namesIn(
  view: Pick<NodeView, 'pods' | 'podsOf' | 'assignmentsOf'>,
  container: Pick<Container, 'id' | 'name' | 'podUid' | 'sandboxId'>,
): Names {
  const { podUid: uid, sandboxId } = container;
  const pod = view.pods.get(sandboxId) ?? view.podsOf(uid)[0];
  const held = pod ? undefined : view.assignmentsOf(uid)[0];
  const { namespace = held?.podNamespace ?? '', name = held?.podName ?? '' } = pod ?? {};
  return namesOf({ uid, namespace, name }, container);
}
