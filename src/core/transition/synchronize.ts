import { CpuSet, parseCpuList } from '../cpuset';
import { cutText, keyOf, type Assignment } from '../model/assignment';
import type { CpuPromise } from '../model/container';
import type { ContainerInfo, KnownBefore, PodInfo, RuntimeEvent } from '../model/events';
import { apiHasPod } from './api-has-pod';
import { adoptAsShared, adoptContainer, asAskedFor } from './adopt';
import { namesOf } from '../model/names-of';
import type { NodeView } from '../model/node-view';
import { resolvePod, type ResolvedPod } from '../model/spec-book';
import type { Draft } from './draft';
import { KINDS } from '../model/pool-view';
import { isSpreadAs, isWithinFloors, type Decision } from '../policy';
import { entitle, readSchedule } from './entitlement';
import { forgetContainer, releasePod, rememberPod } from './lifecycle';
import { forgetPause } from './pauses';
import { assign, toContainer } from './place';
import { snapshotFor } from './snapshot';

/**
 * The cpuset that the kernel has for each running container now, by container id. One that has none of its own, but that of its parent,
 * is empty or absent.
 */
export type LiveCpusets = ReadonlyMap<string, CpuSet>;

/**
 * Merges what we remember with what the runtime has. Start-up and reconnection are this one comparison.
 *
 * A container that is remembered and still there keeps its CPUs. CPUs of pods that are gone are released, unless the API server has
 * them, or is still to tell whether it does: their sandboxes are made anew. Containers that
 * we don't know are placed: first those that already sit on CPUs of their own (their state was lost, they stay where
 * they are), then the others by the rules for new ones. Nobody who runs is ever refused.
 *
 * The order in which the runtime lists its containers decides nothing.
 */
export function synchronize(
  draft: Draft,
  { pods, containers, before }: Extract<RuntimeEvent, { kind: 'synchronize' }>,
  live: LiveCpusets,
): void {
  const podById = new Map(pods.map((pod) => [pod.sandboxId, pod]));
  const present = containers
    .filter((container) => container.phase !== 'exited' && podById.has(container.sandboxId))
    .map(asAskedFor)
    .sort((a, b) => (a.id < b.id ? -1 : 1));
  const fresh = present.filter(isUnknownTo(draft.model));
  forgetAbsent(draft, podById, new Set(present.map(({ id }) => id)), before);
  for (const pod of pods) rememberPod(draft, pod);

  const resolved = new Map(pods.map((pod) => [pod.sandboxId, resolvePod(draft.model, pod)]));
  const strangers: { pod: ResolvedPod; container: ContainerInfo }[] = [];
  for (const container of present) {
    const pod = resolved.get(container.sandboxId)!;
    const assignment = draft.model.assignments.get(keyOf({ podUid: pod.uid, containerName: container.name }));
    if (assignment && !assignment.planned && (assignment.containerId ?? container.id) === container.id) {
      bind(draft, pod, container, assignment, live);
    } else strangers.push({ pod, container });
  }
  const unplaced = strangers.filter(({ pod, container }) => !adoptAsItIs(draft, pod, container, live));
  for (const { pod, container } of unplaced) {
    if (!draft.model.containers.has(container.id)) {
      if (hasLivingNamesake(draft.model, pod, container))
        adoptAsShared(draft, pod, container, 'another container of its name has the CPUs that this one could have');
      else adoptContainer(draft, pod, container);
    }
    learnRecord(draft, container, live);
  }
  for (const container of fresh)
    if (!wasPlacedBefore(container, live)) noteGap(draft, podById.get(container.sandboxId)!, container);
}

/** Assignments go by name: who comes second must not take the CPUs of one that runs. */
function hasLivingNamesake(model: NodeView, pod: PodInfo, container: ContainerInfo): boolean {
  const holder = model.assignments.get(keyOf({ podUid: pod.uid, containerName: container.name }))?.containerId;
  return holder !== undefined && holder !== null && holder !== container.id;
}

/** Neither the model nor what was remembered knows this very container: it was made while we were away. */
function isUnknownTo(model: NodeView): (container: ContainerInfo) => boolean {
  const remembered = new Set([...model.assignments.values()].map(({ containerId }) => containerId));
  return ({ id }) => !model.containers.has(id) && !remembered.has(id);
}

