import { CpuSet } from '../cpuset';
import { align, type Alignment } from '../hints/align';
import type { ProviderHints } from '../hints/merge-hints';
import { hintCpus, hintGivenMemory, hintMemoryKinds } from '../hints/providers';
import { cpusOfNodes, nodesNear } from '../topology';
import { MAX_ALLOWABLE_NUMA_NODES } from '../options/topology-manager-options';
import type { TopologyManagerPolicy } from '../model/settings';
import { findUnmet, listNeeds, MEMORY } from './memory-needs';
import type { PinRequest, Snapshot } from './policy';
import { isLimited, mostIn, tabulateMost, type Room } from './room';

export type { Alignment };

/**
 * Asks the topology manager which NUMA nodes to take from: CPUs and memory as two providers of hints. Memory that does
 * not follow counts only as huge pages: a process that finds none on its nodes does not start. The nodes of the CPUs
 * that the pod has already are tried first, since these would lie idle otherwise; when they don't satisfy the policy,
 * any nodes.
 *
 * With scope `pod` the question is asked for all CPUs of the pod at once, at each of its containers: the same sets give
 * the same nodes, so all containers follow the first. What the whole pod asks for may be more by now: there must at
 * least be room for what it has and what this container takes beyond it. CPUs that lie idle need not be taken. A pod
 * that has announced no sum is not aligned as a whole: each of its containers is, alone.
 *
 * CPUs that a container keeps name their nodes: fewer of them are never refused, and more have to fit there with them.
 */
export function alignRequest(snapshot: Snapshot, request: PinRequest, room: Room): Alignment {
  const { topology, settings, ownedByPod, own, idleInPod, brought, leavesMemory } = snapshot;
  const { count, podCount, keepsOwn } = request;
  const { topologyManager } = settings;
  if (!topologyManager || topologyManager.policy === 'none') {
    return alignToMemory(snapshot, request, room);
  }
  const kept = own.intersect(room.cpus);
  const isWithinOwn = !kept.isEmpty && count <= kept.size;
  // The daemon does not start with more nodes: they came by hotplug.
  if (topology.numaNodes.length > MAX_ALLOWABLE_NUMA_NODES)
    return alignNothing(isWithinOwn ? 'best-effort' : topologyManager.policy, topology.numaNodes.length);
  if (isWithinOwn) return alignWithinOwn(snapshot, request, kept);

  const forPod = topologyManager.scope === 'pod' && podCount !== undefined;
  const mine = own.union(idleInPod);
  const held = forPod ? ownedByPod : mine.intersect(room.cpus);
  const anew = Math.max(0, count - mine.countIn(room.cpus));
  const close = ask(held, forPod ? Math.max(podCount, held.size + anew) : count);
  if (held.isEmpty || keepsOwn || (close.kind === 'accept' && close.preferred)) return close;
  /** CPUs that other containers of the pod run on count with the request, and stay where they are. */
  const busy = forPod ? ownedByPod.minus(mine) : CpuSet.empty;
  const anywhere = ask(busy, forPod ? Math.max(podCount, busy.size + count) : count);
  return anywhere.kind === 'accept' && (close.kind === 'refuse' || anywhere.preferred) ? anywhere : close;

  function ask(reusable: CpuSet, wanted: number): Alignment {
    const { policy, options } = topologyManager!;
    const more = reusable.minus(room.cpus);
    const most = isLimited(room) && { most: tabulateMost(room, more) };
    const hints = { topology, options: settings.options, count: wanted, available: room.cpus, reusable, ...most };
    return align({ topology, policy, options, providers: [{ cpu: hintCpus(hints) }, ...hintMemoryNodes()] });
  }

  function hintMemoryNodes(): ProviderHints[] {
    if (brought?.mems) {
      const memory = hintGivenMemory(topology, brought.mems);
      return memory ? [{ memory }] : [];
    }
    if (forPod) return [];
    const follows = settings.memoryNodes === 'follow' && !leavesMemory;
    const needs = listNeeds(snapshot, request).filter(({ resource }) => follows || resource !== MEMORY);
    const kinds = needs.map(({ bytes, total, free }) => ({ topology, bytes, totalBytes: total, freeBytes: free }));
    const hints = hintMemoryKinds(kinds);
    return hints ? [{ [needs.map(({ resource }) => resource).join(' with ')]: hints }] : [];
  }
}

/**
 * The alignment where no topology manager is asked: CPUs that are local to the memory that the request brought go
 * first, else those that are local to its huge pages. Preferred when they suffice.
 */
export function alignToMemory(snapshot: Snapshot, request: PinRequest, room: Room): Alignment {
  const { topology, brought } = snapshot;
  const near = CpuSet.of(nodesNear(topology, brought?.mems ?? CpuSet.empty).map(({ id }) => id));
  const withPages = brought?.mems ? CpuSet.empty : findHugePages(snapshot, request);
  if (!near.isEmpty) return prefer(near, 'the first choice, near its memory');
  if (!withPages.isEmpty) return prefer(withPages, 'the first choice, for its huge pages');
  return { kind: 'accept', preferred: true, because: 'topology-manager-policy is none' };

  function prefer(nodes: CpuSet, why: string): Alignment {
    const preferred = mostIn(room, cpusOfNodes(topology, nodes)) >= request.count;
    return { kind: 'accept', nodes, preferred, because: `NUMA nodes ${nodes.toString()}: ${why}` };
  }
}

/**
 * The NUMA nodes that each have all of its huge pages. Empty where that says nothing, and for a container that has
 * CPUs: it keeps them.
 */
function findHugePages(snapshot: Snapshot, request: PinRequest): CpuSet {
  const { topology, own } = snapshot;
  const needs = listNeeds(snapshot, request).filter(({ resource }) => resource !== MEMORY);
  if (needs.length === 0 || !own.isEmpty) return CpuSet.empty;
  const roomy = topology.numaNodes.filter(({ id }) => {
    const local = topology.localMemory.get(id) ?? [];
    return findUnmet(needs, topology.memoryNodes.filter((node) => local.includes(node.id))).length === 0; // prettier-ignore
  });
  return roomy.length === topology.numaNodes.length ? CpuSet.empty : CpuSet.of(roomy.map(({ id }) => id));
}

/**
 * A container that asks for no more than it has stays there, on as few NUMA nodes as it can: it is no worse aligned
 * than before.
 */
function alignWithinOwn({ topology, settings }: Snapshot, { count }: PinRequest, own: CpuSet): Alignment {
  const cpu = hintCpus({ topology, options: settings.options, count, available: own, reusable: CpuSet.empty });
  const { options } = settings.topologyManager!;
  return align({ topology, policy: 'best-effort', options, providers: [{ cpu }] });
}

/**
 * There are too many combinations of nodes to compare: none is preferred, and a policy that requires a preferred one
 * refuses.
 */
function alignNothing(policy: TopologyManagerPolicy, nodes: number): Alignment {
  const constraint = `the machine has ${nodes} NUMA nodes by now, and at most ${MAX_ALLOWABLE_NUMA_NODES} can be aligned`;
  if (policy === 'best-effort') return { kind: 'accept', preferred: false, because: constraint };
  const because = `topology-manager-policy ${policy}: ${constraint}; set topology-manager-policy to none`;
  return { kind: 'refuse', because };
}
