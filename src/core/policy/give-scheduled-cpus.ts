import { cpusOfNodes, takeByOptions, type AllocationStep } from '../allocation';
import { totalOf, type TopologyResult } from '../annotations';
import { CpuSet } from '../cpuset';
import { NO_OPTIONS } from '../model/settings';
import type { Topology } from '../topology';
import { chooseWithinFloors } from './floors';
import { chooseMemoryNodes } from './memory-nodes';
import type { Decision, PinRequest, Snapshot } from './policy';
import { countCpus, type Terms } from './terms';

/**
 * Gives a pod the CPUs that the scheduler chose for it: so many of each NUMA node, packed. They belong to the pod; its
 * first container takes them for all, the others join it.
 */
export function giveScheduledCpus(
  snapshot: Snapshot,
  { memoryBytes }: PinRequest,
  terms: Terms,
  scheduled: TopologyResult,
): Decision {
  const { topology, settings, podSet, free } = snapshot;
  if (scheduled.size === 0) return { kind: 'share', because: 'the scheduler chose no CPUs for the pod' };
  const grantable = topology.online.minus(settings.reserved);
  const joinable = podSet.inUse
    ? podSet.cpus.overlaps(grantable) // also a part, if CPUs of it were reserved meanwhile
    : podSet.cpus.isSubsetOf(grantable) && isSpreadAs(topology, podSet.cpus, scheduled);
  if (joinable) {
    const cpus = podSet.cpus.minus(settings.reserved);
    return pin(cpus, `shares ${countCpus(terms, cpus.size)} with its pod, as the scheduler chose`, []);
  }
  const held = snapshot.own.union(snapshot.idleInPod).intersect(grantable);
  const choose = (reach: CpuSet): Decision => takeOfNodes(held, reach);
  return terms.alone ? chooseWithinFloors(snapshot, free.minus(held), choose) : choose(free.minus(held));

  function takeOfNodes(first: CpuSet, then: CpuSet): Decision {
    let cpus = CpuSet.empty;
    const steps: AllocationStep[] = [];
    for (const [node, count] of scheduled) {
      const there = cpusOfNodes(topology, CpuSet.of([node]), false);
      const preferred = first.intersect(there);
      const usable = preferred.union(then.intersect(there));
      if (usable.size < count) return refuseOnNode(node, count, usable.size);
      const again = takeByOptions(topology, NO_OPTIONS, preferred, Math.min(count, preferred.size));
      const missing = count - Math.min(count, preferred.size);
      const anew = takeByOptions(topology, NO_OPTIONS, usable.minus(preferred), missing);
      if (!again.ok) return { kind: 'refuse', code: 'INTERNAL', because: again.error };
      if (!anew.ok) return { kind: 'refuse', code: 'INTERNAL', because: anew.error };
      cpus = CpuSet.unionOf([cpus, again.cpus, anew.cpus]);
      steps.push(...again.steps, ...anew.steps);
    }
    return pin(cpus, `${countCpus(terms, totalOf(scheduled))} for its pod, ${describe(scheduled)}`, steps);
  }

  function refuseOnNode(node: number, count: number, usable: number): Decision {
    const because =
      `the scheduler chose ${countCpus(terms, count)} of NUMA node ${node} for the pod, and ${usable} can be given there ` +
      'now: what it knows of this node is not up to date';
    return { kind: 'refuse', code: 'RESOURCE_EXHAUSTED', because };
  }

  function pin(cpus: CpuSet, because: string, steps: readonly AllocationStep[]): Decision {
    const memory = chooseMemoryNodes(snapshot, cpus, memoryBytes);
    const why = memory.because === '' ? because : `${because}; ${memory.because}`;
    return { kind: 'pin', assignmentKind: terms.kind, scope: 'pod', cpus, mems: memory.mems, because: why, steps };
  }
}

/** Whether the CPUs are as many of each NUMA node as the scheduler chose. */
export function isSpreadAs(topology: Topology, cpus: CpuSet, scheduled: TopologyResult): boolean {
  return topology.numaNodes.every((node) => node.cpus.countIn(cpus) === (scheduled.get(node.id) ?? 0));
}

/** `as the scheduler chose: 2 of NUMA node 0 and 1 of NUMA node 1` */
function describe(scheduled: TopologyResult): string {
  return `as the scheduler chose: ${[...scheduled].map(([node, count]) => `${count} of NUMA node ${node}`).join(' and ')}`;
}
