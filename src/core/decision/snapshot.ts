import { CpuSet } from '../cpuset';
import type { Assignment, AssignmentKind } from '../model/assignment';
import type { NodeView } from '../model/node-view';
import { DEFAULT_KIND } from '../model/policies';
import { KINDS, sharedCpusOfNodes } from '../model/pool-view';
import { isNear } from '../topology';
import type { Followers, Snapshot } from '../policy';

/**
 * The view that a policy has which makes assignments of this kind, for a container of this name in this pod.
 *
 * CPUs that the container had, and CPUs that lie idle in its pod, are `own` and `idleInPod` when they were held with
 * the same claim. CPUs of another claim count as free, since the new decision replaces the old one.
 */
export function snapshotFor(
  view: NodeView,
  pod: { readonly uid: string },
  containerName: string,
  kind: AssignmentKind = DEFAULT_KIND,
): Snapshot {
  const snapshot = boundedSnapshot(view, pod, containerName, kind);
  const cpus = snapshot.brought?.cpus;
  return cpus ? { ...snapshot, own: snapshot.own.intersect(cpus) } : snapshot;
}

/**
 * The same for a container that runs already: it keeps its own CPUs, and those that lie idle in its pod are left to the
 * containers that had them.
 */
export function snapshotOfRunning(...args: Parameters<typeof boundedSnapshot>): Snapshot {
  const [view, { uid: podUid }, containerName] = args;
  const snapshot = boundedSnapshot(...args);
  const own = view.assignmentFor(podUid, containerName)?.cpus ?? CpuSet.empty;
  return { ...snapshot, idleInPod: CpuSet.empty, free: snapshot.free.intersect(view.free.union(own)) };
}

/** The view, with nothing to choose beyond the CPUs that the request brought. */
function boundedSnapshot(
  view: NodeView,
  pod: { readonly uid: string },
  containerName: string,
  kind: AssignmentKind,
): Snapshot {
  const own = view.assignmentFor(pod.uid, containerName);
  const ofPod = view.holdingsOf(pod.uid);
  const { busy, idle, nodes: nodesOfPod } = view.heldBesides(pod.uid, containerName);
  const { claim } = KINDS[kind];
  const otherClaims = (['exclusive', 'non-exclusive'] as const).filter((each) => each !== claim);
  const hasSameClaim = own !== undefined && KINDS[own.kind].claim === claim && !isMisplaced(view, own);
  const ownCpus = own?.cpus.minus(busy) ?? CpuSet.empty;
  const otherwiseOwn = hasSameClaim ? CpuSet.empty : ownCpus;
  const reusable = CpuSet.unionOf(otherClaims.map((each) => idle[each]))
    .minus(busy)
    .union(otherwiseOwn);
  const returning = own && KINDS[own.kind].claim === 'exclusive' ? otherwiseOwn : CpuSet.empty;
  const ofThisName = () => view.containersOf(pod.uid).filter(({ name }) => name === containerName);
  const brought = view.broughtTo(pod.uid, containerName);
  const snapshot: Snapshot = {
    topology: view.topology,
    settings: view.settings,
    own: hasSameClaim ? ownCpus : CpuSet.empty,
    idleInPod: idle[claim].minus(busy),
    ownedByPod: ofPod.cpus,
    podSet: ofPod.podSet(kind),
    free: view.free.union(reusable.intersect(view.topology.online).minus(view.settings.reserved)),
    sharedPool: view.sharedPool.union(returning.intersect(view.topology.online)),
    followers: findFollowers(view, own, nodesOfPod),
    // A limit counts in equal parts on the memory nodes that it may use.
    promisedMemory: view.settings.memoryNodes === 'follow' ? view.promisedMemory(ofThisName()) : new Map(),
    // Summed only for a request that asks for some.
    promisedHugePages: once(() => view.promisedHugePages({ podUid: pod.uid, containerName })),
  };
  const cpus = brought?.cpus;
  if (!brought || !cpus) return brought ? { ...snapshot, brought } : snapshot;
  const { idleInPod, free } = snapshot;
  return { ...snapshot, idleInPod: idleInPod.intersect(cpus), free: free.intersect(cpus), brought };
}

/** Computes a value when it is asked for first. */
function once<T>(compute: () => T): () => T {
  let computed: { readonly value: T } | undefined;
  return () => (computed ??= { value: compute() }).value;
}

/**
 * True for CPUs that were planned before the request came, and are not where it brought memory: they are chosen again.
 * The CPUs of a container that has run are not.
 */
export function isMisplaced(view: NodeView, own: Assignment): boolean {
  const mems = own.planned && view.broughtTo(own.podUid, own.containerName)?.mems;
  return mems !== undefined && !isNear(view.topology, own.cpus, mems);
}

/** The other containers that follow NUMA nodes, and the CPUs of the shared pool that are asked for there. */
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
  if (!view.nonExclusive.isEmpty) countHeld(view, own, ask);
  return { sets, demand, ownNodes, nodesOfPod };
}

/** Adds the CPUs that others hold beside shared containers: they were asked for too. */
function countHeld(view: NodeView, own: Assignment | undefined, ask: (node: number, count: number) => void): void {
  const ownCpus = own && KINDS[own.kind].claim === 'non-exclusive' ? own.cpus : CpuSet.empty;
  for (const { id, cpus } of view.topology.numaNodes) {
    let held = -ownCpus.countIn(cpus);
    view.nonExclusive.intersect(cpus).forEach((cpu) => (held += view.holdings.countNonExclusive(cpu)));
    ask(id, held);
  }
}
