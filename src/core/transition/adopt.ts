import { readAsked } from '../decision/asked';
import { CpuSet, tryParseCpuList } from '../cpuset';
import { DEFAULT_PERIOD_US, wholeCpusOfShares } from '../inference/cri-numbers';
import { cutText, type Assignment } from '../model/assignment';
import type { CpuPromise } from '../model/container';
import type { ContainerInfo, PodInfo } from '../model/events';
import { namesOf } from '../model/names-of';
import type { NodeView } from '../model/node-view';
import { KINDS } from '../model/pool-view';
import type { ResolvedPod } from '../model/spec-book';
import { entitle, entitledCpus } from '../decision/entitlement';
import { isSpreadAs, isWithinFloors, type Decision } from '../policy';
import { decide } from '../decision/decide';
import type { Draft } from './draft';
import { assign, placeContainer, putShared, toContainer } from './place';
import { snapshotFor } from '../decision/snapshot';

/**
 * The cpuset that the kernel has for each running container now, by container id. A container without a cpuset of its
 * own has an empty one, or is absent.
 */
export type LiveCpusets = ReadonlyMap<string, CpuSet>;

/** Places a container that exists already. It can't be refused: when it does not fit, it shares. */
export function adoptContainer(draft: Draft, pod: ResolvedPod, container: ContainerInfo): void {
  const asked = restoreRequestedQuota(container);
  const placed = placeContainer(draft, pod, asked, decide(draft.model, readAsked(draft.model, pod, asked)));
  if (placed.kind === 'placed') {
    draft.put({ kind: 'put-container', container: placed.container });
    return;
  }
  if (placed.code === 'RESOURCE_EXHAUSTED') adoptAsWaiting(draft, pod, container, placed.message);
  else putShared(draft, pod, container, placed.message);
  const { because } = draft.model.containers.get(container.id)!;
  draft.report({ kind: 'shares', subject: namesOf(pod, container), because, isExpected: false });
}

/** The reason of a container that waits for CPUs. */
export function whileWaiting(refusal: string): string {
  return `shares, and waits for CPUs of its own: it ${refusal}`;
}

/** Puts a container that shares until there are CPUs for it. */
function adoptAsWaiting(draft: Draft, pod: ResolvedPod, container: ContainerInfo, why: string): void {
  const { request } = entitle(draft.model.settings, pod, container);
  const shared = toContainer(draft.model, pod.sandbox, container, {
    placement: 'shared',
    entitledCpus: entitledCpus(request),
    because: whileWaiting(why),
    freshAssignment: false,
  });
  draft.put({ kind: 'put-container', container: { ...shared, waitingSince: draft.now } });
}

/**
 * The resources of a container as the kubelet asked for them.
 *
 * An unlimited quota in the runtime's record is most likely one that cpusetd lifted. It lifts the quota only of
 * containers whose limit equals their request, so a request of whole CPUs gives the quota. From any other request the
 * quota can't be restored.
 */
export function restoreRequestedQuota(container: ContainerInfo): ContainerInfo {
  if ((container.resources.quotaUs ?? 0) >= 0) return container;
  const { quotaUs: _lifted, ...resources } = container.resources;
  const count = wholeCpusOfShares(resources.shares ?? 0);
  if (count === undefined) return { ...container, resources };
  const quotaUs = count * (resources.periodUs ?? DEFAULT_PERIOD_US);
  return { ...container, resources: { ...resources, quotaUs } };
}

/**
 * True when another container of this name holds its assignment. Assignments go by name, and the later container must
 * not take it.
 */
export function isNameHeld(model: NodeView, pod: PodInfo, container: ContainerInfo): boolean {
  const holder = model.assignmentFor(pod.uid, container.name)?.containerId;
  return holder !== undefined && holder !== null && holder !== container.id;
}

/**
 * Assigns a container the CPUs that it runs on, if it is entitled to as many and they are free or idle in its pod: the
 * state was lost, and the container keeps its CPUs. False when it has to be placed.
 */
