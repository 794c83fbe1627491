import type { AllocationStep } from '../allocation';
import { compareTexts } from '../text';
import { CpuSet } from '../cpuset';
import { sharesOfMilli } from '../inference/cri-numbers';
import { sumPodCpus } from '../inference/pod-cpus';
import { keyOf, type Assignment } from '../model/assignment';
import type { ContainerInfo, RefusalCode } from '../model/events';
import { KINDS } from '../model/pool-view';
import type { NodeView } from '../model/node-view';
import { findContainerSpec, runtimeUidOf, type ContainerSpec, type PodSpec } from '../model/pod-spec';
import type { PolicyName } from '../model/policies';
import { findSpec, withSpec, type ResolvedPod } from '../model/spec-book';
import { SCHEDULED_POLICIES } from '../policy';
import { mostDecisions, type Draft } from './draft';
import { decideFromPod, decidePlacement } from './decide';
import { entitle, entitledBySpec } from './entitlement';
import { dropForged, release } from './lifecycle';
import { assign, unassign } from './place';

// The kubelet admits pods as a whole. So where the API server tells of a pod, its CPUs are planned as a whole too: all of its
// containers get theirs, or none of them does, and nobody else gets them while an image is pulled.

/** A container that is still to come and is entitled to CPUs that no other pod can have. */
interface Wanted {
  readonly spec: ContainerSpec;
  readonly policy: PolicyName;
  readonly count: number;
}

/** A container that does not fit beside the others of its pod. */
export interface Unfit {
  readonly containerName: string;
  readonly code: RefusalCode;
  readonly because: string;
}

/** A pod was told, or told anew: it gets in the line of those that are to be planned, unless there is nothing to plan. */
export function enlist(draft: Draft, spec: PodSpec): void {
  const { model } = draft;
  if (!model.synchronized) return; // what its containers have is not known yet
  const podUid = uidOf(model, spec);
  if (podUid === undefined) return;
  if (podUid === spec.uid) dropForged(draft, spec);
  dropNeedless(draft, spec, podUid);
  const { uid } = spec;
  const since = model.unplanned.get(uid);
  if (isDue(model, spec)) draft.put({ kind: 'put-unplanned', uid, since: since ?? draft.now });
  else if (since !== undefined) draft.put({ kind: 'drop-unplanned', uid });
}

/** Pods that one transaction looks at, most of which need no decision: they ask for more than there is. */
const MOST_LOOKS = 256;

/** Plans for those in the line, as far as there are CPUs: first who was told first. Who was `tried` is passed over. */
export function planWaiting(draft: Draft, tried: Set<string>): void {
  const { model } = draft;
  const line = [...model.unplanned].sort(
    ([a, since], [b, before]) => compareTexts(since, before) || compareTexts(a, b),
  );
  let looks = MOST_LOOKS;
  for (const [uid] of line) {
    if (tried.has(uid)) continue;
    // Pods behind in the line wait for the next transaction.
    if (looks-- === 0) return void draft.spend(Infinity);
    const spec = model.podSpecs.get(uid);
    if (!spec || !isDue(model, spec)) {
      draft.put({ kind: 'drop-unplanned', uid });
      continue;
    }
    const podUid = uidOf(model, spec)!;
    const wanted = listWanted(model, spec, podUid);
    if (lacksOnline(model, podUid)) {
      tried.add(uid); // planned anew, others of the pod would take what is left of it
      continue;
    }
    if (!mayFit(model, podUid, wanted)) {
      tried.add(uid);
      dropHalf(draft, podUid, wanted);
      continue;
    }
    if (!draft.spend(wanted.length)) return;
    tried.add(uid);
    const unfit = plan(draft, podOf(model, spec), wanted, false);
    if (unfit) dropHalf(draft, podUid, wanted);
    else draft.put({ kind: 'drop-unplanned', uid });
  }
}

/**
 * Plans a pod at the latest when a container of it is about to be made. Undefined when that one may be decided on: the pod
 * has its CPUs as a whole now, or had some before, or nobody knows what it needs. Else who of it does not fit.
 */
