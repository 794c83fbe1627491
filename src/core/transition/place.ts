import { excludesReserved } from '../annotations/annotations';
import { digestAnnotations } from '../annotations/decisive';
import { CpuSet } from '../cpuset';
import type { CpuRequest } from '../inference/infer-cpu-request';
import { cutText, keyOf, type Assignment, type KeptRules } from '../model/assignment';
import type { Container, Placement } from '../model/container';
import type { ContainerInfo, PodInfo, RuntimeAnswer } from '../model/events';
import { KINDS, mayOverlap } from '../model/pool-view';
import { namesOf } from '../model/names-of';
import type { NodeView } from '../model/node-view';
import type { ChosenPolicy } from '../model/policies';
import { rulesOf, type Settings } from '../model/settings';
import type { ResolvedPod } from '../model/spec-book';
import { withPromise } from '../plan/promise';
import { entitledCpus } from '../decision/entitlement';
import { explainDecision, type Decision } from '../policy';
import type { PlacementDecision } from '../decision/decide';
import type { Draft } from './draft';

export type Placed = { readonly kind: 'placed'; readonly container: Container; readonly liftQuota: boolean } | Refused;

export type Refused = Extract<RuntimeAnswer, { kind: 'refuse' }>;

/**
 * Writes the assignment of a decision and its events into the draft. The caller puts the container.
 *
 * `waitedSince`: the time since when it has waited for CPUs that are free on the node, RFC 3339. `switchedBecause`: it
 * runs, and this is the reason to place it again; it always gets a promise then.
 */
export function placeContainer(
  draft: Draft,
  pod: ResolvedPod,
  container: ContainerInfo,
  { chosen, request, leftAlone, decision, remarks }: PlacementDecision,
  { waitedSince, switchedBecause }: { readonly waitedSince?: string; readonly switchedBecause?: string } = {},
): Placed {
  const { model } = draft;
  const live = switchedBecause !== undefined;
  const why = switchedBecause ?? (waitedSince === undefined ? undefined : `it had waited since ${waitedSince}`);
  const reasonFor = (because: string): string => (why === undefined ? because : `${because}; ${why}`);
  const subject = namesOf(pod, container);
  for (const remark of remarks) draft.report({ kind: 'annotation-ignored', subject, ...remark });
  const entitled = entitledCpus(request);
  switch (decision.kind) {
    case 'refuse':
      return { kind: 'refuse', code: decision.code, message: decision.because };
    case 'pin': {
      const had = model.assignmentFor(pod.uid, container.name);
      const freshAssignment = !had && !model.holdingsOf(pod.uid).cpus.overlaps(decision.cpus);
      const besides = [...(decision.besides ?? []), ...(why === undefined ? [] : [why])];
      const pin = { requested: entitled, chosen, decision: { ...decision, besides } };
      const assignment = assign(draft, pod, container, pin);
      const { placement } = KINDS[assignment.kind];
      const { because } = assignment;
      const becauseOfCpus = cutText(decision.because);
      const outcome = { placement, entitledCpus: entitled, because, becauseOfCpus, freshAssignment };
      const placed = toContainer(model, pod, container, outcome);
      draft.report({
        kind: live ? 'switched' : 'pinned',
        subject,
        policy: chosen.policy,
        cpus: placed.promise?.cpus,
        because,
        steps: decision.steps,
      });
      return { kind: 'placed', liftQuota: assignment.quotaLifted, container: placed };
    }
    case 'share': {
      unassign(draft, pod, container.name);
      const isLeftAlone = leftAlone === 'all';
      const isUntouched =
        isLeftAlone ||
        (!live &&
          model.settings.cpuManagerPolicy === 'none' &&
          model.exclusive.isEmpty &&
          !excludesReserved(pod.annotations));
      const because = reasonFor(`${decision.because}${explainBrought(model, pod, container, isUntouched)}`);
      const placement = isUntouched ? 'left-alone' : 'shared';
      const placed = toContainer(model, pod, container, {
        placement,
        entitledCpus: entitled,
        because,
        freshAssignment: false,
        ...(isLeftAlone && { leftAlone: true as const }),
      });
      const cpus = placed.promise?.cpus;
      if (live) draft.report({ kind: 'switched', subject, cpus, because });
      else {
        const isExpected = chosen.policy === 'none' || !isSurprising(request);
        draft.report({ kind: isUntouched ? 'left-alone' : 'shares', subject, cpus, because, isExpected });
      }
      return { kind: 'placed', liftQuota: false, container: placed };
    }
  }
}

/**
 * The CPUs that a container without an assignment brought; empty for others. Nothing is taken from one that is left
 * untouched.
 */
function explainBrought(view: NodeView, pod: PodInfo, container: ContainerInfo, isUntouched: boolean): string {
  const cpus = view.broughtTo(pod.uid, container.name)?.cpus;
  if (!cpus) return '';
  return `; its request brought CPUs ${cpus.toString()}${isUntouched ? '' : ', which it keeps but for those that others own'}`;
}

