import { keyOf, type Assignment } from '../model/assignment';
import type { Container } from '../model/container';
import type { ContainerInfo, CpuResources, RuntimeEvent } from '../model/events';
import { isAssigned } from '../model/pool-view';
import { resolvePod, type ResolvedPod } from '../model/spec-book';
import { withPromise } from '../plan/promise';
import { requestOf } from '../policy';
import { adoptContainer } from './adopt';
import type { Draft } from './draft';
import { putPod } from './lifecycle';
import { placeContainer, type Refused } from './place';

/**
 * Answers a change of a container's resources. The answer has the promised cpuset, whatever cpuset the change carries. When the numbers
 * that decide a placement change (an in-place resize), the container is placed again, on the CPUs that it has first.
 */
export function updateContainer(
  draft: Draft,
  { pod: sandbox, container, resources: changed }: Extract<RuntimeEvent, { kind: 'update-container' }>,
): Refused | undefined {
  const { model } = draft;
  const pod = resolvePod(model, sandbox);
  const known = model.containers.get(container.id);
  if (!known) {
    putPod(draft, sandbox);
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
  const { cgroupsPath, pid, phase, applied } = known;
  const placed = placeContainer(draft, withoutSum(pod), {
    ...asked,
    cgroupsPath,
    ...(pid !== undefined && { pid }),
    phase,
  });
  if (placed.kind === 'refuse') return placed;
  const now = { ...placed.container, ...(applied && { applied }), freshAssignment: false };
  draft.put({ kind: 'put-container', container: withPromise(model, now) });
  return undefined;
}

/** The numbers that the kubelet asks for. An unlimited quota of a container whose quota cpusetd lifted is not asked for. */
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
 * True when a container keeps its CPUs: it asks for as many as before, even if the rules of today would not give them, or its numbers
 * contradict each other, which is no resize.
 */
function keepsItsCpus(
  known: Container,
  held: Assignment | undefined,
  pod: ResolvedPod,
  container: ContainerInfo,
): boolean {
  if (!held) return false;
  const request = requestOf(withoutSum(pod), container, held.kind);
  // CPUs that the scheduler chose for a pod do not grow with one of its containers.
  if (request.kind === 'exclusive') return request.count === known.entitledCpus || held.scope === 'pod';
  return request.kind === 'conflict' || request.doubt !== undefined;
}

/** The pod without the sum that it announced at its start, which may be older than the container's new numbers. */
function withoutSum({ podResources: _older, ...pod }: ResolvedPod): ResolvedPod {
  return pod;
}
