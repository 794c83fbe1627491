import type { AllocationStep } from '../allocation';
import { CpuSet } from '../cpuset';
import { sharesOfMilli } from '../inference/cri-numbers';
import { cutText, keyOf, type Assignment } from '../model/assignment';
import type { ContainerInfo, RefusalCode } from '../model/events';
import type { ContainerKind } from '../model/pod-kinds';
import type { NodeView } from '../model/node-view';
import { findContainerSpec, isMadeAgain, type ContainerSpec, type PodSpec } from '../model/pod-spec';
import type { PolicyName } from '../model/policies';
import { KINDS } from '../model/pool-view';
import type { ResolvedPod } from '../model/spec-book';
import { entitledBySpec, entitledCpus } from '../decision/entitlement';
import { readAsked, type Asked } from '../decision/asked';
import { decide, decideFromPod, decidePlacement, type PlacementDecision } from '../decision/decide';
import { mostDecisions, type Draft } from './draft';
import { assign, unassign } from './place';

// The kubelet admits a pod as a whole. Where the pod's spec is known, its CPUs are planned as a whole too: all of its
// containers get theirs or none does, and no other pod gets them while an image is pulled.

/** A container that is still to come and is entitled to CPUs that no other pod can have. */
export interface Wanted {
  readonly spec: ContainerSpec;
  readonly policy: PolicyName;
  readonly count: number;
}

interface PlannedContainer {
  readonly assignment: Assignment;
  readonly steps: readonly AllocationStep[];
}

/** A container that does not fit beside the others of its pod. */
export interface Unfit {
  readonly containerName: string;
  readonly code: RefusalCode;
  readonly because: string;
}

/**
 * Decides on a container that is about to be created. Its pod is planned as a whole first, where its needs are known:
 * it is refused when another container of the pod does not fit beside it. One that does not fit even alone is refused
 * with its own reason.
 */
export function decideCreation(draft: Draft, pod: ResolvedPod, asked: Asked): PlacementDecision {
  const fromPod = decideFromPod(draft.model, asked);
  if (fromPod) return fromPod;
  const unfit = planAtCreation(draft, pod, asked);
  const decided = decide(draft.model, asked);
  if (!unfit || decided.decision.kind === 'refuse') return decided;
  const because =
    `the containers of a pod get their CPUs together, and container ${unfit.containerName} of this one does not fit beside ` +
    `the others: ${unfit.because}`;
  return { ...decided, decision: { kind: 'refuse', code: unfit.code, because }, remarks: [] };
}

/**
 * Plans a pod when a container of it is about to be created. Undefined when that container may be decided on: the pod
 * has its CPUs as a whole now, or had some before, or its needs are not known. Else the container that does not fit.
 */
function planAtCreation(draft: Draft, pod: ResolvedPod, { containerName, chosen, request }: Asked): Unfit | undefined {
  const { model } = draft;
  const { spec } = pod;
  const containerSpec = findContainerSpec(spec, containerName);
  if (!spec || !isMadeAgain(spec) || !containerSpec) return undefined;
  const bySpec = wantedOf(model, spec, containerSpec);
  if (!bySpec || request.kind !== 'exclusive' || request.count !== bySpec.count || chosen.policy !== bySpec.policy)
    return undefined;
  const wanted = listWanted(model, spec, pod.uid, containerName);
  if (wanted.length < 2 || wanted.length > mostDecisions(model)) return undefined;
  const unfit = planPod(draft, pod, wanted, { atCreation: true });
  return model.assignmentsOf(pod.uid).length > 0 ? undefined : unfit;
}

/**
 * Decides on all containers as if they were created one after the other, and puts for each the CPUs that earlier
 * containers of the pod do not leave to it. Puts nothing when one does not fit.
 */
export function planPod(
  draft: Draft,
  pod: ResolvedPod,
  wanted: readonly Wanted[],
  { atCreation }: { readonly atCreation: boolean },
): Unfit | undefined {
  const { model } = draft;
  const toCome = wanted.map(({ spec }): ToCome => {
    const container = requestFor(pod, spec);
    return { container, kind: spec.kind, asked: readAsked(model, pod, container) };
  });
  if (isPlanned(draft, pod, wanted, toCome)) return undefined;
  const { planned: simulated, unfit } = simulate(draft, pod, toCome);
  if (unfit) return unfit;
  const names = new Set(wanted.map(({ spec }) => spec.name));
  const before = model.assignmentsOf(pod.uid);
  let taken = CpuSet.unionOf(before.filter(({ planned }) => !planned).map(({ cpus }) => cpus));
  for (const assignment of before)
    if (assignment.planned && names.has(assignment.containerName))
      draft.put({ kind: 'drop-assignment', key: keyOf(assignment) });
  for (const { assignment, steps } of simulated) {
    const rest = assignment.cpus.minus(taken);
    taken = taken.union(rest);
    if (rest.isEmpty) continue;
    const { containerName, because } = assignment;
    const had = before.find((own) => own.containerName === containerName && !own.planned);
    const kept = had ? keptOf(model, had, assignment) : CpuSet.empty;
    const cpus = rest.union(kept);
    const planned = { ...assignment, cpus, containerId: null, ...(!had && { planned: true as const }) };
    draft.put({ kind: 'put-assignment', assignment: planned });
    const subject = { podUid: pod.uid, pod: `${pod.namespace}/${pod.name}`, container: containerName };
    draft.report({ kind: 'planned', subject, cpus, because, atCreation, steps });
  }
  return undefined;
}

/**
 * The CPUs that an ended container keeps: those that it had alone, for the containers of its pod that run before it is
 * created again. Of CPUs that it had with another claim, it keeps those that it gets again.
 */
