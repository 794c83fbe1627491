import type { HugePages } from '../huge-pages';
import type { Assignment } from './assignment';
import type { ContainerInfo } from './events';
import type { NodeView } from './node-view';
import { specOfPod } from './pod-presence';
import { findContainerSpec, runtimeUidOf, type ContainerSpec, type PodSpec } from './pod-spec';
import { KINDS } from './pool-view';
import type { AskingContainer } from './promised-huge-pages';

/**
 * The huge pages that a container asks for: those in its pod's spec, else those of its message. containerd leaves them
 * out of its messages unless its operator sets `disable_hugetlb_controller` to false. The kubelet adds pages of the pod
 * as a whole to the message of each container that has no limit of its own; they belong to none of them.
 */
export function askedHugePages(
  spec: PodSpec | undefined,
  { name, resources }: Pick<ContainerInfo, 'name' | 'resources'>,
): HugePages | undefined {
  const own = findContainerSpec(spec, name);
  return own ? own.limitHugePages : resources.hugePages;
}

/** Containers and pods that may ask for huge pages: containers by their messages, pods by their specs. */
export interface AskingKeys {
  readonly containers: Iterable<string>;
  readonly specs: Iterable<string>;
}

/**
 * Finds the containers that ask for huge pages beside this one, by pod and in the order of its spec: those that run,
 * and those whose CPUs are kept until they are created, or created again. Those of its own pod that do not run at the
 * same time as it are left out.
 */
export function listAsking(
  view: NodeView,
  { containers, specs }: AskingKeys,
  beside?: Pick<Assignment, 'podUid' | 'containerName'>,
): readonly (readonly AskingContainer[])[] {
  const uids = new Set([...containers].map((id) => view.containers.get(id)!.podUid));
  for (const uid of specs) uids.add(uid).add(runtimeUidOf(view.podSpecs.get(uid)!));
  return [...uids].map((podUid) => {
    // The annotations of a mirror can be forged: this says which spec the pod has.
    const spec = specOfPod(view, podUid);
    const asking = listAskingIn(view, podUid, spec);
    return podUid === beside?.podUid
      ? asking.filter(({ name }) => isAlongside(spec, beside.containerName, name))
      : asking;
  });
}

function listAskingIn(view: NodeView, podUid: string, spec: PodSpec | undefined): AskingContainer[] {
  const asking: AskingContainer[] = [];
  const add = (
    name: string,
    more: Pick<AskingContainer, 'placement' | 'promise'>,
    hugePages: HugePages | undefined,
  ) => {
    if (hugePages) asking.push({ name, kind: findContainerSpec(spec, name)?.kind ?? 'app', ...more, hugePages });
  };
  const living = new Set<string>();
  for (const container of view.containersOf(podUid)) {
    living.add(container.name);
    add(container.name, container, askedHugePages(spec, container));
  }
  for (const { containerName, kind, cpus, mems } of view.assignmentsOf(podUid)) {
    const own = findContainerSpec(spec, containerName);
    if (!living.has(containerName) && own?.ended === false)
      add(containerName, { placement: KINDS[kind].placement, promise: { cpus, mems } }, own.limitHugePages);
  }
  const order = new Map(spec?.containers.map(({ name }, i) => [name, i]));
  return asking.sort((a, b) => (order.get(a.name) ?? 0) - (order.get(b.name) ?? 0));
}

/** True for another container of the pod that runs at the same time, by the kinds of both. */
function isAlongside(spec: PodSpec | undefined, name: string, other: string): boolean {
  if (name === other) return false;
  const [own, that] = [findContainerSpec(spec, name), findContainerSpec(spec, other)];
  if (!spec || !own || !that) return true;
  const isEarlier = (a: ContainerSpec, b: ContainerSpec) => spec.containers.indexOf(a) < spec.containers.indexOf(b);
  switch (own.kind) {
    case 'init':
      return that.kind === 'sidecar' && isEarlier(that, own);
    case 'sidecar':
      return that.kind !== 'init' || isEarlier(own, that);
    case 'app':
      return that.kind !== 'init';
  }
}
