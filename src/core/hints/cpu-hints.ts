import { CpuSet } from '../cpuset';
import type { StaticPolicyOptions } from '../model/settings';
import type { Topology, Unit } from '../topology';
import { enumerateMasks, type SocketsOfNodes } from './enumerate-masks';
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
  if (!assigned.isEmpty && assigned.size !== count) return new Uint8Array(2 ** topology.numaNodes.length);
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
    { within, ...(options.alignBySocket && socketsOf(topology)) },
  );
}

/** Nothing where a node has several sockets: align-by-socket prefers nothing there. */
function socketsOf({ numaNodes, sockets }: Topology): { readonly sockets?: SocketsOfNodes } {
  const nodesPerSocket = Math.floor(numaNodes.length / sockets.length);
  if (nodesPerSocket === 0) return {};
  const maskOf = (node: Unit): number =>
    sockets.reduce((mask, socket, i) => (socket.cpus.overlaps(node.cpus) ? mask | (1 << i) : mask), 0);
  return { sockets: { socketsOf: numaNodes.map(maskOf), nodesPerSocket } };
}
