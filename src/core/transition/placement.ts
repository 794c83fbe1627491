import { choosePolicy, readTopologyResult, TOPOLOGY_RESULT, type Remark } from '../annotations';
import { CpuSet } from '../cpuset';
import { MAX_SHARES, milliOfShares, type CpuRequest } from '../inference';
import { cutText, keyOf, type Assignment, type AssignmentKind } from '../model/assignment';
import type { ContainerInfo, PodInfo } from '../model/events';
import { asSpecSays, findContainerSpec, findSpec } from '../model/find-spec';
import { KINDS, mayOverlap, sharedCpusOfNodes } from '../model/pool-view';
import type { NodeView } from '../model/node-model';
import { DEFAULT_KIND, POLICY_TABLE, type ChosenPolicy } from '../model/policies';
import type { BytesByNode } from '../model/promised-memory';
import { rulesOf } from '../model/settings';
import { POLICIES, SCHEDULED_POLICIES, type Decision, type Followers, type PinRequest, type Snapshot } from '../policy';
import type { Draft } from './draft';
import { podMilliCpuOf, requestOf } from './request-of';

/** What an assignment is found by can't be cut. */
const MAX_KEY_LENGTH = 253;

/** Who decides for a container, what it is entitled to, and what becomes of it. */
export interface PlacementDecision {
  readonly chosen: ChosenPolicy;
  readonly request: CpuRequest;
  readonly decision: Decision;
  /** Annotations of the pod that are not followed. */
  readonly remarks: readonly Remark[];
}

/** Whose decision it is, and what the container is entitled to by its numbers. */
export function entitle(
  view: NodeView,
  pod: PodInfo,
  container: ContainerInfo,
): Pick<PlacementDecision, 'chosen' | 'request' | 'remarks'> {
  const { remarks, ...chosen } = choosePolicy(view.settings, asSpecSays(view, pod).annotations, container.name);
  return { chosen, request: requestOf(view, pod, container, chosen.policy), remarks };
}

/**
 * What the container is entitled to, and what the policy for it makes of that. `leaveIdle`: CPUs that others of its pod
 * left there are not for it. `fromPod`: only what the pod has is for it. `mayShare`: what does not fit shares instead.
 */
export function decidePlacement(
  view: NodeView,
  pod: PodInfo,
  container: ContainerInfo,
  {
    leaveIdle = false,
    fromPod = false,
    mayShare = view.settings.onInsufficientCpu === 'share',
  }: { readonly leaveIdle?: boolean; readonly fromPod?: boolean; readonly mayShare?: boolean } = {},
): PlacementDecision {
  const { chosen, request, remarks } = entitle(view, pod, container);
  if (Math.max(pod.uid.length, container.name.length) > MAX_KEY_LENGTH) {
    const because = `the uid of the pod or the name of the container has more than ${MAX_KEY_LENGTH} characters, and Kubernetes makes no such`;
    return { chosen, request, decision: { kind: 'refuse', code: 'INVALID_ARGUMENT', because }, remarks };
  }
  if (request.kind === 'conflict') {
    const decision = { kind: 'refuse', code: 'FAILED_PRECONDITION', because: request.because } as const;
    return { chosen, request, decision, remarks };
  }
  if (request.kind === 'shared') {
    return { chosen, request, decision: { kind: 'share', because: request.because }, remarks };
  }
  const scheduled = readSchedule(view, pod, container, chosen, request.count);
  const kind = chosen.policy === 'none' ? DEFAULT_KIND : chosen.policy;
  const whole = snapshotFor(view, pod, container.name, kind);
  const snapshot = {
    ...whole,
    ...(leaveIdle && { idleInPod: CpuSet.empty }),
    ...(fromPod && { free: whole.free.intersect(whole.ownedByPod) }),
  };
  const guided = readRest(view, pod, container, { chosen, count: request.count, snapshot });
  const decision = POLICIES[chosen.policy](snapshot, {
    count: request.count,
    podCount: Math.max(
      request.count,
      Math.floor((podMilliCpuOf(view, pod, chosen.policy) ?? milliOfShares(MAX_SHARES)) / 1000),
    ),
    memoryBytes: container.resources.memoryLimitBytes ?? 0,
    ...scheduled.found,
    ...guided.found,
  });
  if (decision.kind === 'pin' && decision.unfollowed !== undefined) guided.remarks.push(ignored(decision.unfollowed));
  const fallsBack = mayShare && decision.kind === 'refuse' && decision.code !== 'INTERNAL';
  return {
    chosen,
    request,
    decision: fallsBack ? { kind: 'share', because: `${decision.because}; on-insufficient-cpu is share` } : decision,
    remarks: [...remarks, ...scheduled.remarks, ...guided.remarks],
  };
}