function keptOf(view: NodeView, had: Assignment, now: Assignment): CpuSet {
  const others = view.assignmentsOf(had.podUid).filter((other) => keyOf(other) !== keyOf(had));
  const alone = had.cpus.minus(view.settings.reserved).minus(CpuSet.unionOf(others.map(({ cpus }) => cpus)));
  return had.kind === now.kind && had.scope === now.scope ? alone : alone.intersect(now.cpus);
}

/** A container that is still to come, as the kubelet will ask for it. */
interface ToCome {
  readonly container: ContainerInfo;
  readonly kind: ContainerKind;
  readonly asked: Asked;
}

/** The assignments that the containers would get at their creation. The draft stays as it was. */
function simulate(
  draft: Draft,
  pod: ResolvedPod,
  toCome: readonly ToCome[],
): { readonly planned: readonly PlannedContainer[]; readonly unfit: Unfit | undefined } {
  let unfit: Unfit | undefined;
  const planned: PlannedContainer[] = [];
  rehearse(draft, pod, toCome, ({ container, asked }) => {
    const { chosen, request, decision } = decidePlacement(draft.model, asked);
    if (decision.kind === 'refuse') {
      unfit = { containerName: container.name, code: decision.code, because: decision.because };
      return undefined;
    }
    if (decision.kind === 'share') {
      unassign(draft, pod, container.name);
      return 'shares';
    }
    const assignment = assign(draft, pod, container, { requested: entitledCpus(request), chosen, decision });
    // Its memory nodes are chosen at its creation.
    planned.push({ assignment: { ...assignment, because: cutText(decision.because) }, steps: decision.steps });
    return assignment;
  });
  return { planned, unfit };
}

/** True when all containers get the CPUs that they ask for from those of the pod. */
function isPlanned(draft: Draft, pod: ResolvedPod, wanted: readonly Wanted[], toCome: readonly ToCome[]): boolean {
  const ofPod = draft.model.assignmentsOf(pod.uid);
  const counts = countsOf(wanted);
  const asks = ({ planned, containerName, requested }: Assignment): boolean =>
    planned !== true || (counts.get(containerName) ?? requested) === requested;
  if (ofPod.length === 0 || !ofPod.every(asks)) return false;
  return rehearse(draft, pod, toCome, ({ container, asked }) => {
    const decided = decideFromPod(draft.model, asked);
    if (decided?.decision.kind !== 'pin' || decided.request.kind !== 'exclusive') return undefined;
    const { chosen, request, decision } = decided;
    return assign(draft, pod, container, { requested: request.count, chosen, decision });
  });
}

/**
 * Creates the containers one after the other with `create`, and takes everything back. An init container has ended when
 * the next one is created; a sidecar has not. True when `create` made all of them.
 */
function rehearse(
  draft: Draft,
  pod: ResolvedPod,
  toCome: readonly ToCome[],
  create: (next: ToCome) => Assignment | 'shares' | undefined,
): boolean {
  const { model } = draft;
  let isWhole = true;
  draft.attempt(() => {
    for (const assignment of model.assignmentsOf(pod.uid))
      if (assignment.containerId !== null && findContainerSpec(pod.spec, assignment.containerName)?.kind === 'init')
        end(assignment);
    for (const next of toCome) {
      const created = create(next);
      if (created === undefined) {
        isWhole = false;
        break;
      }
      if (created !== 'shares' && next.kind === 'init') end(created);
    }
    return { ok: false };
  });
  return isWhole;

  function end(assignment: Assignment): void {
    draft.put({ kind: 'put-assignment', assignment: { ...assignment, containerId: null } });
  }
}

/** The container as the kubelet will ask for it, with the numbers that matter to a decision. */
function requestFor(
  { sandboxId }: ResolvedPod,
  { name, requestMilliCpu = 0, limitMemoryBytes, limitHugePages }: ContainerSpec,
): ContainerInfo {
  const resources = {
    shares: sharesOfMilli(requestMilliCpu),
    ...(limitMemoryBytes !== undefined && { memoryLimitBytes: limitMemoryBytes }),
    ...(limitHugePages && { hugePages: limitHugePages }),
  };
  return { id: `${name} to come`, sandboxId, name, phase: 'creating', cgroupsPath: '', resources };
}

/**
 * The containers that are still to come, in the order in which the kubelet creates them; `creating` is created now. An
 * init container has ended when a later container was created, even if the API server does not say so yet.
 */
export function listWanted(view: NodeView, spec: PodSpec, podUid: string, creating?: string): Wanted[] {
  const living = new Set(view.containersOf(podUid).map(({ name }) => name));
  const began = ({ name, ended }: ContainerSpec): boolean => ended || living.has(name) || name === creating;
  const last = spec.containers.findLastIndex(began);
  return spec.containers.flatMap((container, i) => {
    const { name, kind, ended } = container;
    const isOver = living.has(name) || ended || (kind === 'init' && i < last);
    return isOver && name !== creating ? [] : (wantedOf(view, spec, container) ?? []);
  });
}

/**
 * The CPUs that a container of a spec is entitled to; undefined when it has no claim to CPUs that no other pod can
 * have.
 */
export function wantedOf(view: NodeView, spec: PodSpec, container: ContainerSpec): Wanted | undefined {
  const entitled = entitledBySpec(view.settings, spec, container);
  return entitled && KINDS[entitled.policy].claim !== 'numa-nodes' ? { spec: container, ...entitled } : undefined;
}

/** The number of CPUs that each container asks for, by its name. */
export function countsOf(wanted: readonly Wanted[]): ReadonlyMap<string, number> {
  return new Map(wanted.map(({ spec, count }) => [spec.name, count]));
}
