import type { ContainerInfo, PodInfo, RuntimeAnswer } from '../model/events';
import { promiseOf } from '../plan/plan-moves';
import { adoptAsShared } from './container-life';
import type { Draft } from './draft';
import { adjustmentOf, placeContainer } from './place-container';
import { unassign } from './placement';
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
  const placed = placeContainer(draft, pod, container);
  if (placed.kind === 'refuse') return placed;
  const { promise } = placed.container;
  draft.put({
    kind: 'put-container',
    container: { ...placed.container, phase: 'creating', ...(promise && { told: promise, recorded: promise }) },
  });
  return { kind: 'ok', ...(promise && { adjust: adjustmentOf(promise, placed.liftQuota) }) };
}

function shareInstead(draft: Draft, pod: PodInfo, container: ContainerInfo, why: string): RuntimeAnswer {
  unassign(draft, pod, container.name);
  adoptAsShared(draft, pod, { ...container, phase: 'creating' }, why);
  const shared = draft.model.containers.get(container.id)!;
  const promise = promiseOf(draft.model, shared);
  if (!promise) return { kind: 'ok' };
  draft.put({ kind: 'put-container', container: { ...shared, promise, told: promise, recorded: promise } });
  draft.note('warn', 'shares', {
    podUid: pod.uid,
    pod: `${pod.namespace}/${pod.name}`,
    container: container.name,
    containerId: container.id,
    cpus: promise.cpus.toString(),
    because: why,
  });
  return { kind: 'ok', adjust: adjustmentOf(promise, false) };
}
