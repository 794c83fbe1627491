import { CpuSet } from '../cpuset';
import { align, type Alignment } from '../hints/align';
import { hintCpus, hintMemory } from '../hints/providers';
import { MAX_ALLOWABLE_NUMA_NODES } from '../options/topology-manager-options';
import type { TopologyManagerPolicy } from '../model/settings';
import type { PinRequest, Snapshot } from './policy';

export type { Alignment };

/**
 * Asks the topology manager which NUMA nodes to take from: CPUs and, where memory follows, memory as two providers of
 * hints. The nodes of the CPUs that the pod has already are tried first, since these would lie idle otherwise; when
 * they don't satisfy the policy, any nodes.
 *
 * With scope `pod` the question is asked for all CPUs of the pod at once, at each of its containers: the same sets give
 * the same nodes, so all containers follow the first. What the whole pod asks for may not be known yet, or be more by now:
 * there must at least be room for what it has and what this container takes beyond it.
 */
export function alignRequest(
  snapshot: Snapshot,
  { count, podCount, memoryBytes }: PinRequest,
  usable: CpuSet,
): Alignment {
  const { topology, settings, ownedByPod, own, idleInPod, promisedMemory } = snapshot;
  const { topologyManager } = settings;
  if (!topologyManager || topologyManager.policy === 'none') {
    return { kind: 'accept', preferred: true, because: 'topology-manager-policy is none' };
  }
  // The daemon does not start with more nodes: they came by hotplug.
  if (topology.numaNodes.length > MAX_ALLOWABLE_NUMA_NODES)
    return alignNothing(topologyManager.policy, topology.numaNodes.length);
  const forPod = topologyManager.scope === 'pod';
  const anew = Math.max(0, count - own.union(idleInPod).countIn(usable));
  const wanted = forPod ? Math.max(podCount, ownedByPod.size + anew) : count;
  const held = forPod ? ownedByPod : own.union(idleInPod).intersect(usable);
  const available = forPod ? usable.union(ownedByPod) : usable;

  const memory = settings.memoryNodes === 'follow' && !forPod ? [hintMemoryNodes()] : [];
  const ask = (reusable: CpuSet): Alignment =>
    align({
      topology,
      policy: topologyManager.policy,
      options: topologyManager.options,
      providers: [
        { cpu: hintCpus({ topology, options: settings.options, count: wanted, available, reusable }) },
        ...memory,
      ],
    });
  const close = ask(held);
  if (held.isEmpty || forPod || (close.kind === 'accept' && close.preferred)) return close;
  const anywhere = ask(CpuSet.empty);
  return anywhere.kind === 'accept' && (close.kind === 'refuse' || anywhere.preferred) ? anywhere : close;

  function hintMemoryNodes() {
    const freeBytes = new Map(
      topology.memoryNodes.map(({ id, memoryBytes }) => [id, memoryBytes - (promisedMemory.get(id) ?? 0)] as const),
    );
    return { memory: hintMemory({ topology, bytes: memoryBytes, freeBytes }) };
  }
}

/** There are too many combinations of nodes to compare: none is preferred, and a policy that requires a preferred one refuses. */
function alignNothing(policy: TopologyManagerPolicy, nodes: number): Alignment {
  const constraint = `the machine has ${nodes} NUMA nodes by now, and at most ${MAX_ALLOWABLE_NUMA_NODES} can be aligned`;
  if (policy === 'best-effort') return { kind: 'accept', preferred: false, because: constraint };
  const because = `topology-manager-policy ${policy}: ${constraint}; set topology-manager-policy to none`;
  return { kind: 'refuse', because };
}
