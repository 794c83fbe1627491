import { CpuSet } from '../cpuset';
import { inferCpuRequest, type CpuRequest } from '../inference';
import { keyOf, type Assignment } from '../model/assignment';
import type { ContainerInfo, PodInfo } from '../model/events';
import type { NodeView } from '../model/node-model';
import { rulesOf } from '../model/settings';
import { POLICIES, type Decision, type Snapshot } from '../policy';
import type { Draft } from './draft';

/** What the container is entitled to by the numbers of its message, and what the policy makes of it. */
export function decidePlacement(
  view: NodeView,
  pod: PodInfo,
  container: ContainerInfo,
): { request: CpuRequest; decision: Decision } {
  const request = inferCpuRequest(pod, container);
  if (request.kind === 'conflict') {
    return { request, decision: { kind: 'refuse', code: 'FAILED_PRECONDITION', because: request.because } };
  }
  if (request.kind === 'shared') return { request, decision: { kind: 'share', because: request.because } };
  const decision = POLICIES[view.settings.cpuManagerPolicy](snapshotFor(view, pod, container.name), {
    count: request.count,
    podCount: Math.max(request.count, Math.floor((pod.podResources?.shares ?? 0) / 1024)),
    memoryBytes: container.resources.memoryLimitBytes ?? 0,
  });
  const mayShare =
    view.settings.onInsufficientCpu === 'share' && decision.kind === 'refuse' && decision.code !== 'INTERNAL';
  return {
    request,
    decision: mayShare ? { kind: 'share', because: `${decision.because}; on-insufficient-cpu is share` } : decision,
  };
}

/** What a policy may look at, for a container of this name in this pod. */
export function snapshotFor(view: NodeView, pod: { readonly uid: string }, containerName: string): Snapshot {
  const ofPod = view.assignmentsOf(pod.uid);
  const own = ofPod.find((assignment) => assignment.containerName === containerName);
  return {
    topology: view.topology,
    settings: view.settings,
    own: own?.cpus ?? CpuSet.empty,
    idleInPod: CpuSet.unionOf(
      ofPod.filter((each) => each.containerId === null && each !== own).map(({ cpus }) => cpus),
    ),
    ownedByPod: CpuSet.unionOf(ofPod.map(({ cpus }) => cpus)),
    free: view.free,
    sharedPool: view.sharedPool,
    promisedMemory: sumPromisedMemory(view, pod.uid, containerName),
  };
}

/** A limit counts in equal parts on the nodes that it may use. */
function sumPromisedMemory(view: NodeView, podUid: string, containerName: string): Map<number, number> {
  const promised = new Map<number, number>();
  if (view.settings.memoryNodes !== 'follow') return promised;
  for (const { podUid: uid, name, promise, resources } of view.containers.values()) {
    const mems = promise?.mems ?? CpuSet.empty;
    if (mems.isEmpty || (uid === podUid && name === containerName)) continue;
    for (const node of mems) {
      promised.set(node, (promised.get(node) ?? 0) + (resources.memoryLimitBytes ?? 0) / mems.size);
    }
  }
  return promised;
}

/** Writes a pin into the draft: the assignment, and the loss of those in the pod whose idle CPUs it took over. */
export function assign(
  draft: Draft,
  pod: PodInfo,
  container: ContainerInfo,
  requested: number,
  decision: Extract<Decision, { kind: 'pin' }>,
): Assignment {
  const { model } = draft;
  const key = keyOf({ podUid: pod.uid, containerName: container.name });
  const before = model.assignments.get(key);
  for (const other of model.assignmentsOf(pod.uid)) {
    if (keyOf(other) === key || !other.cpus.overlaps(decision.cpus)) continue;
    const rest = other.cpus.minus(decision.cpus);
    draft.put(
      rest.isEmpty
        ? { kind: 'drop-assignment', key: keyOf(other) }
        : { kind: 'put-assignment', assignment: { ...other, cpus: rest } },
    );
  }
  const assignment: Assignment = {
    podUid: pod.uid,
    podNamespace: pod.namespace,
    podName: pod.name,
    containerName: container.name,
    kind: decision.assignmentKind,
    cpus: decision.cpus,
    mems: decision.mems,
    requested,
    containerId: container.id,
    quotaLifted: model.settings.liftCpuQuota && (container.resources.quotaUs ?? 0) > 0,
    rules: rulesOf(model.settings),
    because: decision.because,
    since: before?.cpus.equals(decision.cpus) ? before.since : draft.now,
  };
  draft.put({ kind: 'put-assignment', assignment });
  return assignment;
}

/** Takes a container's assignment away, if it has one: it is no longer entitled to CPUs of its own. */
export function unassign(draft: Draft, pod: PodInfo, containerName: string): void {
  const key = keyOf({ podUid: pod.uid, containerName });
  if (draft.model.assignments.has(key)) draft.put({ kind: 'drop-assignment', key });
}
