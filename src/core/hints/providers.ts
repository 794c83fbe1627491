import type { CpuSet } from '../cpuset';
import type { StaticPolicyOptions } from '../model/settings';
import { composeCores } from '../allocation';
import { coresBySize, hasUnlikeCores, nodesNear, type Topology, type Unit } from '../topology';
import { countNodes, FITS, PREFERRED, UNFIT, type Hints, type HintTable, type NodeMask } from './node-masks';

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
  /**
   * The most CPUs that the request can get on each combination of nodes; absent when that is all that is usable there.
   */
  readonly most?: Float64Array;
}

/**
 * Hints for exclusive CPUs. CPUs that can be taken over must be taken, so combinations without their nodes are left
 * out.
 */
export function hintCpus({ topology, options, count, available, reusable, most }: CpuHintRequest): Hints {
  if (count < 1) return null;
  const usable = available.union(reusable);
  const nodes = topology.numaNodes;
  let within: NodeMask = 0;
  nodes.forEach(({ cpus }, i) => {
    if (cpus.overlaps(reusable)) within |= 1 << i;
  });
  const fits =
    options.fullPcpusOnly && hasUnlikeCores(topology) ? fitsInWholeCores(topology, usable, count) : undefined;
  return enumerateMasks(
    { total: nodes.map(({ cpus }) => cpus.size), usable: nodes.map(({ cpus }) => cpus.countIn(usable)) },
    count,
    { within, ...(most && { most }), ...(options.alignBySocket && socketsOf(topology)), ...(fits && { fits }) },
  );
}

/**
 * Asks of nodes if whole cores there have exactly this number of CPUs together: cores of unlike sizes may not, although
 * there are as many CPUs.
 */
function fitsInWholeCores(topology: Topology, usable: CpuSet, count: number): (mask: NodeMask) => boolean {
  const ofNodes = topology.numaNodes.map(({ cpus }) => coresBySize(topology, cpus.intersect(usable)));
  return (mask) => {
    const cores = new Map<number, number>();
    ofNodes.forEach((sizes, i) => {
      if ((mask & (1 << i)) === 0) return;
      for (const group of sizes) cores.set(group.size, (cores.get(group.size) ?? 0) + group.cores);
    });
    return composeCores(count, [...cores].map(([size, available]) => ({ size, cores: available }))) !== undefined; // prettier-ignore
  };
}

/** Undefined when a node has several sockets: align-by-socket prefers nothing there. */
export function socketsOf({ numaNodes, sockets }: Topology): { readonly sockets?: SocketsOfNodes } {
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
  /** All bytes of this kind by node id; absent = all memory of the nodes. */
  readonly totalBytes?: ReadonlyMap<number, number>;
  /** Free bytes by node id; a node that is not named is taken to be free as a whole. */
  readonly freeBytes?: ReadonlyMap<number, number>;
}

/**
 * Hints for memory, over the nodes that have CPUs, each with the memory that is local to it. No opinion when the memory
 * of the nodes is not known.
 */
export function hintMemory({ topology, bytes, totalBytes, freeBytes }: MemoryHintRequest): Hints {
  if (bytes <= 0 || topology.memoryNodes.length === 0) return null;
  const nodes = topology.numaNodes;
  const total = nodes.map(() => 0);
  const usable = nodes.map(() => 0);
  const shared: SharedAmount[] = [];
  for (const { id, memoryBytes: all } of topology.memoryNodes) {
    const memoryBytes = totalBytes ? (totalBytes.get(id) ?? 0) : all;
    const near = nodes.flatMap((node, i) => (topology.localMemory.get(node.id)!.includes(id) ? [i] : []));
    const free = Math.min(memoryBytes, Math.max(0, freeBytes?.get(id) ?? memoryBytes));
    if (near.length === 1) {
      total[near[0]!]! += memoryBytes;
      usable[near[0]!]! += free;
    } else if (near.length > 1) {
      shared.push({ near: near.reduce((mask, i) => mask | (1 << i), 0), total: memoryBytes, usable: free });
    }
  }
  return enumerateMasks({ total, usable, ...(shared.length > 0 && { shared }) }, bytes);
}

/**
 * Hints for several kinds of memory that a container needs together, as the kubelet's memory manager gives them:
 * combinations with room for every kind. Preferred are those of as few nodes as could hold all kinds on an idle
 * machine.
 */
