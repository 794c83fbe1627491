import { CpuSet } from '../cpuset';
import type { StaticPolicyOptions } from '../model/settings';
import type { Topology } from '../topology';
import { enumerateMasks } from './enumerate-masks';
import type { Hints, NodeMask } from './topology-hint';

export interface CpuHintRequest {
  readonly topology: Topology;
  readonly options: StaticPolicyOptions;
  /** Exclusive CPUs wanted; 0 for a container of the shared pool. */
  readonly count: number;
  /** CPUs that nobody owns and that are not reserved. */
  readonly available: CpuSet;
  /** CPUs that are owned but may be taken over: those of exited containers of the same pod. */
  readonly reusable: CpuSet;
  /** What the container has already; empty when it has none. */
  readonly assigned: CpuSet;
}

/**
 * Hints for exclusive CPUs. A container that has its CPUs fits where they are, and nowhere when their number is another
 * than it asks for. CPUs that can be taken over have to be, so combinations without their nodes are left out.
 */
export function hintCpus({ topology, options, count, available, reusable, assigned }: CpuHintRequest): Hints {
  if (count < 1) return null;
  if (!assigned.isEmpty && assigned.size !== count) return [];
  const [free, takenOver] = assigned.isEmpty ? [available, reusable] : [assigned, CpuSet.empty];
  const usable = free.union(takenOver);
  const nodes = topology.numaNodes;
  let within: NodeMask = 0;
  nodes.forEach(({ cpus }, i) => {
    if (cpus.overlaps(takenOver)) within |= 1 << i;
  });
  return enumerateMasks(
    { total: nodes.map(({ cpus }) => cpus.size), usable: nodes.map(({ cpus }) => cpus.countIn(usable)) },
    count,
    { within, ...(options.alignBySocket && { alsoPreferred: alignedBySocket(topology) }) },
  );
}

/** Accepts nodes that lie in as few sockets as the fewest nodes would need. */
function alignedBySocket({ numaNodes, sockets }: Topology): (mask: NodeMask, fewest: number) => boolean {
  const nodesPerSocket = Math.floor(numaNodes.length / sockets.length);
  const socketsOfNode = numaNodes.map((node) =>
    sockets.flatMap((socket, i) => (socket.cpus.overlaps(node.cpus) ? [i] : [])),
  );
  return (mask, fewest) => {
    if (nodesPerSocket === 0) return false;
    const touched = new Set(socketsOfNode.flatMap((places, i) => ((mask & (1 << i)) === 0 ? [] : places)));
    return touched.size === Math.ceil(fewest / nodesPerSocket);
  };
}