/**
 * The same from what the pod has already; undefined where that does not hold it, or nobody knows what the pod needs beside it.
 * CPUs that were planned for a pod are so decided on as they were when they were planned, whatever is free by now.
 */
export function decideFromPod(view: NodeView, pod: PodInfo, container: ContainerInfo): PlacementDecision | undefined {
  const { count, planned } = view.holdingsOf(pod.uid);
  if (count === 0) return undefined;
  if (!findContainerSpec(findSpec(view, pod), container.name) && planned === 0) return undefined;
  const own = view.assignments.get(keyOf({ podUid: pod.uid, containerName: container.name }));
  const decided = decidePlacement(view, pod, container, { fromPod: true, mayShare: false });
  const { decision } = decided;
  if (decision.kind !== 'pin' || KINDS[decision.assignmentKind].claim === 'numa-nodes') return undefined;
  // It is not back: it comes for the first time, and this is why it has them.
  const isAsPlanned = own?.planned === true && own.cpus.equals(decision.cpus);
  return isAsPlanned ? { ...decided, decision: { ...decision, because: own.because } } : decided;
}

/** What the scheduler chose for the pod, where the policy goes by it. */
export function readSchedule(
  view: NodeView,
  pod: PodInfo,
  container: ContainerInfo,
  { policy }: ChosenPolicy,
  count: number,
): { readonly found: Pick<PinRequest, 'scheduled'>; readonly remarks: readonly Remark[] } {
  if (!SCHEDULED_POLICIES.has(policy)) return { found: {}, remarks: [] };
  const podMilliCpu = podMilliCpuOf(view, pod, policy);
  const { result, remarks } = readTopologyResult(view.topology, asSpecSays(view, pod), {
    count,
    container,
    podMilliCpu,
  });
  return { found: result ? { scheduled: result } : {}, remarks };
}

/**
 * The scheduler's choice for the pod, less what its other containers have, for the static policy: it gives each container its
 * own, while the result is for all app containers together. Sidecars are none of those that it was made for; an init
 * container takes its CPUs where those that come after it can take them over.
 */
function readRest(
  view: NodeView,
  pod: PodInfo,
  container: ContainerInfo,
  {
    chosen: { policy },
    count,
    snapshot: { topology, idleInPod },
  }: { readonly chosen: ChosenPolicy; readonly count: number; readonly snapshot: Snapshot },
): { readonly found: Pick<PinRequest, 'restOfResult'>; readonly remarks: Remark[] } {
  const spec = findSpec(view, pod);
  const kindOf = (name: string) => findContainerSpec(spec, name)?.kind;
  if (POLICY_TABLE[policy].scheduledFor !== 'container' || kindOf(container.name) === 'sidecar')
    return { found: {}, remarks: [] };
  const { result, remarks } = readTopologyResult(topology, asSpecSays(view, pod), {
    count,
    container,
    podMilliCpu: podMilliCpuOf(view, pod, policy),
  });
  if (!result) return { found: {}, remarks: [...remarks] };
  if (result.size === 0) return { found: {}, remarks: [ignored('it names no CPUs')] };
  const others = view
    .assignmentsOf(pod.uid)
    .filter(({ containerName }) => containerName !== container.name && (kindOf(containerName) ?? 'app') === 'app');
  const had = cpusOfAll(others).minus(idleInPod);
  const left = topology.numaNodes.map(({ id, cpus }) => [id, (result.get(id) ?? 0) - cpus.countIn(had)] as const);
  return { found: { restOfResult: new Map(left.filter(([, cpus]) => cpus > 0)) }, remarks: [] };
}

function ignored(because: string): Remark {
  return { annotation: TOPOLOGY_RESULT, because: `${because}; CPUs are chosen here instead` };
}

/**
 * What a policy that makes assignments of this kind may look at, for a container of this name in this pod.
 *
 * What the container had, and what lies idle in its pod, is `own` and `idleInPod` where it was held the same way; where it
 * was not, it counts as free, since the new decision replaces the old.
 */