export function planAtCreation(draft: Draft, pod: ResolvedPod, container: ContainerInfo): Unfit | undefined {
  const { model } = draft;
  const { spec } = pod;
  const containerSpec = findContainerSpec(spec, container.name);
  if (!spec || spec.finished || !containerSpec) return undefined;
  const { chosen, request } = entitle(model.settings, pod, container);
  const asked = wantedOf(model, spec, containerSpec);
  if (!asked || request.kind !== 'exclusive' || request.count !== asked.count || chosen.policy !== asked.policy)
    return undefined;
  const wanted = listWanted(model, spec, pod.uid, container.name);
  if (wanted.length < 2 || wanted.length > mostDecisions(model)) return undefined;
  const unfit = plan(draft, pod, wanted, true);
  return model.assignmentsOf(pod.uid).length > 0 ? undefined : unfit;
}

/**
 * The containers that are still to come, in the order in which the kubelet makes them; `making` is made now. An init container
 * has ended, whether or not the API server says so yet, when one after it was made.
 */
function listWanted(view: NodeView, spec: PodSpec, podUid: string, making?: string): Wanted[] {
  const living = new Set(view.containersOf(podUid).map(({ name }) => name));
  const began = ({ name, ended }: ContainerSpec): boolean => ended || living.has(name) || name === making;
  const last = spec.containers.findLastIndex(began);
  return spec.containers.flatMap((container, i) => {
    const { name, kind, ended } = container;
    const isOver = living.has(name) || ended || (kind === 'init' && i < last);
    return isOver && name !== making ? [] : (wantedOf(view, spec, container) ?? []);
  });
}

function wantedOf(view: NodeView, spec: PodSpec, container: ContainerSpec): Wanted | undefined {
  const entitled = entitledBySpec(view.settings, spec, container);
  return entitled && KINDS[entitled.policy].claim !== 'numa-nodes' ? { spec: container, ...entitled } : undefined;
}

/**
 * The uid of the pod that this is the spec of. A mirror can be forged: it is none of a pod that has a spec of its own, or that is
 * known by another name.
 */
function uidOf(view: NodeView, spec: PodSpec): string | undefined {
  const uid = runtimeUidOf(spec);
  if (uid === spec.uid) return uid;
  const { namespace, name } = spec;
  const isOther = (known: { readonly namespace: string; readonly name: string }): boolean =>
    known.namespace !== namespace || known.name !== name;
  const isForged =
    view.podSpecs.has(uid) ||
    view.podsOf(uid).some(isOther) ||
    view.assignmentsOf(uid).some((of) => isOther({ namespace: of.podNamespace, name: of.podName }));
  return isForged ? undefined : uid;
}

/** True when a container is to come that does not have the CPUs that it asks for. A pod of too many is decided on one by one. */
function isDue(view: NodeView, spec: PodSpec): boolean {
  const podUid = uidOf(view, spec);
  if (spec.finished || podUid === undefined) return false;
  const wanted = listWanted(view, spec, podUid);
  if (wanted.length > mostDecisions(view)) return false;
  return wanted.some(({ spec: { name }, policy, count }) => {
    const own = view.assignments.get(keyOf({ podUid, containerName: name }));
    return own?.kind !== policy || own.requested !== count || (own.scope === undefined && own.cpus.size !== count);
  });
}

/** Some of what was planned for it is offline, and may come back before the container is made. */
function lacksOnline(view: NodeView, podUid: string): boolean {
  const { online } = view.topology;
  return view.assignmentsOf(podUid).some(({ planned, cpus }) => planned === true && !cpus.isSubsetOf(online));
}

