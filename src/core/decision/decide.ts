import type { Assignment } from '../model/assignment';
import type { ContainerInfo } from '../model/events';
import type { NodeView } from '../model/node-view';
import { findContainerSpec } from '../model/pod-spec';
import { DEFAULT_KIND } from '../model/policies';
import { KINDS } from '../model/pool-view';
import type { ResolvedPod } from '../model/spec-book';
import { POLICIES, resize, type Decision, type Snapshot } from '../policy';
import { amountsAsked } from './amounts-asked';
import { entitle, withoutSum, type Entitled } from './entitlement';
import { readChoice, remarkUnfollowed } from './scheduled-choice';
import { isMisplaced, snapshotFor, snapshotOfRunning } from './snapshot';

/** Maximum length of a name in the key of an assignment: a key can't be cut. */
const MAX_KEY_LENGTH = 253;

/** The entitlement of a container, and the decision of its policy. */
export interface PlacementDecision extends Entitled {
  readonly decision: Decision;
}

/** The circumstances of a decision. */
export interface Circumstances {
  /** Only CPUs that its pod has are for it. */
  readonly fromPod?: boolean;
  /** It shares when it does not fit. By default as the operator chose. */
  readonly mayShare?: boolean;
  /**
   * It runs already. CPUs that lie idle in its pod are not for it: the containers that had them may come back. The sum
   * that its pod announced may be older than its own numbers. It is refused when it does not fit.
   */
  readonly runs?: boolean;
  /**
   * The assignment that it has, where it asks for another number of CPUs. It keeps these CPUs, and the policy that gave
   * them.
   */
  readonly held?: Assignment;
}

/** Reads the container's entitlement, and decides on it by the container's policy. */
export function decidePlacement(
  view: NodeView,
  pod: ResolvedPod,
  container: ContainerInfo,
  {
    fromPod = false,
    held,
    runs = held !== undefined,
    mayShare = !runs && view.settings.onInsufficientCpu === 'share',
  }: Circumstances = {},
): PlacementDecision {
  const now = runs ? withoutSum(pod) : pod;
  const entitled = entitle(view.settings, now, container, held);
  const { chosen, request, leftAlone, remarks } = entitled;
  if (Math.max(pod.uid.length, container.name.length) > MAX_KEY_LENGTH) {
    const because = `the uid of the pod or the name of the container has more than ${MAX_KEY_LENGTH} characters, and Kubernetes makes no such`;
    return { ...entitled, decision: { kind: 'refuse', code: 'INVALID_ARGUMENT', because } };
  }
  if (request.kind === 'conflict') {
    const decision = { kind: 'refuse', code: 'FAILED_PRECONDITION', because: request.because } as const;
    return { ...entitled, decision };
  }
  if (request.kind === 'shared') {
    return { ...entitled, decision: { kind: 'share', because: request.because } };
  }
  const { count } = request;
  const kind = held?.kind ?? (chosen.policy === 'none' ? DEFAULT_KIND : chosen.policy);
  const whole = runs
    ? snapshotOfRunning(view, pod, container.name, kind)
    : snapshotFor(view, pod, container.name, kind);
  const snapshot: Snapshot = {
    ...whole,
    ...(leftAlone === 'memory' && { leavesMemory: true as const }),
    ...(fromPod && { free: whole.free.intersect(whole.ownedByPod) }),
  };
  const asked = amountsAsked(view.settings, pod, container, { chosen, count, runs });
  if (held) return { ...entitled, decision: explainBound(snapshot, resize(snapshot, asked, kind)) };
  const choice = readChoice(view, now, container, { chosen, count, snapshot });
  const decision = explainBound(snapshot, POLICIES[chosen.policy](snapshot, { ...asked, ...choice.found }));
  const unfollowed = decision.kind === 'pin' && decision.unfollowed !== undefined ? [decision.unfollowed] : [];
  const fallsBack = mayShare && decision.kind === 'refuse' && decision.code !== 'INTERNAL';
  return {
    ...entitled,
    decision: fallsBack ? { kind: 'share', because: `${decision.because}; on-insufficient-cpu is share` } : decision,
    remarks: [...remarks, ...choice.remarks, ...unfollowed.map(remarkUnfollowed)],
  };
}

/**
 * Decides on a container before it runs: from the CPUs that its pod has, where these are enough, else from all that are
 * free.
 */
export function decide(view: NodeView, pod: ResolvedPod, container: ContainerInfo): PlacementDecision {
  return decideFromPod(view, pod, container) ?? decidePlacement(view, pod, container);
}

/**
 * Decides on a container from the CPUs that its pod has already; undefined when these are not enough, or when the needs
 * of the rest of the pod are not known. The decision on CPUs that were planned for a pod is the one that planned them,
 * whatever is free by now.
 */
export function decideFromPod(
  view: NodeView,
  pod: ResolvedPod,
  container: ContainerInfo,
): PlacementDecision | undefined {
  const { count, planned } = view.holdingsOf(pod.uid);
  if (count === 0) return undefined;
  if (!findContainerSpec(pod.spec, container.name) && planned === 0) return undefined;
  const own = view.assignmentFor(pod.uid, container.name);
  if (own && isMisplaced(view, own)) return undefined;
  const decided = decidePlacement(view, pod, container, { fromPod: true, mayShare: false });
  const { decision } = decided;
  if (decision.kind !== 'pin' || KINDS[decision.assignmentKind].claim === 'numa-nodes') return undefined;
  // The container is created for the first time: the reason for its CPUs is that of the plan.
  const isAsPlanned = own?.planned === true && own.cpus.equals(decision.cpus);
  return isAsPlanned ? { ...decided, decision: { ...decision, because: own.because } } : decided;
}

/** Adds the bounds that the request brought. A decision on CPUs has the memory nodes already. */
function explainBound({ brought }: Snapshot, decision: Decision): Decision {
  if (decision.kind === 'share' || !brought) return decision;
  const { cpus, mems } = brought;
  if (decision.kind === 'pin') {
    if (!cpus) return decision;
    const isBound = KINDS[decision.assignmentKind].claim !== 'numa-nodes';
    const list = `CPUs ${cpus.toString()}`;
    const bound = isBound ? `among ${list}, which its request brought` : `its request brought ${list}`;
    return { ...decision, besides: [...(decision.besides ?? []), bound] };
  }
  const bounds = [...(cpus ? [`CPUs ${cpus.toString()}`] : []), ...(mems ? [`memory nodes ${mems.toString()}`] : [])];
  return {
    ...decision,
    because: `${decision.because}; its request brought ${bounds.join(' and ')}, and is kept to them`,
  };
}