interface PlacementOutcome {
  readonly placement: Placement;
  readonly entitledCpus: number;
  readonly because: string;
  readonly becauseOfCpus?: string;
  readonly freshAssignment: boolean;
  readonly leftAlone?: true;
}

/** Makes the container of a decision, with the promise that follows. */
export function toContainer(
  view: NodeView,
  pod: PodInfo,
  container: ContainerInfo,
  outcome: PlacementOutcome,
): Container {
  const annotationDigest = digestAnnotations(pod.annotations, container.name);
  return withPromise(view, {
    id: container.id,
    sandboxId: pod.sandboxId,
    podUid: pod.uid,
    name: container.name,
    cgroupsPath: container.cgroupsPath,
    ...(container.pid !== undefined && { pid: container.pid }),
    phase: container.phase,
    resources: container.resources,
    ...(container.oomScoreAdj !== undefined && { oomScoreAdj: container.oomScoreAdj }),
    ...(excludesReserved(pod.annotations) && { avoidsReserved: true as const }),
    ...(annotationDigest !== '' && { annotationDigest }),
    ...outcome,
  });
}

/** Puts a container that shares, whatever it is entitled to. `why`: the reason, for the operator. */
export function putShared(draft: Draft, pod: ResolvedPod, container: ContainerInfo, why: string): void {
  const outcome = { placement: 'shared', entitledCpus: 0, because: `shares: ${why}`, freshAssignment: false } as const;
  draft.put({ kind: 'put-container', container: toContainer(draft.model, pod.sandbox, container, outcome) });
}

/** True when a container shares although it, or its numbers, asked for CPUs of its own. */
function isSurprising(request: CpuRequest): boolean {
  return request.kind === 'exclusive' || (request.kind === 'shared' && request.doubt !== undefined);
}

export interface Assigned {
  /** Whole CPUs that the container asked for. */
  readonly requested: number;
  readonly chosen: ChosenPolicy;
  readonly decision: Extract<Decision, { kind: 'pin' }>;
}

/** Puts the assignment of a decision, and takes its CPUs out of the assignments of the pod that had them, idle. */
export function assign(
  draft: Draft,
  pod: PodInfo,
  container: ContainerInfo,
  { requested, chosen, decision }: Assigned,
): Assignment {
  const { model } = draft;
  const { assignmentKind: kind, nodes, scope } = decision;
  const before = model.assignmentFor(pod.uid, container.name);
  const assignment: Assignment = {
    podUid: pod.uid,
    podNamespace: cutText(pod.namespace),
    podName: cutText(pod.name),
    containerName: container.name,
    kind,
    cpus: decision.cpus,
    ...(nodes && { nodes }),
    ...(scope && { scope }),
    mems: decision.mems,
    requested,
    containerId: container.id,
    quotaLifted:
      KINDS[kind].claim === 'exclusive' && model.settings.liftCpuQuota && (container.resources.quotaUs ?? 0) > 0,
    rules: rulesFor(model.settings, chosen, decision.cpus),
    because: cutText(explainDecision(decision)),
    since: before && sameSet(before, decision) ? before.since : draft.now,
  };
  const { busy, idle } = model.heldBesides(pod.uid, container.name);
  const overlaps = [busy, idle.exclusive, idle['non-exclusive']].some((cpus) => cpus.overlaps(decision.cpus));
  for (const other of overlaps ? model.assignmentsOf(pod.uid) : []) {
    if (other === before || !other.cpus.overlaps(decision.cpus) || mayOverlap(other, assignment)) continue;
    const rest = other.cpus.minus(decision.cpus);
    draft.put(
      rest.isEmpty
        ? { kind: 'drop-assignment', key: keyOf(other) }
        : { kind: 'put-assignment', assignment: { ...other, cpus: rest } },
    );
  }
  draft.put({ kind: 'put-assignment', assignment });
  return assignment;
}

/** The rules of now. CPUs that it keeps from the time before they were reserved do not count as reserved for it. */
function rulesFor(settings: Settings, chosen: ChosenPolicy, cpus: CpuSet): KeptRules {
  const rules = rulesOf(settings, chosen);
  return rules.reserved.overlaps(cpus) ? { ...rules, reserved: rules.reserved.minus(cpus) } : rules;
}

function sameSet(before: Assignment, { cpus, nodes = CpuSet.empty }: Assigned['decision']): boolean {
  return before.cpus.equals(cpus) && (before.nodes ?? CpuSet.empty).equals(nodes);
}

/** Drops the assignment of a container that is no longer entitled to CPUs of its own, if it has one. */
export function unassign(draft: Draft, pod: PodInfo, containerName: string): void {
  const had = draft.model.assignmentFor(pod.uid, containerName);
  if (had) draft.put({ kind: 'drop-assignment', key: keyOf(had) });
}
