import type { ContainerInfo, RuntimeEvent } from '../model/events';
import { broughtKey, broughtOf, readBrought, sameBrought } from '../model/brought';
import { namesOf } from '../model/names-of';
import { resolvePod, type ResolvedPod } from '../model/spec-book';
import type { Draft } from './draft';
import { startPod } from './lifecycle';
import { placeContainer, putShared, unassign, type Refused } from './place';
import { decideCreation } from './plan-pod';
import { findAtCreation } from './pod-level';

/**
 * Decides where a container runs before it is created. With `shareBecause` it runs in the shared pool, whatever it is
 * entitled to.
 */
export function createContainer(
  draft: Draft,
  event: Extract<RuntimeEvent, { kind: 'create-container' }>,
): Refused | undefined {
  const { pod: sandbox, container, shareBecause } = event;
  const { model } = draft;
  startPod(draft, sandbox);
  findAtCreation(draft, event);
  const pod = resolvePod(model, sandbox);
  const read = readBrought(container.resources, model.topology.online);
  if (!read.ok) return { kind: 'refuse', code: 'INVALID_ARGUMENT', message: read.because };
  putBrought(draft, pod, container, read.brought);
  if (shareBecause !== undefined) {
    shareInstead(draft, pod, container, shareBecause);
    return undefined;
  }
  const placed = placeContainer(draft, pod, container, decideCreation(draft, pod, container));
  if (placed.kind === 'refuse') return placed;
  draft.put({ kind: 'put-container', container: { ...placed.container, phase: 'creating' } });
  return undefined;
}

/** Remembers what this creation brought. An earlier one of this name counts no longer. */
function putBrought(
  draft: Draft,
  { uid: podUid }: ResolvedPod,
  { name: containerName }: ContainerInfo,
  brought: Extract<ReturnType<typeof readBrought>, { ok: true }>['brought'],
): void {
  const before = broughtOf(draft.model, podUid, containerName);
  if (brought && before && sameBrought(before, brought)) return; // nothing new to be saved
  if (brought) draft.put({ kind: 'put-brought', brought: { podUid, containerName, ...brought } });
  else if (before) draft.put({ kind: 'drop-brought', key: broughtKey(before) });
}

function shareInstead(draft: Draft, pod: ResolvedPod, container: ContainerInfo, because: string): void {
  unassign(draft, pod, container.name);
  putShared(draft, pod, { ...container, phase: 'creating' }, because);
  const { promise } = draft.model.containers.get(container.id)!;
  if (!promise) return;
  const subject = namesOf(pod, container);
  draft.report({ kind: 'shares', subject, cpus: promise.cpus, because, isExpected: false });
}
