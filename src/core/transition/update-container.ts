import { readAsked } from '../decision/asked';
import { cutText, type Assignment } from '../model/assignment';
import type { Container } from '../model/container';
import type { ContainerInfo, CpuResources, RuntimeEvent } from '../model/events';
import { namesOf } from '../model/names-of';
import { isAssigned } from '../model/pool-view';
import { resolvePod, type ResolvedPod } from '../model/spec-book';
import { withPromise } from '../plan/promise';
import { entitledCpus, looksLikePod } from '../decision/entitlement';
import { explainDecision } from '../policy';
import { adoptContainer, isNameHeld, rememberMems, whileWaiting } from './adopt';
import { decidePlacement, type PlacementDecision } from '../decision/decide';
import { noteResize, rememberWhole } from './pod-level';
import type { Draft } from './draft';
import { putPod } from './lifecycle';
import { placeContainer, type Refused } from './place';

/**
 * Answers a change of a container's resources. The answer has the promised cpuset, whatever cpuset the change carries.
 * When the numbers that decide a placement change (an in-place resize), the container is decided on again. It keeps the
 * CPUs that it has, or a part of them; a resize that can't be done is refused, and one of memory alone never is.
 */
export function updateContainer(
  draft: Draft,
  { pod: sandbox, container, resources: changed }: Extract<RuntimeEvent, { kind: 'update-container' }>,
): Refused | undefined {
  const { model } = draft;
  const pod = resolvePod(model, sandbox);
  const known = model.containers.get(container.id);
  if (!known) {
    // The update was under way when the container ended: nobody would ever report its end again.
    if (container.phase !== 'created' && container.phase !== 'running') return undefined;
    noteResize(draft, sandbox);
    putPod(draft, sandbox);
    rememberMems(draft, pod, container);
    adoptContainer(draft, pod, { ...container, resources: { ...container.resources, ...changed } });
    return undefined;
  }
  const held = isAssigned(known) ? model.assignmentOf(known) : undefined;
  const resources = { ...known.resources, ...numbersOf(changed, held) };
  const { cgroupsPath, pid, phase } = known;
  const info = { ...container, resources, cgroupsPath, ...(pid !== undefined && { pid }), phase };
  const resize = { pod, known, info, changed, isOfCpus: !sameCpus(known.resources, resources) };
  if (resize.isOfCpus) noteResize(draft, sandbox);
  if (!resize.isOfCpus && known.resources.memoryLimitBytes === resources.memoryLimitBytes) {
    stay(draft, resize);
    return undefined;
  }
  return held ? resizeAssigned(draft, resize, held) : resizeShared(draft, resize);
}

/** Other numbers of a container that is known. */
interface Resize {
  readonly pod: ResolvedPod;
  readonly known: Container;
  /** The container with all its numbers as they will be. */
  readonly info: ContainerInfo;
  /** Those that the request has. */
  readonly changed: CpuResources;
  /** False when only its memory is resized. */
  readonly isOfCpus: boolean;
}

/** Resizes a container that has CPUs of its own, or NUMA nodes that it follows. */
function resizeAssigned(draft: Draft, resize: Resize, held: Assignment): Refused | undefined {
  const { pod, known, info, isOfCpus } = resize;
  const decided = decidePlacement(draft.model, readAsked(draft.model, pod, info, { held }));
  if (!isOfCpus || keepsItsCpus(known, held, decided)) {
    stay(draft, resize);
    widenMemory(draft, resize, held, decided);
    return undefined;
  }
  const placed = placeContainer(draft, pod, info, decided);
  if (placed.kind === 'refuse') return placed;
  const { applied, annotationDigest, blockedSwitch } = known;
  const { annotationDigest: _ofNow, ...now } = placed.container;
  // A resize does not follow annotations that have changed: a switch that is due is still due.
  const kept = { ...(annotationDigest !== undefined && { annotationDigest }), ...(blockedSwitch && { blockedSwitch }) };
  putResized(draft, { ...now, ...kept, ...(applied && { applied }) });
  return undefined;
}

/** Adds memory nodes for a larger limit. None are taken away: the container's memory is there. */
function widenMemory(draft: Draft, { known, info }: Resize, held: Assignment, { decision }: PlacementDecision): void {
  const isLarger = (info.resources.memoryLimitBytes ?? 0) > (known.resources.memoryLimitBytes ?? 0);
  if (!isLarger || held.mems.isEmpty || decision.kind !== 'pin') return;
  if (!decision.cpus.equals(held.cpus) || decision.mems.isSubsetOf(held.mems)) return;
  const because = cutText(explainDecision(decision));
  draft.put({ kind: 'put-assignment', assignment: { ...held, mems: held.mems.union(decision.mems), because } });
  draft.put({ kind: 'put-container', container: { ...draft.model.containers.get(known.id)!, because } });
}

