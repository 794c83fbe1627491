import { CpuSet } from '../cpuset';
import { align, type Alignment } from '../hints/align';
import type { Hints } from '../hints/node-masks';
import { hintCpus, hintGivenMemory, hintMemory } from '../hints/providers';
import { nodesNear } from '../topology';
import { MAX_ALLOWABLE_NUMA_NODES } from '../options/topology-manager-options';
import type { TopologyManagerPolicy } from '../model/settings';
import type { PinRequest, Snapshot } from './policy';
import { isLimited, tabulateMost, type Room } from './room';

export type { Alignment };

/**
 * Asks the topology manager which NUMA nodes to take from: CPUs and, where memory follows, memory as two providers of
 * hints. The nodes of the CPUs that the pod has already are tried first, since these would lie idle otherwise; when
 * they don't satisfy the policy, any nodes.
 *
 * With scope `pod` the question is asked for all CPUs of the pod at once, at each of its containers: the same sets give
 * the same nodes, so all containers follow the first. What the whole pod asks for may be more by now: there must at least be room for
 * what it has and what this container takes beyond it. CPUs that lie idle need not be taken. A pod that has told no sum is not aligned as
 * a whole: each of its containers is, alone.
 *
 * CPUs that a container keeps name their nodes: fewer of them are never refused, and more have to fit there with them.
 */
export function alignRequest(snapshot: Snapshot, request: PinRequest, room: Room): Alignment {
  const { topology, settings, ownedByPod, own, idleInPod, promisedMemory, brought, leavesMemory } = snapshot;
  const { count, podCount, memoryBytes, keepsOwn } = request;
  const { topologyManager } = settings;
  if (!topologyManager || topologyManager.policy === 'none') {
    return alignToMemory(snapshot);
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
    const memory = hintMemoryNodes();
    return align({ topology, policy, options, providers: [{ cpu: hintCpus(hints) }, ...(memory ? [{ memory }] : [])] });
  }

  function hintMemoryNodes(): Hints {
    if (brought?.mems) return hintGivenMemory(topology, brought.mems);
    if (settings.memoryNodes !== 'follow' || leavesMemory || forPod) return null;
    const freeBytes = new Map(
      topology.memoryNodes.map(({ id, memoryBytes: all }) => [id, all - (promisedMemory.get(id) ?? 0)] as const),
    );
    return hintMemory({ topology, bytes: memoryBytes, freeBytes });
  }
}

/** No topology manager: CPUs that are local to the memory that the request brought go first. */
function alignToMemory({ topology, brought }: Snapshot): Alignment {
  const near = CpuSet.of(nodesNear(topology, brought?.mems ?? CpuSet.empty).map(({ id }) => id));
  const because = near.isEmpty ? 'topology-manager-policy is none' : `NUMA nodes ${near.toString()}: near its memory`;
  return { kind: 'accept', ...(!near.isEmpty && { nodes: near }), preferred: true, because };
}

/** A container that asks for no more than it has stays there, on as few NUMA nodes as it can: it is no worse aligned than before. */
function alignWithinOwn({ topology, settings }: Snapshot, { count }: PinRequest, own: CpuSet): Alignment {
  const cpu = hintCpus({ topology, options: settings.options, count, available: own, reusable: CpuSet.empty });
  const { options } = settings.topologyManager!;
  return align({ topology, policy: 'best-effort', options, providers: [{ cpu }] });
}

/** There are too many combinations of nodes to compare: none is preferred, and a policy that requires a preferred one refuses. */
function alignNothing(policy: TopologyManagerPolicy, nodes: number): Alignment {
  const constraint = `the machine has ${nodes} NUMA nodes by now, and at most ${MAX_ALLOWABLE_NUMA_NODES} can be aligned`;
  if (policy === 'best-effort') return { kind: 'accept', preferred: false, because: constraint };
  const because = `topology-manager-policy ${policy}: ${constraint}; set topology-manager-policy to none`;
  return { kind: 'refuse', because };
}
