import { CpuSet } from '../cpuset';
import { sumPodCpus } from '../model/pod-cpus';
import type { NodeView } from '../model/node-view';
import { isReplaced } from '../model/pod-presence';
import { findContainerSpec, isMadeAgain, runtimeUidOf, type PodSpec } from '../model/pod-spec';
import { findSpec, withSpec, type ResolvedPod } from '../model/spec-book';
import { SCHEDULED_POLICIES } from '../decision/entitlement';
import { compareTexts } from '../text';
import { mostDecisions, type Draft } from './draft';
import { release, releaseForged } from './lifecycle';
import { countsOf, listWanted, planPod, wantedOf, type Wanted } from './plan-pod';

/** Queues a pod for planning after its spec has changed, unless there is nothing to plan. */
export function enqueue(draft: Draft, spec: PodSpec): void {
  const { model } = draft;
  if (!model.synchronized) return; // the assignments of its containers are not known yet
  const podUid = uidOf(model, spec);
  if (podUid === undefined) return;
  if (podUid === spec.uid) releaseForged(draft, spec);
  releaseUnneeded(draft, spec, podUid);
  const { uid } = spec;
  const since = model.unplanned.get(uid);
  if (isDue(model, spec)) draft.put({ kind: 'put-unplanned', uid, since: since ?? draft.now });
  else if (since !== undefined) draft.put({ kind: 'drop-unplanned', uid });
}

/** Maximum number of pods that one transaction looks at. Most need no decision: they ask for more than there is. */
const MAX_PODS = 256;

/** Plans the queued pods, as far as there are CPUs, the longest queued first. Pods in `tried` are left out. */
export function planPending(draft: Draft, tried: Set<string>): void {
  const { model } = draft;
  const queue = [...model.unplanned].sort(
    ([a, since], [b, before]) => compareTexts(since, before) || compareTexts(a, b),
  );
  let podsLeft = MAX_PODS;
  for (const [uid] of queue) {
    if (tried.has(uid)) continue;
    // The rest of the queue is for the next transaction.
    if (podsLeft-- === 0) return void draft.spend(Infinity);
    const spec = model.podSpecs.get(uid);
    if (!spec || !isDue(model, spec)) {
      draft.put({ kind: 'drop-unplanned', uid });
      continue;
    }
    const podUid = uidOf(model, spec)!;
    const wanted = listWanted(model, spec, podUid);
    if (lacksOnline(model, podUid)) {
      tried.add(uid); // in a new plan other containers of the pod would take the rest of its CPUs
      continue;
    }
    if (!mayFit(model, podUid, wanted)) {
      tried.add(uid);
      releasePartial(draft, podUid, wanted);
      continue;
    }
    if (!draft.spend(wanted.length)) return;
    tried.add(uid);
    const unfit = planPod(draft, podOf(model, spec), wanted, { atCreation: false });
    if (unfit) releasePartial(draft, podUid, wanted);
    else draft.put({ kind: 'drop-unplanned', uid });
  }
}

/**
 * The uid that the runtime has for the pod of a spec; undefined for a forged spec. Anyone can write a spec that claims
 * to be the mirror of a static pod: it is forged when that pod has a spec of its own, or another name.
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
    view
      .assignmentsOf(uid)
      .some((assignment) => isOther({ namespace: assignment.podNamespace, name: assignment.podName }));
  return isForged ? undefined : uid;
}

/**
 * True when a container is still to come without the CPUs that it asks for. A pod of too many containers is never
 * planned as a whole.
 */
function isDue(view: NodeView, spec: PodSpec): boolean {
  const podUid = uidOf(view, spec);
  if (!isMadeAgain(spec) || podUid === undefined) return false;
  const { namespace, name } = spec;
  if (isReplaced(view, { uid: podUid, namespace, name })) return false; // its mirror is still there, and the pod is not
  const wanted = listWanted(view, spec, podUid);
  if (wanted.length > mostDecisions(view)) return false;
  return wanted.some(({ spec: { name }, policy, count }) => {
    const own = view.assignmentFor(podUid, name);
    return own?.kind !== policy || own.requested !== count || (own.scope === undefined && own.cpus.size !== count);
  });
}

/** True when planned CPUs of the pod are offline: they may be online again before the container is created. */
function lacksOnline(view: NodeView, podUid: string): boolean {
  const { online } = view.topology;
  return view.assignmentsOf(podUid).some(({ planned, cpus }) => planned === true && !cpus.isSubsetOf(online));
}

/**
 * True when there are as many CPUs as the containers ask for, or when those that do not fit share. This takes no
 * decision.
 */
function mayFit(view: NodeView, podUid: string, wanted: readonly Wanted[]): boolean {
  if (view.settings.onInsufficientCpu === 'share') return true;
  const ofPod = CpuSet.unionOf(view.assignmentsOf(podUid).map(({ cpus }) => cpus));
  // The containers of the pod share the CPUs that a scheduler chose for it.
  const perContainer = wanted.filter(({ policy }) => !SCHEDULED_POLICIES.has(policy));
  const most = sumPodCpus(perContainer.map(({ spec: { kind }, count }) => ({ kind, cpus: count })));
  return view.free.size + ofPod.size >= most;
}

/** Gives back the CPUs that were planned for containers that are no longer entitled to them. */
function releaseUnneeded(draft: Draft, spec: PodSpec, podUid: string): void {
  const { model } = draft;
  for (const assignment of model.assignmentsOf(podUid)) {
    if (!assignment.planned) continue;
    const container = findContainerSpec(spec, assignment.containerName);
    const isNeeded = container !== undefined && wantedOf(model, spec, container)?.policy === assignment.kind;
    if (!isNeeded) release(draft, assignment, 'the pod asks for them no more');
  }
}

/**
 * Gives back the planned CPUs of a pod that asks for other numbers now and does not get all of them. A pod that runs
 * keeps the plans that have not changed.
 */
function releasePartial(draft: Draft, podUid: string, wanted: readonly Wanted[]): void {
  const { model } = draft;
  const planned = model.assignmentsOf(podUid).filter((assignment) => assignment.planned);
  const counts = countsOf(wanted);
  const changed = planned.filter(({ containerName, requested }) => counts.get(containerName) !== requested);
  if (changed.length === 0) return;
  const runs = model.containersOf(podUid).length > 0;
  for (const assignment of runs ? changed : planned)
    release(draft, assignment, 'its pod asks for another number of CPUs by now, and can not have all of them');
}

/** The pod as the runtime has it, or will have it. */
function podOf(view: NodeView, spec: PodSpec): ResolvedPod {
  const uid = runtimeUidOf(spec);
  const { namespace, name, annotations } = spec;
  const known = view.podsOf(uid).find((pod) => findSpec(view, pod) === spec);
  return withSpec(known ?? { sandboxId: '', uid, namespace, name, annotations, cgroupParent: '' }, spec);
}