/**
 * True when a container keeps its CPUs: it asks for as many as before, even if the rules of today would not give them,
 * or its numbers contradict each other, which is no resize.
 */
function keepsItsCpus(known: Container, held: Assignment, { request }: PlacementDecision): boolean {
  // CPUs that the scheduler chose for a pod do not grow with one of its containers.
  if (request.kind === 'exclusive') return request.count === known.entitledCpus || held.scope === 'pod';
  return request.kind === 'conflict' || request.doubt !== undefined;
}

/**
 * Resizes a container that shares. One that lacks the CPUs that it is entitled to goes on without them as long as there
 * are not enough, and as long as it is entitled to some.
 */
function resizeShared(draft: Draft, resize: Resize): Refused | undefined {
  const { pod, known, info, changed, isOfCpus } = resize;
  const lacks = known.entitledCpus > 0 || known.blockedSwitch !== undefined;
  const decided = decidePlacement(draft.model, readAsked(draft.model, pod, info, { runs: true }));
  const { request, decision } = decided;
  const isUndecided = request.kind === 'conflict' || (request.kind === 'shared' && request.doubt !== undefined);
  const { podLevel } = pod;
  const followsPod = podLevel !== undefined && !pod.spec && looksLikePod(pod, known);
  // The resources of its pod were resized, and it has the new ones.
  if (followsPod && isOfCpus) rememberWhole(draft, pod.uid, { ...podLevel, ...info.resources });
  const goesOn = followsPod || (lacks && (isUndecided || (!isOfCpus && known.waitingSince === undefined)));
  if (goesOn || isNameHeld(draft.model, pod, info)) {
    stay(draft, resize);
    return undefined;
  }
  if (decision.kind === 'refuse' && !lacks && isOfCpus)
    return { kind: 'refuse', code: decision.code, message: decision.because };
  // Under a policy that gives none by now, it waits for another one.
  const waits = known.waitingSince !== undefined && request.kind === 'exclusive';
  if (decision.kind === 'refuse' || (decision.kind === 'share' && waits)) {
    goWithout(draft, resize, entitledCpus(request), decision.because);
    return undefined;
  }
  const placed = placeContainer(draft, pod, info, decided);
  if (placed.kind === 'refuse') return placed;
  const { applied } = known;
  // The answer can't lift a quota that the request does not have.
  const lifts = placed.liftQuota && changed.quotaUs === undefined;
  putResized(draft, { ...placed.container, ...(applied && { applied }), ...(lifts && { quota: 'lifted' as const }) });
  return undefined;
}

/** Puts a container that shares although it is entitled to CPUs. It waits for them, unless it was let start without. */
function goWithout(draft: Draft, resize: Resize, entitled: number, refusal: string): void {
  const { pod, known, info, isOfCpus } = resize;
  if (known.blockedSwitch || entitled === 0) {
    stay(draft, resize);
    return;
  }
  const waitingSince = known.waitingSince ?? (known.entitledCpus === 0 ? draft.now : undefined);
  const because = waitingSince === undefined ? `${refusal}; it shares as before` : whileWaiting(refusal);
  const waits = waitingSince !== undefined && { waitingSince };
  const { resources } = info;
  draft.put({ kind: 'put-container', container: { ...known, resources, entitledCpus: entitled, because, ...waits } });
  if (isOfCpus) draft.report({ kind: 'shares', subject: namesOf(pod, info), because, isExpected: false });
}

/** Only the numbers change. */
function stay(draft: Draft, { known, info: { resources } }: Resize): void {
  draft.put({ kind: 'put-container', container: { ...known, resources } });
}

function putResized(draft: Draft, container: Container): void {
  const now = withPromise(draft.model, { ...container, freshAssignment: false });
  draft.put({ kind: 'put-container', container: now });
}

/**
 * The numbers that the kubelet asks for. An unlimited quota of a container whose quota cpusetd lifted is not asked for.
 */
function numbersOf({ cpus: _cpus, mems: _mems, ...numbers }: CpuResources, held: Assignment | undefined): CpuResources {
  if (held?.quotaLifted !== true || (numbers.quotaUs ?? 0) >= 0) return numbers;
  const { quotaUs: _lifted, ...rest } = numbers;
  return rest;
}

function sameCpus(before: CpuResources, after: CpuResources): boolean {
  return before.shares === after.shares && before.quotaUs === after.quotaUs && before.periodUs === after.periodUs;
}
