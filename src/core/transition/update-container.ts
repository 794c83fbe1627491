import type { ContainerInfo, CpuResources, PodInfo, RuntimeAnswer } from '../model/events';
import { keyOf, type Assignment } from '../model/assignment';
import type { Container } from '../model/container';
import { isAssigned } from '../model/pool-view';
import type { NodeView } from '../model/node-model';
import { hasCgroup, promiseOf } from '../plan/plan-moves';
import { adoptContainer } from './container-life';
import type { Draft } from './draft';
import { adjustmentOf, placeContainer } from './place-container';
import { withKept } from './name-kept';
import { requestOf } from './request-of';

/**
 * Someone changes a container's resources: the promise goes along with the change, whatever cpuset it carried.
 * Where the numbers that decide a placement changed (an in-place resize), it is decided anew; CPUs that the container
 * has are kept first.
 */
export function updateContainer(
  draft: Draft,
  pod: PodInfo,
  container: ContainerInfo,
  changed: CpuResources,
): RuntimeAnswer {
  const { model } = draft;
  const known = model.containers.get(container.id);
  if (!known) adoptContainer(draft, pod, { ...container, resources: { ...container.resources, ...changed } });
  else {
    const held = isAssigned(known) ? assignmentOf(draft, pod, known) : undefined;
    const resources = { ...known.resources, ...numbersOf(changed, held) };
    if (
      decidesPlacement(known.resources, resources) &&
      !keepsItsCpus(model, known, held, pod, { ...container, resources })
    ) {
      const placed = placeContainer(draft, withoutSum(pod), {
        ...container,
        cgroupsPath: known.cgroupsPath,
        phase: known.phase,
        resources,
      });
      if (placed.kind === 'refuse') return withKept(model, pod, placed);
      draft.put({
        kind: 'put-container',
        container: { ...placed.container, ...(known.told && { told: known.told }), freshAssignment: false },
      });
    } else draft.put({ kind: 'put-container', container: { ...known, resources } });
  }
  const current = model.containers.get(container.id)!;
  const promise = promiseOf(model, current);
  if (!promise) return { kind: 'ok' };
  const liftQuota =
    isAssigned(current) && (assignmentOf(draft, pod, current)?.quotaLifted ?? false) && (changed.quotaUs ?? 0) > 0;
  draft.put({ kind: 'put-container', container: { ...withStart(current), promise, recorded: promise } });
  return { kind: 'ok', adjust: adjustmentOf(promise, liftQuota) };
}

/** One that is still to start does so with what the update carries, or with what it had: an update in between can be lost. */
function withStart(container: Container): Container {
  if (hasCgroup(container)) return container;
  const { told: _unknown, ...rest } = container;
  return rest;
}

/** What the kubelet asks for. A lifted quota that comes back through the runtime is our own doing. */
function numbersOf({ cpus: _cpus, mems: _mems, ...numbers }: CpuResources, held: Assignment | undefined): CpuResources {
  if (held?.quotaLifted !== true || (numbers.quotaUs ?? 0) >= 0) return numbers;
  const { quotaUs: _lifted, ...rest } = numbers;
  return rest;
}

function decidesPlacement(before: CpuResources, after: CpuResources): boolean {
  return (
    before.shares !== after.shares ||
    before.quotaUs !== after.quotaUs ||
    before.periodUs !== after.periodUs ||
    before.memoryLimitBytes !== after.memoryLimitBytes
  );
}

/**
 * Whoever asks for as many CPUs as before keeps those it has, also under rules that would not give them today. Numbers
 * that contradict each other take nobody's CPUs away either: who changes only one of them means no resize.
 */
function keepsItsCpus(
  view: NodeView,
  known: Container,
  held: Assignment | undefined,
  pod: PodInfo,
  container: ContainerInfo,
): boolean {
  if (!held) return false;
  const request = requestOf(view, withoutSum(pod), container, held.kind);
  // What the scheduler chose for a pod does not grow with one of its containers.
  if (request.kind === 'exclusive') return request.count === known.entitled || held.scope === 'pod';
  return request.kind === 'conflict' || request.doubt !== undefined;
}

function assignmentOf({ model }: Draft, { uid }: PodInfo, { name }: Container): Assignment | undefined {
  return model.assignments.get(keyOf({ podUid: uid, containerName: name }));
}

/** The sum that the pod announced at its start may be older than the container's new numbers. */
function withoutSum({ podResources: _older, ...pod }: PodInfo): PodInfo {
  return pod;
}
