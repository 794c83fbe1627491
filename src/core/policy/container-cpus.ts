import type { AllocationStep } from '../allocation';
import type { TopologyResult } from '../annotations/topology-result';
import { CpuSet } from '../cpuset';
import type { Settings } from '../model/settings';
import { cpusOfNodes, type Topology } from '../topology';
import { alignRequest } from './align-request';
import { allocateCpus, pin } from './allocate-cpus';
import {
  allocateOnNodes,
  roomOf,
  splitByKind,
  takeSparingly,
  within,
  type Source,
  type Taken,
} from './allocate-on-nodes';
import { countCpus, grantOptionsOf, type GrantOptions } from './grant-options';
import type { Decision, Grant, PinRequest, Snapshot } from './policy';
import { allows, mostIn, type Room } from './room';
import { splitRest } from './split-rest';
import { plural } from '../text';

/**
 * Gives each container its own CPUs, as the kubelet's static policy does. The kubelet ignores a scheduler's choice for
 * the pod; here it is followed as far as the policy, its options and the topology manager allow, and reported where it
 * is not.
 */
export const grantContainerCpus: Grant = (snapshot, request, kind) => {
  const grant = grantOptionsOf(kind, snapshot.settings);
  const { restOfResult: rest } = request;
  if (!rest) return allocateCpus(snapshot, request, grant);
  const followed = allocateCpus(snapshot, request, grant, (sources) =>
    followResult(snapshot, request, grant, { sources, rest }),
  );
  if (followed.kind === 'pin' && isWithin(snapshot.topology, followed.cpus, rest)) return followed;
  const decision = followed.kind === 'pin' ? followed : allocateCpus(snapshot, request, grant);
  if (decision.kind !== 'pin') return decision;
  const why = followed.kind === 'pin' ? 'the container keeps the CPUs that it had before' : followed.because;
  return { ...decision, unfollowed: why };
};

/**
 * Takes a container's CPUs where the scheduler chose them for its pod: out of what the pod's other containers left of
 * the result, by the options of the policy. The topology manager decides first: it is asked about these NUMA nodes, and
 * where it names others, or none, the result is not followed. A refusal gives the reason, and does not refuse the
 * container.
 */
function followResult(
  snapshot: Snapshot,
  request: PinRequest,
  grant: GrantOptions,
  { sources, rest }: { readonly sources: readonly Source[]; readonly rest: TopologyResult },
): Decision {
  const { topology, settings } = snapshot;
  const split = splitRest(rest, request.count, grant.options.fullPcpusOnly ? unitOf(topology, request.count) : 1);
  if (split === undefined) {
    const cores = grant.options.fullPcpusOnly ? ' in whole cores (full-pcpus-only)' : '';
    return refuse(`it leaves the container fewer than ${plural(request.count, 'CPU')}${cores}`);
  }
  const ofPod = settings.topologyManager?.scope === 'pod';
  const inReach = cpusOfNodes(topology, CpuSet.of((ofPod ? rest : split).keys()));
  const room = roomOf(snapshot, grant, within(sources, inReach));
  const alignment = alignRequest(snapshot, request, room);
  if (alignment.kind === 'refuse') return refuse(`${nameNodes(split)}: ${alignment.because}`);
  const { nodes } = alignment;
  if (nodes && ![...split.keys()].every((node) => nodes.has(node)))
    return refuse(`${nameChooser(settings)} chooses ${alignment.because}`);

  const parts = [...split].map(([node, count]) => ({
    node,
    count,
    there: within(sources, cpusOfNodes(topology, CpuSet.of([node]))),
  }));
  for (const { node, count, there } of parts) {
    const most = mostIn(roomOf(snapshot, grant, there));
    if (most < count) return refuse(`it names ${count} of NUMA node ${node}, and ${most} can be given there now`);
  }
  const takeNarrowly = (chosen: readonly Part[]): Taken =>
    takeParts(chosen, ({ count, there }, partRoom) =>
      allocateOnNodes(snapshot, grant, there, { count, room: partRoom }),
    );
  const ofOneKind = splitByKind(topology, within(sources, inReach), request.count)
    .map((kind) =>
      parts.map((part) => ({ ...part, there: within(kind, cpusOfNodes(topology, CpuSet.of([part.node]))) })),
    )
    .filter((chosen) => chosen.every(({ count, there }) => mostIn(roomOf(snapshot, grant, there)) >= count))
    .map(takeNarrowly)
    .find((taken) => taken.ok && allows(room, taken.cpus));
  const narrow = ofOneKind ?? takeNarrowly(parts);
  const taken =
    narrow.ok && !allows(room, narrow.cpus)
      ? takeParts(parts, ({ count }, partRoom) => takeSparingly(snapshot, grant, partRoom, { count }))
      : narrow;
  if (!taken.ok) return refuse(taken.error);
  if (!allows(room, taken.cpus))
    return refuse(`the shared pool and containers that share the CPUs of a NUMA node would keep too few`);
  const because = `${countCpus(grant, request.count)} of ${nameNodes(split)}, as the scheduler chose`;
  return pin(snapshot, request, grant, { cpus: taken.cpus, because, steps: taken.steps });

  function takeParts(parts: readonly Part[], take: (part: Part, partRoom: Room) => Taken): Taken {
    let cpus = CpuSet.empty;
    const steps: AllocationStep[] = [];
    for (const part of parts) {
      const taken = take(part, roomOf(snapshot, grant, part.there));
      if (!taken.ok) return taken;
      cpus = cpus.union(taken.cpus);
      steps.push(...taken.steps);
    }
    return { ok: true, cpus, steps };
  }
}

/** The part of a choice that one NUMA node gives. */
interface Part {
  readonly node: number;
  readonly count: number;
  readonly there: readonly Source[];
}

/** True for CPUs that lie within what is left of the result. */
function isWithin(topology: Topology, cpus: CpuSet, rest: TopologyResult): boolean {
  return topology.numaNodes.every((node) => node.cpus.countIn(cpus) <= (rest.get(node.id) ?? 0));
}

/** CPUs in which a request in whole cores is split: the largest cores, where the request is a multiple of them. */
function unitOf({ index }: Topology, count: number): number {
  return count % index.core.largest === 0 ? index.core.largest : index.core.smallest;
}

/** The rule that chooses NUMA nodes before the scheduler does. */
function nameChooser({ topologyManager }: Settings): string {
  return !topologyManager || topologyManager.policy === 'none'
    ? 'the memory in its request'
    : `topology-manager-policy ${topologyManager.policy}`;
}

function nameNodes(split: TopologyResult): string {
  return `NUMA node${split.size === 1 ? '' : 's'} ${CpuSet.of(split.keys()).toString()}`;
}

function refuse(because: string): Decision {
  return { kind: 'refuse', code: 'RESOURCE_EXHAUSTED', because };
}
