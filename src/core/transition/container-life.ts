import { keyOf } from '../model/assignment';
import type { Container } from '../model/container';
import type { ContainerInfo, ContainerPhase, PodInfo } from '../model/events';
import { findContainerSpec } from '../model/find-spec';
import { namesIn, namesOf } from '../model/names-of';
import type { NodeView } from '../model/node-model';
import { apiHasPod, specOfPod } from './api-has-pod';
import { asAskedFor } from './as-asked-for';
import type { Draft } from './draft';
import { describe, placeContainer } from './place-container';
import { releaseWhenDone, rememberPod } from './pods';
import { adoptAsWaiting } from './waiting';

/**
 * The runtime tells how far a container has come. One that was made without us (we were away, or registering) is
 * placed now, before its process runs; a start that is told after the end is not believed.
 */
export function advanceContainer(draft: Draft, pod: PodInfo, container: ContainerInfo, phase: ContainerPhase): void {
  const known = draft.model.containers.get(container.id);
  if (known) {
    draft.put({
      kind: 'put-container',
      container: { ...known, phase, cgroupsPath: container.cgroupsPath || known.cgroupsPath },
    });
    return;
  }
  if (phase === 'running') return;
  adoptContainer(draft, pod, { ...container, phase });
}

/** Places a container that exists already. What it can't get it can't be refused: it shares. */
export function adoptContainer(draft: Draft, pod: PodInfo, container: ContainerInfo): void {
  rememberPod(draft, pod);
  const placed = placeContainer(draft, pod, asAskedFor(container));
  if (placed.kind === 'placed') draft.put({ kind: 'put-container', container: placed.container });
  else {
    if (placed.code === 'RESOURCE_EXHAUSTED') adoptAsWaiting(draft, pod, container, placed.message);
    else adoptAsShared(draft, pod, container, placed.message);
    const { because } = draft.model.containers.get(container.id)!;
    draft.report({ kind: 'shares', who: namesOf(pod, container), because, isExpected: false });
  }
}

/** Takes in a container that was made without us, in the shared pool, and says why. */
export function adoptAsShared(draft: Draft, pod: PodInfo, container: ContainerInfo, why: string): void {
  rememberPod(draft, pod);
  const standing = { placement: 'shared', entitled: 0, because: `shares: ${why}`, freshAssignment: false } as const;
  draft.put({ kind: 'put-container', container: describe(pod, container, standing) });
}

/** The process is gone. Its CPUs stay with the pod, idle, unless they were taken for a creation that failed. */
export function endContainer(draft: Draft, containerId: string): void {
  const container = draft.model.containers.get(containerId);
  if (!container) return;
  forgetContainer(draft, container);
  releaseWhenDone(draft, container.sandboxId);
}

/** The container is gone; CPUs of its own stay with the pod, unless its creation had failed and nobody knows of another try. */
export function forgetContainer(draft: Draft, container: Container): void {
  draft.put({ kind: 'drop-container', id: container.id });
  const key = keyOf({ podUid: container.podUid, containerName: container.name });
  const assignment = draft.model.assignments.get(key);
  if (assignment?.containerId !== container.id) return;
  const failedCreation = container.phase === 'creating' && container.freshAssignment;
  const who = namesIn(draft.model, container);
  const { cpus } = assignment;
  if (container.phase === 'creating' && isToCome(draft.model, container)) {
    draft.put({ kind: 'put-assignment', assignment: { ...assignment, containerId: null, planned: true } });
    const because = 'the creation failed; its CPUs stay with the pod until it is made';
    draft.report({ kind: 'planned', who, cpus, because, atCreation: false });
  } else if (failedCreation) {
    draft.put({ kind: 'drop-assignment', key });
    draft.report({ kind: 'released', who, cpus, because: 'the creation failed' });
  } else {
    draft.put({ kind: 'put-assignment', assignment: { ...assignment, containerId: null } });
    draft.report({ kind: 'idle', who, cpus, because: 'the container exited; its CPUs stay with the pod' });
  }
}

/** The API server has the pod, and the container in it: the kubelet tries again. */
function isToCome(view: NodeView, { podUid, name }: Container): boolean {
  if (!apiHasPod(view, podUid)) return false;
  const spec = findContainerSpec(specOfPod(view, podUid), name);
  return spec !== undefined && !spec.ended;
}
