import { readTopologyResult, TOPOLOGY_RESULT } from '../annotations/topology-result';
import type { Remark } from '../annotations/annotations';
import { CpuSet } from '../cpuset';
import { MAX_SHARES, milliOfShares } from '../inference/cri-numbers';
import { keyOf } from '../model/assignment';
import type { ContainerInfo } from '../model/events';
import { KINDS } from '../model/pool-view';
import type { NodeView } from '../model/node-view';
import { findContainerSpec } from '../model/pod-spec';
import { DEFAULT_KIND, POLICY_TABLE, type ChosenPolicy } from '../model/policies';
import type { ResolvedPod } from '../model/spec-book';
import { POLICIES, type Decision, type PinRequest, type Snapshot } from '../policy';
import { entitle, podMilliCpuOf, readSchedule, type Entitled } from './entitlement';
import { snapshotFor } from './snapshot';

/** Longest name in the key of an assignment: a key can't be cut. */
const MAX_KEY_LENGTH = 253;

/** The entitlement of a container, and the decision of its policy. */
export interface PlacementDecision extends Entitled {
  readonly decision: Decision;
}

/**
 * Reads the container's entitlement, and decides on it by the container's policy. `leaveIdle`: CPUs that others of its pod
 * left there are not for it. `fromPod`: only what the pod has is for it. `mayShare`: what does not fit shares instead.
 */
export function decidePlacement(
  view: NodeView,
  pod: ResolvedPod,
  container: ContainerInfo,
  {
    leaveIdle = false,
    fromPod = false,
    mayShare = view.settings.onInsufficientCpu === 'share',
  }: { readonly leaveIdle?: boolean; readonly fromPod?: boolean; readonly mayShare?: boolean } = {},
): PlacementDecision {
  const { chosen, request, remarks } = entitle(view.settings, pod, container);
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
  const scheduled = readSchedule(view.topology, pod, container, chosen, request.count);
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
      Math.floor((podMilliCpuOf(pod, chosen.policy) ?? milliOfShares(MAX_SHARES)) / 1000),
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
export function decideFromPod(
  view: NodeView,
  pod: ResolvedPod,
  container: ContainerInfo,
): PlacementDecision | undefined {
  const { count, planned } = view.holdingsOf(pod.uid);
  if (count === 0) return undefined;
  if (!findContainerSpec(pod.spec, container.name) && planned === 0) return undefined;
  const own = view.assignments.get(keyOf({ podUid: pod.uid, containerName: container.name }));
  const decided = decidePlacement(view, pod, container, { fromPod: true, mayShare: false });
  const { decision } = decided;
  if (decision.kind !== 'pin' || KINDS[decision.assignmentKind].claim === 'numa-nodes') return undefined;
  // It is not back: it comes for the first time, and this is why it has them.
  const isAsPlanned = own?.planned === true && own.cpus.equals(decision.cpus);
  return isAsPlanned ? { ...decided, decision: { ...decision, because: own.because } } : decided;
}

/**
 * The scheduler's choice for the pod, less what its other containers have, for the static policy: it gives each container its
 * own, while the result is for all app containers together. Sidecars are none of those that it was made for; an init
 * container takes its CPUs where those that come after it can take them over.
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
  const kindOf = (name: string) => findContainerSpec(pod.spec, name)?.kind;
  if (POLICY_TABLE[policy].scheduledFor !== 'container' || kindOf(container.name) === 'sidecar')
    return { found: {}, remarks: [] };
  const { result, remarks } = readTopologyResult(topology, pod, {
    count,
    container,
    podMilliCpu: podMilliCpuOf(pod, policy),
  });
  if (!result) return { found: {}, remarks: [...remarks] };
  if (result.size === 0) return { found: {}, remarks: [ignored('it names no CPUs')] };
  const others = view
    .assignmentsOf(pod.uid)
    .filter(({ containerName }) => containerName !== container.name && (kindOf(containerName) ?? 'app') === 'app');
  const had = CpuSet.unionOf(others.map(({ cpus }) => cpus)).minus(idleInPod);
  const left = topology.numaNodes.map(({ id, cpus }) => [id, (result.get(id) ?? 0) - cpus.countIn(had)] as const);
  return { found: { restOfResult: new Map(left.filter(([, cpus]) => cpus > 0)) }, remarks: [] };
}

function ignored(because: string): Remark {
  return { annotation: TOPOLOGY_RESULT, because: `${because}; CPUs are chosen here instead` };
}
