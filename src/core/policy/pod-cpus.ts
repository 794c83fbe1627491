import { allocateByOptions, listByKind, type AllocationStep } from '../allocation';
import { totalOf, type TopologyResult } from '../annotations/topology-result';
import { CpuSet } from '../cpuset';
import { NO_OPTIONS } from '../model/settings';
import { cpusOfNodes, type Topology } from '../topology';
import { allocateCpus, pin } from './allocate-cpus';
import { countCpus, grantOptionsOf, type GrantOptions } from './grant-options';
import type { Decision, Grant, PinRequest, Snapshot } from './policy';
import { refuseForLack } from './refusals';
import { allows, createRoom, mostIn } from './room';

/**
 * Gives a pod one set of CPUs where the scheduler chose it; else each container its own.
 *
 * Crane's policies `exclusive` and `immovable` do so, whatever the QoS class of the pod.
 */
export const grantPodCpus: Grant = (snapshot, request, kind) => {
  const grant = grantOptionsOf(kind, snapshot.settings);
  return request.scheduled
    ? shareScheduledCpus(snapshot, request, grant, request.scheduled)
    : allocateCpus(snapshot, request, grant);
};

/**
 * Gives a pod the CPUs that the scheduler chose for it: a number of each NUMA node, packed. They belong to the pod; its
 * first container takes them for all, the others join it.
 */
function shareScheduledCpus(
  snapshot: Snapshot,
  request: PinRequest,
  grant: GrantOptions,
  scheduled: TopologyResult,
): Decision {
  const { topology, settings, podSet, free } = snapshot;
  if (scheduled.size === 0) return { kind: 'share', because: 'the scheduler chose no CPUs for the pod' };
  const grantable = topology.online.minus(settings.reserved);
  const bound = snapshot.brought?.cpus;
  const isWithinBound = !bound || podSet.cpus.isSubsetOf(bound);
  const joinable = podSet.inUse
    ? podSet.cpus.overlaps(grantable) // also a part, if CPUs of it were reserved meanwhile
    : podSet.cpus.isSubsetOf(grantable) && isWithinBound && isSpreadAs(topology, podSet.cpus, scheduled);
  if (joinable && !isWithinBound) {
    const because = `its pod has CPUs ${podSet.cpus.toString()}, and not all are of those that its request brought`;
    return { kind: 'refuse', code: 'RESOURCE_EXHAUSTED', because };
  }
  if (joinable) {
    const cpus = podSet.cpus.minus(settings.reserved);
    return pinForPod(cpus, `shares ${countCpus(grant, cpus.size)} with its pod, as the scheduler chose`, []);
  }
  const held = snapshot.own.union(snapshot.idleInPod).intersect(grantable);
  const rest = free.minus(held);
  const room = createRoom(snapshot, { held, free: rest, inWholeCores: false, leavesPool: grant.leavesPool });
  for (const [node, count] of scheduled) {
    const most = mostIn(room, cpusOfNodes(topology, CpuSet.of([node])));
    if (most < count) return refuseOnNode(node, count, most);
  }
  const ofOneKind = listByKind(topology, held.union(rest), totalOf(scheduled), held).find((kind) =>
    [...scheduled].every(([node, count]) => cpusOfNodes(topology, CpuSet.of([node])).countIn(kind) >= count),
  );
  const decision = takeOfNodes(held.intersect(ofOneKind ?? held), rest.intersect(ofOneKind ?? rest));
  // So many of each node cost the pool the same, however they are chosen there.
  const isWithin = decision.kind !== 'pin' || allows(room, decision.cpus);
  return isWithin ? decision : refuseForLack(snapshot, grant, totalOf(scheduled), { most: mostIn(room), room });

  function takeOfNodes(first: CpuSet, then: CpuSet): Decision {
    let cpus = CpuSet.empty;
    const steps: AllocationStep[] = [];
    for (const [node, count] of scheduled) {
      const there = cpusOfNodes(topology, CpuSet.of([node]));
      const preferred = first.intersect(there);
      const usable = preferred.union(then.intersect(there));
      const again = allocateByOptions(topology, NO_OPTIONS, preferred, Math.min(count, preferred.size));
      const missing = count - Math.min(count, preferred.size);
      const anew = allocateByOptions(topology, NO_OPTIONS, usable.minus(preferred), missing);
      if (!again.ok) return { kind: 'refuse', code: 'INTERNAL', because: again.error };
      if (!anew.ok) return { kind: 'refuse', code: 'INTERNAL', because: anew.error };
      cpus = CpuSet.unionOf([cpus, again.cpus, anew.cpus]);
      steps.push(...again.steps, ...anew.steps);
    }
    return pinForPod(cpus, `${countCpus(grant, totalOf(scheduled))} for its pod, ${describe(scheduled)}`, steps);
  }

  function refuseOnNode(node: number, count: number, usable: number): Decision {
    const because =
      `the scheduler chose ${countCpus(grant, count)} of NUMA node ${node} for the pod, and ${usable} can be given there ` +
      'now: what it knows of this node is not up to date';
    return { kind: 'refuse', code: 'RESOURCE_EXHAUSTED', because };
  }

  function pinForPod(cpus: CpuSet, because: string, steps: readonly AllocationStep[]): Decision {
    return { ...pin(snapshot, request, grant, { cpus, because, steps }), scope: 'pod' };
  }
}

/** True for CPUs that are as many of each NUMA node as the scheduler chose. */
export function isSpreadAs(topology: Topology, cpus: CpuSet, scheduled: TopologyResult): boolean {
  return topology.numaNodes.every((node) => node.cpus.countIn(cpus) === (scheduled.get(node.id) ?? 0));
}

/** `as the scheduler chose: 2 of NUMA node 0 and 1 of NUMA node 1` */
function describe(scheduled: TopologyResult): string {
  return `as the scheduler chose: ${[...scheduled].map(([node, count]) => `${count} of NUMA node ${node}`).join(' and ')}`;
}
