import { CpuSet } from '../cpuset';
import type { ContainerInfo, PodInfo, RuntimeAnswer } from '../model/events';
import { namesOf } from '../model/names-of';
import type { NodeView } from '../model/node-model';
import { promiseOf } from '../plan/plan-moves';
import { isInRuntime } from './api-has-pod';
import { adoptAsShared } from './container-life';
import type { Draft } from './draft';
import { adjustmentOf, placeContainer } from './place-container';
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
  if (unfit && decidePlacement(model, pod, container).decision.kind !== 'refuse') return refuseWithPod(model, unfit);
  const placed = placeContainer(draft, pod, container, { ...(fromPod && { fromPod }) });
  if (placed.kind === 'refuse') {
    return placed.code === 'RESOURCE_EXHAUSTED'
      ? { ...placed, message: `${placed.message}${nameAwaited(model)}` }
      : placed;
  }
  const { promise } = placed.container;
  draft.put({
    kind: 'put-container',
    container: { ...placed.container, phase: 'creating', ...(promise && { told: promise, recorded: promise }) },
  });
  return { kind: 'ok', ...(promise && { adjust: adjustmentOf(promise, placed.liftQuota) }) };
}

function refuseWithPod(view: NodeView, { containerName, code, because: why }: Unfit): RuntimeAnswer {
  const message =
    `the containers of a pod get their CPUs together, and container ${containerName} of this one does not fit beside ` +
    `the others: ${why}${nameAwaited(view)}`;
  return { kind: 'refuse', code, message };
}

/** CPUs that are kept for pods of which only the API server can tell whether they are still there; empty when there are none. */
function nameAwaited(view: NodeView): string {
  const { awaited } = view.specSource;
  if (awaited.size === 0) return '';
  const kept = [...view.assignments.values()].filter(({ podUid }) => awaited.has(podUid) && !isInRuntime(view, podUid));
  const { size } = CpuSet.unionOf(kept.map(({ cpus }) => cpus));
  return size === 0
    ? ''
    : `; ${size} CPUs are kept for pods from before the start of cpusetd until the API server (--kubeconfig) tells whether they are still there`;
}

function shareInstead(draft: Draft, pod: PodInfo, container: ContainerInfo, why: string): RuntimeAnswer {
  unassign(draft, pod, container.name);
  adoptAsShared(draft, pod, { ...container, phase: 'creating' }, why);
  const shared = draft.model.containers.get(container.id)!;
  const promise = promiseOf(draft.model, shared);
  if (!promise) return { kind: 'ok' };
  draft.put({ kind: 'put-container', container: { ...shared, promise, told: promise, recorded: promise } });
  draft.note('warn', 'shares', {
    ...namesOf(pod, container),
    cpus: promise.cpus.toString(),
    because: why,
  });
  return { kind: 'ok', adjust: adjustmentOf(promise, false) };
}