/** What came into the model while the lists were taken, or is still being made, is missing there and is not absent. */
function forgetAbsent(
  draft: Draft,
  pods: ReadonlyMap<string, PodInfo>,
  present: ReadonlySet<string>,
  before: KnownBefore | undefined,
): void {
  const { model } = draft;
  for (const container of [...model.containers.values()]) {
    const { id, phase } = container;
    const isJudged = before === undefined || (before.containerIds.has(id) && phase !== 'creating');
    if (isJudged && !present.has(id)) forgetContainer(draft, container);
  }
  for (const sandboxId of [...model.pods.keys()]) {
    const isJudged = before?.sandboxIds.has(sandboxId) ?? true;
    if (!isJudged || pods.has(sandboxId)) continue;
    forgetPause(draft, sandboxId);
    draft.put({ kind: 'drop-pod', sandboxId });
  }
  const uids = new Set([...pods.values(), ...model.pods.values()].map(({ uid }) => uid));
  const gone = new Set([...model.assignments.values()].map(({ podUid }) => podUid).filter((uid) => !uids.has(uid)));
  for (const uid of gone)
    if (!apiHasPod(model, uid)) releasePod(draft, uid, 'the pod was gone when the runtime was asked');
  for (const assignment of [...model.assignments.values()]) {
    const { containerId } = assignment;
    if (containerId !== null && !present.has(containerId) && !model.containers.has(containerId)) {
      draft.put({ kind: 'put-assignment', assignment: { ...assignment, containerId: null } });
    }
  }
}

/** A remembered container: its assignment is confirmed. */
function bind(
  draft: Draft,
  pod: ResolvedPod,
  container: ContainerInfo,
  assignment: Assignment,
  live: LiveCpusets,
): void {
  if (assignment.containerId !== container.id) {
    // An imported assignment knows the uid only.
    const [podNamespace, podName] = [cutText(pod.namespace), cutText(pod.name)];
    const bound = { ...assignment, podNamespace, podName, containerId: container.id };
    draft.put({ kind: 'put-assignment', assignment: bound });
  }
  const { requested: entitled, because, kind } = assignment;
  const { placement } = KINDS[kind];
  const outcome = { placement, entitled, because, freshAssignment: false };
  draft.put({ kind: 'put-container', container: toContainer(draft.model, pod.sandbox, container, outcome) });
  learnRecord(draft, container, live);
}

/**
 * A container that is entitled to n CPUs and already sits on exactly n that nobody has, or that lie idle in its pod:
 * state was lost, the promise was not. It stays where it is.
 */
function adoptAsItIs(draft: Draft, pod: ResolvedPod, container: ContainerInfo, live: LiveCpusets): boolean {
  const { model } = draft;
  if (hasLivingNamesake(model, pod, container)) return false;
  const { chosen, request } = entitle(model.settings, pod, container);
  const cpus = live.get(container.id) ?? readList(container.resources.cpus);
  if (request.kind !== 'exclusive' || chosen.policy === 'none' || !cpus) return false;
  if (KINDS[chosen.policy].claim === 'numa-nodes') return false; // moving costs it nothing
  const { scheduled } = readSchedule(model.topology, pod, container, chosen, request.count).found;
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
    mems: CpuSet.empty,
    because,
    steps: [],
  };
  if (KINDS[chosen.policy].claim === 'exclusive' && !isWithinFloors(snapshot, decision)) return false;
  const assignment = assign(draft, pod, container, { requested: request.count, chosen, decision });
  bind(draft, pod, container, assignment, live);
  draft.report({ kind: 'restored', who: namesOf(pod, container), cpus, because });
  return true;
}

/** What runtime and kernel have is learnt as it is; `planMoves` finds what differs from the promise. */
function learnRecord(draft: Draft, container: ContainerInfo, live: LiveCpusets): void {
  const known = draft.model.containers.get(container.id);
  if (!known) return;
  const recorded = toPromise(readList(container.resources.cpus));
  const told = live.has(container.id) ? toPromise(live.get(container.id)) : recorded;
  const { told: _told, recorded: _recorded, ...rest } = known;
  draft.put({
    kind: 'put-container',
    container: { ...rest, phase: container.phase, ...(told && { told }), ...(recorded && { recorded }) },
  });
}

/**
 * A process before this one met the container already, and told of it. The record in the runtime follows late, or never where there is
 * no way to write it; what was moved in the kernel stays there.
 */
function wasPlacedBefore({ id, resources }: ContainerInfo, live: LiveCpusets): boolean {
  return resources.cpus !== undefined || live.get(id)?.isEmpty === false;
}

/** Started without us: neither the runtime's record nor the kernel carries a cpuset of its own, and ours always do. */
function noteGap(draft: Draft, pod: PodInfo, container: ContainerInfo): void {
  const known = draft.model.containers.get(container.id);
  if (known?.placement === 'left-alone') return;
  draft.report({
    kind: 'found-unpinned',
    who: namesOf(pod, container),
    placement: known?.placement,
    because: 'it was created while cpusetd was not registered with the runtime',
  });
}

function toPromise(cpus: CpuSet | undefined): CpuPromise | undefined {
  return cpus && !cpus.isEmpty ? { cpus, mems: CpuSet.empty } : undefined;
}

function readList(list: string | undefined): CpuSet | undefined {
  if (list === undefined) return undefined;
  try {
    return parseCpuList(list);
  } catch {
    return undefined; // written by someone else, in a form we don't read: it counts as not known
  }
}
