import { keyOf, type Assignment } from '../model/assignment';
import { KINDS } from '../model/pool-view';
import type { NodeView } from '../model/node-view';
import { findContainerSpec, type ContainerSpec, type PodSpec } from '../model/pod-spec';
import { findSpec } from '../model/spec-book';
import type { Draft } from './draft';
import { entitledBySpec } from './entitlement';

/**
 * Gives back CPUs that lie idle in a pod as soon as it is certain that none of its containers can need them: the one that had
 * them has ended for good, and whoever is still to come has CPUs of its own or is not entitled to any. Without the pod's
 * spec nothing is certain, and they stay until the pod goes.
 *
 * It is certain by what is known of the pod alone: only the pods about which something changed are looked at.
 */
export function returnIdle(draft: Draft): void {
  const { model } = draft;
  if (model.podSpecs.size === 0) return;
  for (const podUid of draft.podUids) {
    const idle = model.assignmentsOf(podUid).filter(({ containerId }) => containerId === null);
    // An imported assignment knows the uid only.
    const spec = idle
      .map(({ podNamespace: namespace, podName: name }) => findSpec(model, { uid: podUid, namespace, name }))
      .find((found) => found !== undefined);
    if (spec) returnOf(draft, podUid, spec, idle);
  }
}

function returnOf(draft: Draft, podUid: string, spec: PodSpec, idle: readonly Assignment[]): void {
  const needs = needsOf(draft.model, spec, podUid);
  for (const assignment of idle) {
    if (needs(assignment.containerName)) continue;
    const { podNamespace: namespace, podName: name, containerName, cpus } = assignment;
    draft.put({ kind: 'drop-assignment', key: keyOf(assignment) });
    draft.report({
      kind: 'released',
      who: { podUid, pod: `${namespace}/${name}`, container: containerName },
      cpus,
      because: 'the container has ended, and no other one of its pod can need its CPUs any more',
    });
  }
}

/** Tells of containers of the pod whether the idle CPUs that they had may be needed. */
function needsOf(view: NodeView, spec: PodSpec, podUid: string): (containerName: string) => boolean {
  const living = new Set(view.containersOf(podUid).map(({ name }) => name));
  if (spec.finished) return (containerName) => living.has(containerName);
  // App containers are made when all init containers have ended, whether or not the API server says so yet.
  const appsBegan = spec.containers.some(({ name, kind, ended }) => kind === 'app' && (ended || living.has(name)));
  const isOver = ({ kind, ended }: ContainerSpec): boolean => ended || (kind === 'init' && appsBegan);
  const someoneLacks = spec.containers.some(
    (container) => !isOver(container) && !living.has(container.name) && lacksCpus(view, spec, podUid, container),
  );
  return (containerName) => {
    const had = findContainerSpec(spec, containerName);
    return someoneLacks || !had || living.has(containerName) || !isOver(had);
  };
}

/**
 * True where a container that is still to come is entitled to CPUs, and does not have as many of its own: another container of its pod
 * may have taken some.
 */
function lacksCpus(view: NodeView, spec: PodSpec, podUid: string, container: ContainerSpec): boolean {
  const entitled = entitledBySpec(view.settings, spec, container);
  if (!entitled) return false;
  const { policy, count } = entitled;
  const own = view.assignments.get(keyOf({ podUid, containerName: container.name }));
  if (own?.kind !== policy || own.requested < count) return true;
  return KINDS[policy].claim !== 'numa-nodes' && own.scope === undefined && own.cpus.size < count;
}