/** True when there are as many CPUs as they ask for: that costs no decision. Containers that do not fit may share, where that is the rule. */
function mayFit(view: NodeView, podUid: string, wanted: readonly Wanted[]): boolean {
  if (view.settings.onInsufficientCpu === 'share') return true;
  const ofPod = CpuSet.unionOf(view.assignmentsOf(podUid).map(({ cpus }) => cpus));
  // The containers of the pod share the CPUs that a scheduler chose for it.
  const perContainer = wanted.filter(({ policy }) => !SCHEDULED_POLICIES.has(policy));
  const most = sumPodCpus(perContainer.map(({ spec: { kind }, count }) => ({ kind, cpus: count })));
  return view.free.size + ofPod.size >= most;
}

/** Gives back at once the CPUs that were planned for containers that are no more entitled to them. */
function dropNeedless(draft: Draft, spec: PodSpec, podUid: string): void {
  const { model } = draft;
  for (const assignment of model.assignmentsOf(podUid)) {
    if (!assignment.planned) continue;
    const container = findContainerSpec(spec, assignment.containerName);
    const isNeeded = container !== undefined && wantedOf(model, spec, container)?.policy === assignment.kind;
    if (!isNeeded) release(draft, assignment, 'the pod asks for them no more');
  }
}

/** A pod that asks for other numbers by now, and does not get them as a whole, holds nothing meanwhile unless it runs. */
function dropHalf(draft: Draft, podUid: string, wanted: readonly Wanted[]): void {
  const { model } = draft;
  const planned = model.assignmentsOf(podUid).filter((assignment) => assignment.planned);
  const counts = countsOf(wanted);
  const changed = planned.filter(({ containerName, requested }) => counts.get(containerName) !== requested);
  if (changed.length === 0) return;
  const runs = model.containersOf(podUid).length > 0;
  for (const assignment of runs ? changed : planned)
    release(draft, assignment, 'its pod asks for another number of CPUs by now, and can not have all of them');
}

function countsOf(wanted: readonly Wanted[]): ReadonlyMap<string, number> {
  return new Map(wanted.map(({ spec, count }) => [spec.name, count]));
}

/**
 * Decides for all of them as if they were made one after the other, and puts what each of them will have beyond what others of
 * its pod leave to it. Nothing is put when one of them does not fit.
 */
function plan(draft: Draft, pod: ResolvedPod, wanted: readonly Wanted[], atCreation: boolean): Unfit | undefined {
  if (isPlanned(draft, pod, wanted)) return undefined;
  const simulated = simulate(draft, pod, wanted);
  if ('unfit' in simulated) return simulated.unfit;
  const { model } = draft;
  const names = new Set(wanted.map(({ spec }) => spec.name));
  const before = model.assignmentsOf(pod.uid);
  let taken = CpuSet.unionOf(before.filter(({ planned }) => !planned).map(({ cpus }) => cpus));
  for (const assignment of before)
    if (assignment.planned && names.has(assignment.containerName))
      draft.put({ kind: 'drop-assignment', key: keyOf(assignment) });
  for (const { assignment, steps } of simulated.placed) {
    const rest = assignment.cpus.minus(taken);
    taken = taken.union(rest);
    if (rest.isEmpty) continue;
    const { containerName, because } = assignment;
    const had = before.find((own) => own.containerName === containerName && !own.planned);
    const kept = had ? keptOf(model, had, assignment) : CpuSet.empty;
    const cpus = rest.union(kept);
    const planned = { ...assignment, cpus, containerId: null, ...(!had && { planned: true as const }) };
    draft.put({ kind: 'put-assignment', assignment: planned });
    const who = { podUid: pod.uid, pod: `${pod.namespace}/${pod.name}`, container: containerName };
    draft.report({ kind: 'planned', who, cpus, because, atCreation, steps });
  }
  return undefined;
}

/** CPUs that it had before it ended it keeps, for whoever of its pod runs in between; where it held them in another way, those that it will have again. */
function keptOf(view: NodeView, had: Assignment, now: Assignment): CpuSet {
  const others = view.assignmentsOf(had.podUid).filter((other) => keyOf(other) !== keyOf(had));
  const alone = had.cpus.minus(view.settings.reserved).minus(CpuSet.unionOf(others.map(({ cpus }) => cpus)));
  return had.kind === now.kind && had.scope === now.scope ? alone : alone.intersect(now.cpus);
}

