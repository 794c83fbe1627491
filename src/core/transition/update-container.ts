import { keyOf, type Assignment } from '../model/assignment';
import type { Container } from '../model/container';
import type { ContainerInfo, CpuResources, RuntimeEvent } from '../model/events';
import { isAssigned } from '../model/pool-view';
import { resolvePod, type ResolvedPod } from '../model/spec-book';
import { withPromise } from '../plan/promise';
import { adoptContainer } from './adopt';
import type { Draft } from './draft';
import { requestOf } from './entitlement';
import { rememberPod } from './lifecycle';
import { withKept } from './name-kept';
import { placeContainer, type Refused } from './place';

/**
 * Someone changes a container's resources: the promise goes along with the change, whatever cpuset it carried.
 * Where the numbers that decide a placement changed (an in-place resize), it is decided anew; CPUs that the container
 * has are kept first.
 */
export function updateContainer(
  draft: Draft,
  { pod: told, container, resources: changed }: Extract<RuntimeEvent, { kind: 'update-container' }>,
): Refused | undefined {
  const { model } = draft;
  const pod = resolvePod(model, told);
  const known = model.containers.get(container.id);
  if (!known) {
    rememberPod(draft, told);
    adoptContainer(draft, pod, { ...container, resources: { ...container.resources, ...changed } });
    return undefined;
  }
  const held = isAssigned(known)
    ? model.assignments.get(keyOf({ podUid: pod.uid, containerName: known.name }))
    : undefined;
  const resources = { ...known.resources, ...numbersOf(changed, held) };
  const asked = { ...container, resources };
  if (!decidesPlacement(known.resources, resources) || keepsItsCpus(known, held, pod, asked)) {
    draft.put({ kind: 'put-container', container: { ...known, resources } });
    return undefined;
  }
  const { cgroupsPath, phase, told: given } = known;
  const placed = placeContainer(draft, withoutSum(pod), { ...asked, cgroupsPath, phase });
  if (placed.kind === 'refuse') return withKept(model, pod, placed);
  const now = { ...placed.container, ...(given && { told: given }), freshAssignment: false };
  draft.put({ kind: 'put-container', container: withPromise(model, now) });
  return undefined;
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
  known: Container,
  held: Assignment | undefined,
  pod: ResolvedPod,
  container: ContainerInfo,
): boolean {
  if (!held) return false;
  const request = requestOf(withoutSum(pod), container, held.kind);
  // What the scheduler chose for a pod does not grow with one of its containers.
  if (request.kind === 'exclusive') return request.count === known.entitled || held.scope === 'pod';
  return request.kind === 'conflict' || request.doubt !== undefined;
}

/** The sum that the pod announced at its start may be older than the container's new numbers. */
function withoutSum({ podResources: _older, ...pod }: ResolvedPod): ResolvedPod {
  return pod;
}
