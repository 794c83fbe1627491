import { readTopologyResult, resultOf, TOPOLOGY_RESULT, totalOf } from '../annotations/topology-result';
import type { Remark } from '../annotations/annotations';
import { chooseLeaveAlone } from '../annotations/leave-alone';
import { CpuSet } from '../cpuset';
import { MAX_SHARES, milliOfShares } from '../inference/cri-numbers';
import type { ContainerKind } from '../model/pod-kinds';
import { askedHugePages } from '../model/asked-huge-pages';
import { assignmentOf, keyOf, type Assignment } from '../model/assignment';
import type { ContainerInfo } from '../model/events';
import type { NodeView } from '../model/node-view';
import { findContainerSpec } from '../model/pod-spec';
import type { Settings } from '../model/settings';
import { DEFAULT_KIND, POLICY_TABLE, type ChosenPolicy } from '../model/policies';
import { KINDS } from '../model/pool-view';
import type { ResolvedPod } from '../model/spec-book';
import { sum } from '../sum';
import {
  countHeldBySpec,
  entitle,
  entitledBySpec,
  podMilliCpuOf,
  POLICIES,
  readSchedule,
  requestOf,
  resize,
  type Decision,
  type Entitled,
  type PinRequest,
  type Snapshot,
} from '../policy';
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
  const entitled = entitleNow(view, now, container, held);
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
  const asked = amountsAsked(view, pod, container, { chosen, count, runs });
  if (held) return { ...entitled, decision: explainBound(snapshot, resize(snapshot, asked, kind)) };
  const scheduled = readSchedule(view.topology, now, container, chosen, count);
  const guided = readRest(view, now, container, { chosen, count, snapshot });
  const asking = { ...asked, ...scheduled.found, ...guided.found };
  const decision = explainBound(snapshot, POLICIES[chosen.policy](snapshot, asking));
  if (decision.kind === 'pin' && decision.unfollowed !== undefined) guided.remarks.push(ignored(decision.unfollowed));
  const fallsBack = mayShare && decision.kind === 'refuse' && decision.code !== 'INTERNAL';
  return {
    ...entitled,
    decision: fallsBack ? { kind: 'share', because: `${decision.because}; on-insufficient-cpu is share` } : decision,
    remarks: [...remarks, ...scheduled.remarks, ...guided.remarks],
  };
}

/** The entitlement of a container. One that has an assignment asks by the policy that gave it. */
function entitleNow(view: NodeView, pod: ResolvedPod, container: ContainerInfo, held?: Assignment): Entitled {
  if (!held) return entitle(view.settings, pod, container);
  const { leaves } = chooseLeaveAlone(view.settings, pod.sandbox, container.name);
  const request = requestOf(pod, container, held.kind);
  // A rule that came later does not take the CPUs that it has.
  return { chosen: held.rules, request, ...(leaves && { leftAlone: 'memory' as const }), remarks: [] };
}

/** The entitlement of a running container by other numbers. */
export function entitleRunning(view: NodeView, pod: ResolvedPod, container: ContainerInfo): Entitled {
  const held = assignmentOf(view, { ...container, podUid: pod.uid });
  return entitleNow(view, withoutSum(pod), container, held);
}

/** The amounts that a container with CPUs of its own asks for. `runs`: it was created before. */
export function amountsAsked(
  { settings }: Pick<NodeView, 'settings'>,
  pod: ResolvedPod,
  container: ContainerInfo,
  { chosen, count, runs }: { readonly chosen: ChosenPolicy; readonly count: number; readonly runs: boolean },
): PinRequest {
  const podCount = podCountOf(settings, pod, runs ? withoutSum(pod) : pod, { chosen, count });
  const hugePages = askedHugePages(pod.spec, container);
  return {
    count,
    ...(podCount !== undefined && { podCount }),
    memoryBytes: container.resources.memoryLimitBytes ?? 0,
    ...(hugePages && { hugePages }),
  };
}

/** The pod without the sum that it announced at its start. */
function withoutSum({ podResources: _older, ...pod }: ResolvedPod): ResolvedPod {
  return pod;
}

/**
 * Whole CPUs of all containers of the pod together, as far as they are known `now`; undefined when neither a spec nor
 * the runtime has sent its sum. The runtime's has those of containers that take none, too.
 */
function podCountOf(
  settings: Settings,
  pod: ResolvedPod,
  now: ResolvedPod,
  { chosen: { policy }, count }: { readonly chosen: ChosenPolicy; readonly count: number },
): number | undefined {
  if (pod.spec) return Math.max(count, countHeldBySpec(settings, pod.spec));
  if ((pod.podResources?.shares ?? 0) === 0) return undefined;
  return Math.max(count, Math.floor((podMilliCpuOf(now, policy) ?? milliOfShares(MAX_SHARES)) / 1000));
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
  const own = view.assignments.get(keyOf({ podUid: pod.uid, containerName: container.name }));
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

/**
 * The scheduler's choice for the pod without the CPUs of its other containers, for the static policy: that gives each
 * container its own CPUs. crane-scheduler chooses for all app containers together, so a sidecar has no part in it;
 * cpusetd's extender chooses for sidecars and init containers too, so the choice names more than the app containers ask
 * for. The CPUs of an init container count as left, since later containers take them over.
 */
function readRest(
  view: NodeView,
  pod: ResolvedPod,
  container: ContainerInfo,
  {
    chosen: { policy },
    count,
    snapshot: { topology, idleInPod },
  }: { readonly chosen: ChosenPolicy; readonly count: number; readonly snapshot: Snapshot },
): { readonly found: Pick<PinRequest, 'restOfResult'>; readonly remarks: Remark[] } {
  const kindOf = (name: string): ContainerKind => findContainerSpec(pod.spec, name)?.kind ?? 'app';
  if (POLICY_TABLE[policy].scheduledFor !== 'container') return { found: {}, remarks: [] };
  const isForAll = isForAllContainers(view.settings, pod);
  if (kindOf(container.name) === 'sidecar' && !isForAll) return { found: {}, remarks: [] };
  const { result, remarks } = readTopologyResult(topology, pod, {
    count,
    container,
    podMilliCpu: podMilliCpuOf(pod, policy),
  });
  if (!result) return { found: {}, remarks: [...remarks] };
  if (result.size === 0) return { found: {}, remarks: [ignored('it names no CPUs')] };
  const counted: readonly ContainerKind[] = isForAll ? ['app', 'sidecar'] : ['app'];
  const others = view
    .assignmentsOf(pod.uid)
    .filter(({ containerName }) => containerName !== container.name && counted.includes(kindOf(containerName)));
  const had = CpuSet.unionOf(others.map(({ cpus }) => cpus)).minus(idleInPod);
  const left = topology.numaNodes.map(({ id, cpus }) => [id, (result.get(id) ?? 0) - cpus.countIn(had)] as const);
  return { found: { restOfResult: new Map(left.filter(([, cpus]) => cpus > 0)) }, remarks: [] };
}

/** True for a choice of the scheduler that names more CPUs than the pod's app containers ask for. */
function isForAllContainers(settings: Settings, { spec, annotations }: ResolvedPod): boolean {
  const parsed = resultOf(annotations);
  if (!spec || parsed?.ok !== true || spec.containers.every(({ kind }) => kind === 'app')) return false;
  const ofApps = spec.containers.filter(({ kind }) => kind === 'app');
  return totalOf(parsed.result) > sum(ofApps.map((container) => entitledBySpec(settings, spec, container)?.count ?? 0));
}

function ignored(because: string): Remark {
  return { annotation: TOPOLOGY_RESULT, because: `${because}; CPUs are chosen here instead` };
}