export function adoptInPlace(draft: Draft, pod: ResolvedPod, container: ContainerInfo, live: LiveCpusets): boolean {
  const { model } = draft;
  if (isNameHeld(model, pod, container)) return false;
  const { chosen, request, choice } = readAsked(model, pod, container);
  const scheduled = choice.whole;
  const cpus = live.get(container.id) ?? listOf(container);
  if (request.kind !== 'exclusive' || chosen.policy === 'none' || !cpus) return false;
  if (KINDS[chosen.policy].claim === 'numa-nodes') return false; // moving costs it nothing
  const snapshot = snapshotFor(model, pod, container.name, chosen.policy);
  const { own, idleInPod, podSet, free } = snapshot;
  const joins = scheduled !== undefined && podSet.inUse && cpus.equals(podSet.cpus);
  const isAsMuch = scheduled ? isSpreadAs(model.topology, cpus, scheduled) : cpus.size === request.count;
  if (!joins && !(isAsMuch && cpus.isSubsetOf(CpuSet.unionOf([own, idleInPod, free])))) return false;

  const because = 'state was rebuilt from the runtime: the container already ran on these CPUs';
  const decision: Extract<Decision, { kind: 'pin' }> = {
    kind: 'pin',
    assignmentKind: chosen.policy,
    ...(scheduled && { scope: 'pod' }),
    cpus,
    mems: model.broughtTo(pod.uid, container.name)?.mems ?? CpuSet.empty,
    because,
    steps: [],
  };
  if (KINDS[chosen.policy].claim === 'exclusive' && !isWithinFloors(snapshot, decision)) return false;
  const assignment = assign(draft, pod, container, { requested: request.count, chosen, decision });
  confirmAssignment(draft, pod, container, assignment, live);
  draft.report({ kind: 'restored', subject: namesOf(pod, container), cpus, because });
  return true;
}

/** Puts a container with the assignment that it has. */
export function confirmAssignment(
  draft: Draft,
  pod: ResolvedPod,
  container: ContainerInfo,
  assignment: Assignment,
  live: LiveCpusets,
): void {
  if (assignment.containerId !== container.id) {
    // An imported assignment has the uid only.
    const [podNamespace, podName] = [cutText(pod.namespace), cutText(pod.name)];
    const confirmed = { ...assignment, podNamespace, podName, containerId: container.id };
    draft.put({ kind: 'put-assignment', assignment: confirmed });
  }
  const { requested: entitled, because, kind } = assignment;
  const { placement } = KINDS[kind];
  const outcome = { placement, entitledCpus: entitled, because, freshAssignment: false };
  draft.put({ kind: 'put-container', container: toContainer(draft.model, pod.sandbox, container, outcome) });
  recordFound(draft, container, live);
}

/**
 * Remembers the memory nodes in the runtime's record of a container that cpusetd does not know. They are not cpusetd's:
 * the container came while it was away, or the state was lost. Where memory follows CPUs, cpusetd may have written
 * them, and they count as nobody's.
 */
export function rememberMems(draft: Draft, { uid: podUid }: PodInfo, { name, resources }: ContainerInfo): void {
  const { model } = draft;
  const mems = resources.mems === undefined ? undefined : tryParseCpuList(resources.mems);
  if (model.settings.memoryNodes === 'follow' || !mems || mems.isEmpty) return;
  const known = model.broughtTo(podUid, name);
  if (known && known.mems?.equals(mems) !== false) return;
  // If some are known, they are those of an earlier container of its name.
  draft.put({ kind: 'put-brought', brought: { podUid, containerName: name, mems } });
}

/** Records the cpusets that the runtime and the kernel have; `planMoves` finds the differences from the promise. */
export function recordFound(draft: Draft, container: ContainerInfo, live: LiveCpusets): void {
  const known = draft.model.containers.get(container.id);
  if (!known) return;
  const runtimeRecord = toPromise(listOf(container));
  const applied = live.has(container.id) ? toPromise(live.get(container.id)) : runtimeRecord;
  const { applied: _applied, runtimeRecord: _recorded, ...rest } = known;
  draft.put({
    kind: 'put-container',
    container: {
      ...rest,
      phase: container.phase,
      ...(applied && { applied }),
      ...(runtimeRecord && { runtimeRecord }),
    },
  });
}

function toPromise(cpus: CpuSet | undefined): CpuPromise | undefined {
  return cpus && !cpus.isEmpty ? { cpus, mems: CpuSet.empty } : undefined;
}

/**
 * The runtime's record of a container's CPUs; undefined when there is none, or another program wrote it in a form that
 * is not read here.
 */
function listOf({ resources: { cpus } }: ContainerInfo): CpuSet | undefined {
  return cpus === undefined ? undefined : tryParseCpuList(cpus);
}