interface Placed {
  readonly assignment: Assignment;
  readonly steps: readonly AllocationStep[];
}

/** The assignments that the containers would have at their creations. Nothing of it stays in the draft. */
function simulate(
  draft: Draft,
  pod: ResolvedPod,
  wanted: readonly Wanted[],
): { readonly placed: readonly Placed[] } | { readonly unfit: Unfit } {
  let unfit: Unfit | undefined;
  const placed: Placed[] = [];
  rehearse(draft, pod, wanted, (container) => {
    const { chosen, request, decision } = decidePlacement(draft.model, pod, container);
    if (decision.kind === 'refuse') {
      unfit = { containerName: container.name, code: decision.code, because: decision.because };
      return undefined;
    }
    if (decision.kind === 'share') {
      unassign(draft, pod, container.name);
      return 'shares';
    }
    const requested = request.kind === 'exclusive' ? request.count : 0;
    const assignment = assign(draft, pod, container, { requested, chosen, decision });
    placed.push({ assignment, steps: decision.steps });
    return assignment;
  });
  return unfit ? { unfit } : { placed };
}

/** True when all of them get the CPUs that they ask for out of those of the pod. */
function isPlanned(draft: Draft, pod: ResolvedPod, wanted: readonly Wanted[]): boolean {
  const ofPod = draft.model.assignmentsOf(pod.uid);
  const counts = countsOf(wanted);
  const asks = ({ planned, containerName, requested }: Assignment): boolean =>
    planned !== true || (counts.get(containerName) ?? requested) === requested;
  if (ofPod.length === 0 || !ofPod.every(asks)) return false;
  return rehearse(draft, pod, wanted, (container) => {
    const decided = decideFromPod(draft.model, pod, container);
    if (decided?.decision.kind !== 'pin' || decided.request.kind !== 'exclusive') return undefined;
    const { chosen, request, decision } = decided;
    return assign(draft, pod, container, { requested: request.count, chosen, decision });
  });
}

/**
 * Makes the containers one after the other, and takes all of it back. An init container has ended when the next one is made; a
 * sidecar has not. True when `make` made all of them.
 */
function rehearse(
  draft: Draft,
  pod: ResolvedPod,
  wanted: readonly Wanted[],
  make: (container: ContainerInfo) => Assignment | 'shares' | undefined,
): boolean {
  const { model } = draft;
  let isWhole = true;
  draft.attempt(() => {
    for (const assignment of model.assignmentsOf(pod.uid))
      if (assignment.containerId !== null && findContainerSpec(pod.spec, assignment.containerName)?.kind === 'init')
        end(assignment);
    for (const { spec: container } of wanted) {
      const made = make(infoOf(pod, container));
      if (made === undefined) {
        isWhole = false;
        break;
      }
      if (made !== 'shares' && container.kind === 'init') end(made);
    }
    return { ok: false };
  });
  return isWhole;

  function end(assignment: Assignment): void {
    draft.put({ kind: 'put-assignment', assignment: { ...assignment, containerId: null } });
  }
}

/** The pod as the runtime has it, or will have it. */
function podOf(view: NodeView, spec: PodSpec): ResolvedPod {
  const uid = runtimeUidOf(spec);
  const { namespace, name, annotations } = spec;
  const known = view.podsOf(uid).find((pod) => findSpec(view, pod) === spec);
  return withSpec(known ?? { sandboxId: '', uid, namespace, name, annotations, cgroupParent: '' }, spec);
}

/** The container as the kubelet will ask for it, as far as that decides. */
function infoOf(
  { sandboxId }: ResolvedPod,
  { name, requestMilliCpu = 0, limitMemoryBytes }: ContainerSpec,
): ContainerInfo {
  const resources = {
    shares: sharesOfMilli(requestMilliCpu),
    ...(limitMemoryBytes !== undefined && { memoryLimitBytes: limitMemoryBytes }),
  };
  return { id: `${name} to come`, sandboxId, name, phase: 'creating', cgroupsPath: '', resources };
}
