import type { CpuSet } from '../cpuset';
import type { StaticPolicyOptions } from '../model/settings';
import type { Topology, Unit } from '../topology';
import { countNodes, FITS, PREFERRED, type Hints, type HintTable, type NodeMask } from './node-masks';

const { clz32 } = Math;

export interface CpuHintRequest {
  readonly topology: Topology;
  readonly options: StaticPolicyOptions;
  /** Exclusive CPUs wanted; 0 for a container of the shared pool. */
  readonly count: number;
  /** CPUs that are neither owned nor reserved. */
  readonly available: CpuSet;
  /** CPUs that are owned but may be taken over: those of exited containers of the same pod. */
  readonly reusable: CpuSet;
  /** The most CPUs that the request can get on each combination of nodes; absent when that is all that is usable there. */
  readonly most?: Float64Array;
}

/** Hints for exclusive CPUs. CPUs that can be taken over must be taken, so combinations without their nodes are left out. */
export function hintCpus({ topology, options, count, available, reusable, most }: CpuHintRequest): Hints {
  if (count < 1) return null;
  const usable = available.union(reusable);
  const nodes = topology.numaNodes;
  let within: NodeMask = 0;
  nodes.forEach(({ cpus }, i) => {
    if (cpus.overlaps(reusable)) within |= 1 << i;
  });
  return enumerateMasks(
    { total: nodes.map(({ cpus }) => cpus.size), usable: nodes.map(({ cpus }) => cpus.countIn(usable)) },
    count,
    { within, ...(most && { most }), ...(options.alignBySocket && socketsOf(topology)) },
  );
}

/** Undefined when a node has several sockets: align-by-socket prefers nothing there. */
function socketsOf({ numaNodes, sockets }: Topology): { readonly sockets?: SocketsOfNodes } {
  const nodesPerSocket = Math.floor(numaNodes.length / sockets.length);
  if (nodesPerSocket === 0) return {};
  const maskOf = (node: Unit): number =>
    sockets.reduce((mask, socket, i) => (socket.cpus.overlaps(node.cpus) ? mask | (1 << i) : mask), 0);
  return { sockets: { socketsOf: numaNodes.map(maskOf), nodesPerSocket } };
}

export interface MemoryHintRequest {
  readonly topology: Topology;
  /** 0: no opinion. */
  readonly bytes: number;
  /** Free bytes by node id; a node that is not named is taken to be free as a whole. */
  readonly freeBytes?: ReadonlyMap<number, number>;
}

/**
 * Hints for memory, over the nodes that have CPUs. No opinion when the memory of the nodes is not known.
 */
export function hintMemory({ topology, bytes, freeBytes }: MemoryHintRequest): Hints {
  if (bytes <= 0 || topology.memoryNodes.length === 0) return null;
  const bytesOf = new Map(topology.memoryNodes.map(({ id, memoryBytes }) => [id, memoryBytes]));
  const total = topology.numaNodes.map(({ id }) => bytesOf.get(id) ?? 0);
  const usable = topology.numaNodes.map(({ id }, i) =>
    Math.min(total[i]!, Math.max(0, freeBytes?.get(id) ?? total[i]!)),
  );
  return enumerateMasks({ total, usable }, bytes);
}

/** Amounts of one resource on each NUMA node, by index. */
interface NodeAmounts {
  /** All that the node has, taken or not. */
  readonly total: readonly number[];
  /** The part of it that the request may use. */
  readonly usable: readonly number[];
}

/** For align-by-socket. */
interface SocketsOfNodes {
  /** The sockets of each node, by index: bit i stands for `topology.sockets[i]`. */
  readonly socketsOf: readonly number[];
  /** As the kubelet reckons, rounded down; at least 1. */
  readonly nodesPerSocket: number;
}

/**
 * Hints for a request: every combination of nodes that has enough usable and contains `within`; preferred are those with as
 * few nodes as could hold the request on an idle machine, and with `sockets` those that lie in as few sockets as these
 * nodes would need. `most` replaces the sums of what is usable. Looks once at each mask.
 */
function enumerateMasks(
  { total, usable }: NodeAmounts,
  needed: number,
  {
    within = 0,
    most,
    sockets,
  }: { readonly within?: NodeMask; readonly most?: Float64Array; readonly sockets?: SocketsOfNodes } = {},
): HintTable {
  const size = 2 ** total.length;
  const fewest = countFewest(total, needed);
  const fewestSockets = sockets ? Math.ceil(fewest / sockets.nodesPerSocket) : -1;
  const hints = new Uint8Array(size);
  const usableOf = new Float64Array(size);
  const socketsOf = new Uint16Array(sockets ? size : 0);
  for (let mask = 1; mask < size; mask++) {
    const lowest = 31 - clz32(mask & -mask);
    const rest = mask & (mask - 1);
    const held = usableOf[rest]! + usable[lowest]!;
    usableOf[mask] = held;
    if (sockets) socketsOf[mask] = socketsOf[rest]! | sockets.socketsOf[lowest]!;
    if ((mask & within) !== within || (most ? most[mask]! : held) < needed) continue;
    const preferred =
      countNodes(mask) === fewest || (fewestSockets >= 0 && countNodes(socketsOf[mask]!) === fewestSockets);
    hints[mask] = preferred ? PREFERRED : FITS;
  }
  return hints;
}

/** The fewest nodes that could hold it if all were free; all of them when not even they can. */
function countFewest(total: readonly number[], needed: number): number {
  const largestFirst = [...total].sort((a, b) => b - a);
  let held = 0;
  for (let count = 1; count <= largestFirst.length; count++) {
    held += largestFirst[count - 1]!;
    if (held >= needed) return count;
  }
  return total.length;
}
