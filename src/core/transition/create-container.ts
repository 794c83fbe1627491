import type { ContainerInfo, PodInfo, RuntimeAnswer } from '../model/events';
import { namesOf } from '../model/names-of';
import type { NodeView } from '../model/node-model';
import { promiseOf } from '../plan/plan-moves';
import { adoptAsShared } from './container-life';
import type { Draft } from './draft';
import { adjustmentOf, placeContainer } from './place-container';
import { withKept } from './name-kept';
import { planAtCreation, type Unfit } from './plan-pods';
import { decideFromPod, decidePlacement, unassign } from './placement';
import { rememberLivePod } from './pods';

/**
 * The container is about to be made: decides where it runs, before it runs. With `shareBecause` that is the shared pool,
 * whatever it is entitled to.
 */
export function createContainer(
  draft: Draft,
  pod: PodInfo,
  container: ContainerInfo,
  shareBecause?: string,
): RuntimeAnswer {
  rememberLivePod(draft, pod);
  if (shareBecause !== undefined) return shareInstead(draft, pod, container, shareBecause);
  const { model } = draft;
  const fromPod = decideFromPod(model, pod, container);
  const unfit = fromPod ? undefined : planAtCreation(draft, pod, container);
  // Whoever does not fit by itself is told why it does not.
  if (unfit && decidePlacement(model, pod, container).decision.kind !== 'refuse')
    return refuseWithPod(model, pod, unfit);
  const placed = placeContainer(draft, pod, container, { ...(fromPod && { fromPod }) });
  if (placed.kind === 'refuse') return withKept(model, pod, placed);
  const { promise } = placed.container;
  const made = { ...placed.container, phase: 'creating' } as const;
  draft.put({ kind: 'put-container', container: promise ? { told: promise, recorded: promise, ...made } : made });
  return { kind: 'ok', ...(promise && { adjust: adjustmentOf(promise, placed.liftQuota) }) };
}

function refuseWithPod(view: NodeView, pod: PodInfo, { containerName, code, because: why }: Unfit): RuntimeAnswer {
  const message =
    `the containers of a pod get their CPUs together, and container ${containerName} of this one does not fit beside ` +
    `the others: ${why}`;
  return withKept(view, pod, { kind: 'refuse', code, message });
}

function shareInstead(draft: Draft, pod: PodInfo, container: ContainerInfo, why: string): RuntimeAnswer {
  unassign(draft, pod, container.name);
  adoptAsShared(draft, pod, { ...container, phase: 'creating' }, why);
  const shared = draft.model.containers.get(container.id)!;
  const promise = promiseOf(draft.model, shared);
  if (!promise) return { kind: 'ok' };
  draft.put({ kind: 'put-container', container: { ...shared, promise, told: promise, recorded: promise } });
  const who = namesOf(pod, container);
  draft.report({ kind: 'shares', who, cpus: promise.cpus, because: why, isExpected: false });
  return { kind: 'ok', adjust: adjustmentOf(promise, false) };
}
