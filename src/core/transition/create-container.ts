import type { ContainerInfo, PodInfo, RuntimeEvent } from '../model/events';
import { namesOf } from '../model/names-of';
import type { NodeView } from '../model/node-view';
import { resolvePod, type ResolvedPod } from '../model/spec-book';
import { adoptAsShared } from './adopt';
import { decideFromPod, decidePlacement } from './decide';
import type { Draft } from './draft';
import { rememberLivePod } from './lifecycle';
import { withKept } from './name-kept';
import { placeContainer, unassign, type Refused } from './place';
import { planAtCreation, type Unfit } from './plan-pods';

/**
 * The container is about to be made: decides where it runs, before it runs. With `shareBecause` that is the shared pool,
 * whatever it is entitled to.
 */
export function createContainer(
  draft: Draft,
  { pod: told, container, shareBecause }: Extract<RuntimeEvent, { kind: 'create-container' }>,
): Refused | undefined {
  const { model } = draft;
  rememberLivePod(draft, told);
  const pod = resolvePod(model, told);
  if (shareBecause !== undefined) {
    shareInstead(draft, pod, container, shareBecause);
    return undefined;
  }
  const fromPod = decideFromPod(model, pod, container);
  const unfit = fromPod ? undefined : planAtCreation(draft, pod, container);
  // A container that does not fit by itself is told why it does not.
  if (unfit && decidePlacement(model, pod, container).decision.kind !== 'refuse')
    return refuseWithPod(model, pod, unfit);
  const placed = placeContainer(draft, pod, container, { ...(fromPod && { fromPod }) });
  if (placed.kind === 'refuse') return withKept(model, pod, placed);
  draft.put({ kind: 'put-container', container: { ...placed.container, phase: 'creating' } });
  return undefined;
}

function refuseWithPod(view: NodeView, pod: PodInfo, { containerName, code, because: why }: Unfit): Refused {
  const message =
    `the containers of a pod get their CPUs together, and container ${containerName} of this one does not fit beside ` +
    `the others: ${why}`;
  return withKept(view, pod, { kind: 'refuse', code, message });
}

function shareInstead(draft: Draft, pod: ResolvedPod, container: ContainerInfo, because: string): void {
  unassign(draft, pod, container.name);
  adoptAsShared(draft, pod, { ...container, phase: 'creating' }, because);
  const { promise } = draft.model.containers.get(container.id)!;
  if (!promise) return;
  const who = namesOf(pod, container);
  draft.report({ kind: 'shares', who, cpus: promise.cpus, because, isExpected: false });
}