export function hintMemoryKinds(kinds: readonly MemoryHintRequest[]): Hints {
  const tablesOf = (each: readonly MemoryHintRequest[]): HintTable[] => each.flatMap((kind) => hintMemory(kind) ?? []);
  const [first, ...others] = tablesOf(kinds);
  if (!first || others.length === 0) return first ?? null;
  const idle = tablesOf(kinds.map(({ freeBytes: _taken, ...kind }) => kind));
  const holdsAll = (tables: readonly HintTable[], mask: NodeMask): boolean =>
    tables.every((table) => table[mask] !== UNFIT);
  let fewest = Infinity;
  for (let mask = 1; mask < first.length; mask++) if (holdsAll(idle, mask)) fewest = Math.min(fewest, countNodes(mask));
  return first.map((_, mask) => {
    if (mask === 0 || !holdsAll([first, ...others], mask)) return UNFIT;
    return countNodes(mask) === fewest ? PREFERRED : FITS;
  });
}

/**
 * The hint for memory that was given already, by the nodes that it is on: just these, and preferred. The kubelet's
 * memory manager gives the same hint for a container that it has memory for (`regenerateHints`,
 * pkg/kubelet/cm/memorymanager/policy_static.go). No opinion when no CPUs are local to that memory.
 */
export function hintGivenMemory(topology: Topology, mems: CpuSet): Hints {
  const near = new Set(nodesNear(topology, mems));
  if (near.size === 0) return null;
  const hints = new Uint8Array(2 ** topology.numaNodes.length);
  hints[topology.numaNodes.reduce((mask, node, i) => (near.has(node) ? mask | (1 << i) : mask), 0)] = PREFERRED;
  return hints;
}

/** Amounts of one resource on each NUMA node, by index. */
export interface NodeAmounts {
  /** All that the node has, taken or not. */
  readonly total: readonly number[];
  /** The part of it that the request may use. */
  readonly usable: readonly number[];
  /** Amounts that several nodes have together, such as one memory node that is local to two of them. */
  readonly shared?: readonly SharedAmount[];
}

interface SharedAmount {
  readonly near: NodeMask;
  readonly total: number;
  readonly usable: number;
}

export interface Conditions {
  /** Nodes that a mask must have. */
  readonly within?: NodeMask;
  /** The most that can be had on each mask; absent = all that is usable there. */
  readonly most?: Float64Array;
  readonly sockets?: SocketsOfNodes;
  /** Asked of a mask that has enough. */
  readonly fits?: (mask: NodeMask) => boolean;
}

/** For align-by-socket. */
export interface SocketsOfNodes {
  /** The sockets of each node, by index: bit i stands for `topology.sockets[i]`. */
  readonly socketsOf: readonly number[];
  /** As the kubelet reckons, rounded down; at least 1. */
  readonly nodesPerSocket: number;
}

/**
 * Hints for a request: every combination of nodes that has enough usable and contains `within`; preferred are those
 * with as few nodes as could hold the request on an idle machine, and with `sockets` those that lie in as few sockets
 * as these nodes would need. `most` replaces the sums of what is usable. Looks once at each mask.
 */
export function enumerateMasks(
  { total, usable, shared = [] }: NodeAmounts,
  needed: number,
  { within = 0, most, sockets, fits }: Conditions = {},
): HintTable {
  const size = 2 ** total.length;
  const fewest = shared.length === 0 ? countFewest(total, needed) : searchFewest({ total, shared }, needed);
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
    const holds = most ? most[mask]! : shared.length === 0 ? held : held + sumNear(shared, mask, 'usable');
    if ((mask & within) !== within || holds < needed || fits?.(mask) === false) continue;
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

/** The same where nodes have amounts together: looks at each mask. */
function searchFewest({ total, shared }: Pick<Required<NodeAmounts>, 'total' | 'shared'>, needed: number): number {
  let fewest = total.length;
  const totalOf = new Float64Array(2 ** total.length);
  for (let mask = 1; mask < totalOf.length; mask++) {
    totalOf[mask] = totalOf[mask & (mask - 1)]! + total[31 - clz32(mask & -mask)]!;
    if (totalOf[mask]! + sumNear(shared, mask, 'total') >= needed) fewest = Math.min(fewest, countNodes(mask));
  }
  return fewest;
}

function sumNear(shared: readonly SharedAmount[], mask: NodeMask, what: 'total' | 'usable'): number {
  return shared.reduce((sum, amount) => sum + ((amount.near & mask) === 0 ? 0 : amount[what]), 0);
}