export function snapshotFor(
  view: NodeView,
  pod: { readonly uid: string },
  containerName: string,
  kind: AssignmentKind = DEFAULT_KIND,
): Snapshot {
  const own = view.assignments.get(keyOf({ podUid: pod.uid, containerName }));
  const ofPod = view.holdingsOf(pod.uid);
  const { busy, idle, nodes: nodesOfPod } = ofPod.without(own);
  const { claim } = KINDS[kind];
  const otherClaims = (['exclusive', 'non-exclusive'] as const).filter((each) => each !== claim);
  const hasSameClaim = own !== undefined && KINDS[own.kind].claim === claim;
  const ownCpus = own?.cpus.minus(busy) ?? CpuSet.empty;
  const otherwiseOwn = hasSameClaim ? CpuSet.empty : ownCpus;
  const reusable = CpuSet.unionOf(otherClaims.map((each) => idle[each]))
    .minus(busy)
    .union(otherwiseOwn);
  const returning = own && KINDS[own.kind].claim === 'exclusive' ? otherwiseOwn : CpuSet.empty;
  return {
    topology: view.topology,
    settings: view.settings,
    own: hasSameClaim ? ownCpus : CpuSet.empty,
    idleInPod: idle[claim].minus(busy),
    ownedByPod: ofPod.cpus,
    podSet: ofPod.podSet(kind),
    free: view.free.union(reusable.intersect(view.topology.online).minus(view.settings.reserved)),
    sharedPool: view.sharedPool.union(returning.intersect(view.topology.online)),
    followers: findFollowers(view, own, nodesOfPod),
    promisedMemory: sumPromisedMemory(view, pod.uid, containerName),
  };
}

function cpusOfAll(assignments: readonly Assignment[]): CpuSet {
  return CpuSet.unionOf(assignments.map(({ cpus }) => cpus));
}

/** The others who follow what is shared on NUMA nodes, and what was asked for there. */
function findFollowers(view: NodeView, own: Assignment | undefined, nodesOfPod: CpuSet): Followers {
  const ownNodes = own?.nodes ?? CpuSet.empty;
  const isFollower = own !== undefined && KINDS[own.kind].claim === 'numa-nodes';
  const sets: CpuSet[] = [];
  const demand = new Map<number, number>();
  const ask = (node: number, count: number): unknown => demand.set(node, (demand.get(node) ?? 0) + count);
  for (const { nodes, followers, requested } of view.holdings.followed) {
    const isOwn = isFollower && nodes.equals(ownNodes);
    if (isOwn && followers === 1) continue;
    sets.push(sharedCpusOfNodes(view, nodes));
    for (const node of nodes) ask(node, (isOwn ? requested - own.requested : requested) / nodes.size);
  }
  if (!view.held.isEmpty) countHeld(view, own, ask);
  return { sets, demand, ownNodes, nodesOfPod };
}

/** CPUs that others hold beside shared containers were asked for too. */
function countHeld(view: NodeView, own: Assignment | undefined, ask: (node: number, count: number) => void): void {
  const ownCpus = own && KINDS[own.kind].claim === 'non-exclusive' ? own.cpus : CpuSet.empty;
  for (const { id, cpus } of view.topology.numaNodes) {
    let held = -ownCpus.countIn(cpus);
    view.held.intersect(cpus).forEach((cpu) => (held += view.holdings.countBesideShared(cpu)));
    ask(id, held);
  }
}

/** A limit counts in equal parts on the nodes that it may use. */
function sumPromisedMemory(view: NodeView, podUid: string, containerName: string): BytesByNode {
  if (view.settings.memoryNodes !== 'follow') return new Map();
  return view.promisedMemory(view.containersOf(podUid).filter(({ name }) => name === containerName));
}

export interface Assigned {
  /** Whole CPUs that the container asked for. */
  readonly requested: number;
  readonly chosen: ChosenPolicy;
  readonly decision: Extract<Decision, { kind: 'pin' }>;
}

/** Writes a pin into the draft: the assignment, and the loss of those in the pod whose idle CPUs it took over. */
export function assign(
  draft: Draft,
  pod: PodInfo,
  container: ContainerInfo,
  { requested, chosen, decision }: Assigned,
): Assignment {
  const { model } = draft;
  const { assignmentKind: kind, nodes, scope } = decision;
  const key = keyOf({ podUid: pod.uid, containerName: container.name });
  const before = model.assignments.get(key);
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
    rules: rulesOf(model.settings, chosen),
    because: cutText(decision.because),
    since: before && sameSet(before, decision) ? before.since : draft.now,
  };
  const { busy, idle } = model.holdingsOf(pod.uid).without(before);
  const overlaps = [busy, idle.exclusive, idle['non-exclusive']].some((cpus) => cpus.overlaps(decision.cpus));
  for (const other of overlaps ? model.assignmentsOf(pod.uid) : []) {
    if (keyOf(other) === key || !other.cpus.overlaps(decision.cpus) || mayOverlap(other, assignment)) continue;
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

function sameSet(before: Assignment, { cpus, nodes = CpuSet.empty }: Assigned['decision']): boolean {
  return before.cpus.equals(cpus) && (before.nodes ?? CpuSet.empty).equals(nodes);
}

/** Takes a container's assignment away, if it has one: it is no longer entitled to CPUs of its own. */
export function unassign(draft: Draft, pod: PodInfo, containerName: string): void {
  const key = keyOf({ podUid: pod.uid, containerName });
  if (draft.model.assignments.has(key)) draft.put({ kind: 'drop-assignment', key });
}
