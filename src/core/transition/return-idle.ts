import { choosePolicy } from '../annotations';
import { keyOf, type Assignment } from '../model/assignment';
import { findContainerSpec, findSpec } from '../model/find-spec';
import type { NodeView } from '../model/node-model';
import type { ContainerSpec, PodSpec } from '../model/pod-spec';
import { SPEC_ENTITLEMENTS } from '../policy';
import type { Draft } from './draft';

/**
 * Gives back CPUs that lie idle in a pod as soon as it is certain that none of its containers can need them: the one that had
 * them has ended for good, and whoever is still to come has CPUs of its own or is not entitled to any. Without the pod's
 * spec nothing is certain, and they stay until the pod goes.
 */
export function returnIdle(draft: Draft): void {
  const { model } = draft;
  if (model.podSpecs.size === 0) return;
  const idle = [...model.assignments.values()].filter(({ containerId }) => containerId === null);
  for (const assignment of idle) {
    const { podUid: uid, podNamespace: namespace, podName: name, containerName, cpus } = assignment;
    const spec = findSpec(model, { uid, namespace, name });
    if (!spec || mayBeNeeded(model, spec, assignment)) continue;
    draft.put({ kind: 'drop-assignment', key: keyOf(assignment) });
    draft.note('info', 'released', {
      podUid: uid,
      pod: `${namespace}/${name}`,
      container: containerName,
      cpus: cpus.toString(),
      because: 'the container has ended, and no other one of its pod can need its CPUs any more',
    });
  }
}

function mayBeNeeded(view: NodeView, spec: PodSpec, { podUid, containerName }: Assignment): boolean {
  const living = new Set(
    [...view.containers.values()].filter((container) => container.podUid === podUid).map(({ name }) => name),
  );
  if (spec.finished) return living.has(containerName);
  // App containers are made when all init containers have ended, whether or not the API server says so yet.
  const appsBegan = spec.containers.some(({ name, kind, ended }) => kind === 'app' && (ended || living.has(name)));
  const isOver = ({ kind, ended }: ContainerSpec): boolean => ended || (kind === 'init' && appsBegan);

  const had = findContainerSpec(spec, containerName);
  if (!had || living.has(containerName) || !isOver(had)) return true;
  return spec.containers.some(
    (container) => !isOver(container) && !living.has(container.name) && lacksCpus(view, spec, podUid, container),
  );
}

/** Whether a container that is still to come is entitled to CPUs, and does not have as many of its own. */
function lacksCpus(view: NodeView, spec: PodSpec, podUid: string, container: ContainerSpec): boolean {
  const { policy } = choosePolicy(view.settings, spec.annotations, container.name);
  const request = SPEC_ENTITLEMENTS[policy](spec, container);
  if (policy === 'none' || request.kind !== 'exclusive') return false;
  const own = view.assignments.get(keyOf({ podUid, containerName: container.name }));
  return own?.kind !== policy || own.requested < request.count;
}
