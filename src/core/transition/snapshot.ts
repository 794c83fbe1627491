import { CpuSet } from '../cpuset';
import { keyOf, type Assignment, type AssignmentKind } from '../model/assignment';
import { DEFAULT_KIND } from '../model/policies';
import { KINDS, sharedCpusOfNodes } from '../model/pool-view';
import type { NodeView } from '../model/node-view';
import type { BytesByNode } from '../model/promised-memory';
import type { Followers, Snapshot } from '../policy';

/**
 * The view that a policy has which makes assignments of this kind, for a container of this name in this pod.
 *
 * CPUs that the container had, and CPUs that lie idle in its pod, are `own` and `idleInPod` where they were held the same way; where it
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
