import { readAsked } from '../decision/asked';
import type { ContainerInfo, RuntimeEvent } from '../model/events';
import { broughtKey, readBrought, sameBrought } from '../model/brought';
import { resolvePod, type ResolvedPod } from '../model/spec-book';
import type { PlacementDecision } from '../decision/decide';
import type { Draft } from './draft';
import { startPod } from './lifecycle';
import { placeContainer, type Refused } from './place';
import { decideCreation } from './plan-pod';
import { findAtCreation } from './pod-level';

/**
 * Decides where a container runs before it is created. With `shareBecause` it runs in the shared pool, whatever it is
 * entitled to.
 */
export function createContainer(
  draft: Draft,
  { pod: sandbox, container, shareBecause, runsBeside = [] }: Extract<RuntimeEvent, { kind: 'create-container' }>,
): Refused | undefined {
  const { model } = draft;
  startPod(draft, sandbox);
  findAtCreation(draft, { pod: sandbox, container, runsBeside });
  const pod = resolvePod(model, sandbox);
  const read = readBrought(container.resources, model.topology.online);
  if (!read.ok) return { kind: 'refuse', code: 'INVALID_ARGUMENT', message: read.because };
  putBrought(draft, pod, container, read.brought);
  const asked = readAsked(model, pod, container);
  const decided: PlacementDecision =
    shareBecause === undefined
      ? decideCreation(draft, pod, asked)
      : { ...asked, decision: { kind: 'share', because: shareBecause } };
  const placed = placeContainer(draft, pod, container, decided);
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
  const before = draft.model.broughtTo(podUid, containerName);
  if (brought && before && sameBrought(before, brought)) return; // nothing new to be saved
  if (brought) draft.put({ kind: 'put-brought', brought: { podUid, containerName, ...brought } });
  else if (before) draft.put({ kind: 'drop-brought', key: broughtKey(before) });
}
