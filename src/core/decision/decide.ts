import type { NodeView } from '../model/node-view';
import { DEFAULT_KIND } from '../model/policies';
import { KINDS } from '../model/pool-view';
import { POLICIES, resize, type Decision, type Snapshot } from '../policy';
import type { Asked } from './asked';
import { followChoice, remarkUnfollowed } from './scheduled-choice';
import { isMisplaced, snapshotFor, snapshotOfRunning } from './snapshot';

/** Maximum length of a name in the key of an assignment: a key can't be cut. */
const MAX_KEY_LENGTH = 253;

/** The decision of a policy on what a container asks for. */
export interface PlacementDecision extends Asked {
  readonly decision: Decision;
}

/** Decides by the policy of a container. */
export function decidePlacement(
  view: NodeView,
  asked: Asked,
  {
    fromPod = false,
    mayShare = !asked.runs && view.settings.onInsufficientCpu === 'share',
  }: {
    /** Only CPUs that its pod has are for it. */
    readonly fromPod?: boolean;
    /** It shares when it does not fit. By default as the operator chose. */
    readonly mayShare?: boolean;
  } = {},
): PlacementDecision {
  const { podUid, containerName, chosen, request, held, amounts, choice, remarks } = asked;
  if (Math.max(podUid.length, containerName.length) > MAX_KEY_LENGTH) {
    const because = `the uid of the pod or the name of the container has more than ${MAX_KEY_LENGTH} characters, and Kubernetes makes no such`;
    return { ...asked, decision: { kind: 'refuse', code: 'INVALID_ARGUMENT', because } };
  }
  if (request.kind === 'conflict')
    return { ...asked, decision: { kind: 'refuse', code: 'FAILED_PRECONDITION', because: request.because } };
  if (!amounts) return { ...asked, decision: { kind: 'share', because: request.because } };
  const snapshot = snapshotOf(view, asked, fromPod);
  if (held) return { ...asked, decision: explainBound(snapshot, resize(snapshot, amounts, held.kind)) };
  const chosenByScheduler = followChoice(choice, snapshot, choice.shared ? view.assignmentsOf(podUid) : []);
  const decision = explainBound(snapshot, POLICIES[chosen.policy](snapshot, { ...amounts, ...chosenByScheduler }));
  const unfollowed = decision.kind === 'pin' && decision.unfollowed !== undefined ? [decision.unfollowed] : [];
  const fallsBack = mayShare && decision.kind === 'refuse' && decision.code !== 'INTERNAL';
  return {
    ...asked,
    decision: fallsBack ? { kind: 'share', because: `${decision.because}; on-insufficient-cpu is share` } : decision,
    remarks: [...remarks, ...choice.remarks, ...unfollowed.map(remarkUnfollowed)],
  };
}

/** The view of the policy that decides. `fromPod`: only CPUs that its pod has are free. */
function snapshotOf(
  view: NodeView,
  { podUid: uid, containerName, chosen: { policy }, leftAlone, held, runs }: Asked,
  fromPod: boolean,
): Snapshot {
  const kind = held?.kind ?? (policy === 'none' ? DEFAULT_KIND : policy);
  const whole = runs
    ? snapshotOfRunning(view, { uid }, containerName, kind)
    : snapshotFor(view, { uid }, containerName, kind);
  return {
    ...whole,
    ...(leftAlone === 'memory' && { leavesMemory: true as const }),
    ...(fromPod && { free: whole.free.intersect(whole.ownedByPod) }),
  };
}

/**
 * Decides on a container before it runs: from the CPUs that its pod has, where these are enough, else from all that are
 * free.
 */
export function decide(view: NodeView, asked: Asked): PlacementDecision {
  return decideFromPod(view, asked) ?? decidePlacement(view, asked);
}

/**
 * Decides on a container from the CPUs that its pod has already; undefined when these are not enough, or when the needs
 * of the rest of the pod are not known. The decision on CPUs that were planned for a pod is the one that planned them,
 * whatever is free by now.
 */
export function decideFromPod(view: NodeView, asked: Asked): PlacementDecision | undefined {
  const { podUid, containerName, isInSpec } = asked;
  const { count, planned } = view.holdingsOf(podUid);
  if (count === 0 || (!isInSpec && planned === 0)) return undefined;
  const own = view.assignmentFor(podUid, containerName);
  if (own && isMisplaced(view, own)) return undefined;
  const decided = decidePlacement(view, asked, { fromPod: true, mayShare: false });
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
