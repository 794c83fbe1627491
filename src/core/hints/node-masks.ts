import { CpuSet } from '../cpuset';
import type { Topology } from '../topology';

const { imul } = Math;

/** A combination of NUMA nodes: bit i stands for `topology.numaNodes[i]`. */
export type NodeMask = number;

/** NUMA nodes that could hold a request; no mask: any nodes will do. */
export interface TopologyHint {
  readonly mask: NodeMask | null;
  /** It has as few nodes as possible. */
  readonly preferred: boolean;
}

/** The values of a table: no hint, a hint, a preferred hint. The second bit says preferred. */
export const UNFIT = 0;
export const FITS = 1;
export const PREFERRED = 2;

/**
 * Every hint for one resource, as a table over all masks; index 0 is the hint without a mask. A table of 16 nodes has
 * 64 KiB, where a list of hints would take megabytes. A table without any hint: the request cannot be met.
 */
export type HintTable = Uint8Array;

/** `null`: no opinion. */
export type Hints = HintTable | null;

/** Ids of the nodes in a mask. */
export function nodesOfMask(topology: Topology, mask: NodeMask): CpuSet {
  return CpuSet.of(topology.numaNodes.filter((_, i) => (mask & (1 << i)) !== 0).map(({ id }) => id));
}

/** The mask of nodes 0 to count - 1, by their index in the ascending list of ids. */
export function maskOfAll(nodeCount: number): NodeMask {
  return 2 ** nodeCount - 1;
}

/** The number of nodes in a mask of up to 16. */
export function countNodes(mask: NodeMask): number {
  let n = mask - ((mask >>> 1) & 0x5555);
  n = (n & 0x3333) + ((n >>> 2) & 0x3333);
  n = (n + (n >>> 4)) & 0x0f0f;
  return (n + (n >>> 8)) & 0x1f;
}

/** Kernel distances between nodes, by index. */
export type Distances = readonly (readonly number[])[];

/**
 * The best of the masks that are marked: of the first number of nodes in `sizes` that any has; of these the nearest
 * nodes, if distances are given, and then the lowest ones. Undefined when none is marked. Looks twice at each mask, at
 * most.
 */
export function pickMask(marked: Uint8Array, sizes: Iterable<number>, distances?: Distances): NodeMask | undefined {
  const lowestOf = new Int32Array(32);
  for (let mask = 1; mask < marked.length; mask++) {
    if (marked[mask] === 0) continue;
    const count = countNodes(mask);
    if (lowestOf[count] === 0) lowestOf[count] = mask;
  }
  for (const size of sizes) {
    const lowest = lowestOf[size]!;
    if (lowest !== 0) return distances ? pickNearest(marked, size, lowest, distances) : lowest;
  }
  return undefined;
}

function pickNearest(marked: Uint8Array, size: number, lowest: NodeMask, distances: Distances): NodeMask {
  const nodeCount = distances.length;
  const between = Float64Array.from({ length: nodeCount ** 2 }, (_, pair) => {
    const [from, to] = [Math.floor(pair / nodeCount), pair % nodeCount];
    return from === to ? distances[from]![to]! : distances[from]![to]! + distances[to]![from]!;
  });
  const nodes = new Int32Array(nodeCount);
  /**
   * Sum over all ordered pairs of nodes, each with itself included. For masks of equal size it ranks as the mean does.
   */
  const sumDistances = (mask: NodeMask): number => {
    let count = 0;
    let sum = 0;
    for (let node = 0; node < nodeCount; node++) {
      if ((mask & (1 << node)) === 0) continue;
      nodes[count++] = node;
      for (let i = 0; i < count; i++) sum += between[nodes[i]! * nodeCount + node]!;
    }
    return sum;
  };
  let best = lowest;
  let bestSum = sumDistances(lowest);
  for (let mask = lowest + 1; mask < marked.length; mask++) {
    if (marked[mask] === 0 || countNodes(mask) !== size) continue;
    const sum = sumDistances(mask);
    if (sum < bestSum) [best, bestSum] = [mask, sum];
  }
  return best;
}

/** 1, 2, ... up to the number of nodes. */
export function fewestFirst(nodeCount: number): number[] {
  return Array.from({ length: nodeCount }, (_, i) => i + 1);
}

/**
 * Marks the masks that come out when one mask of each table is taken and all are intersected; the empty one left out. A
 * hint without a mask counts as the mask of all nodes.
 *
 * Instead of going through the product, counts for each mask how many ways lead to a superset of it: these counts
 * multiply (a and b are supersets of m just when their intersection is), and subtracting what lies above leaves the
 * ways to the mask itself. Costs nodes × 2^nodes for each table, whatever its hints. Of 16 nodes at most 3^16 pairs
 * have the same intersection, so 32 bits are enough for the result, however often the steps before it overflow.
 */
export function reachableMasks(tables: readonly HintTable[], nodeCount: number): Uint8Array {
  const all = 2 ** nodeCount - 1;
  let reachable: Uint8Array | undefined;
  for (const table of tables) {
    const marks = markMasks(table, all);
    reachable = reachable ? intersectAll(reachable, marks) : marks;
  }
  if (reachable) return reachable;
  const none = new Uint8Array(all + 1);
  none[all] = 1;
  return none;
}

function markMasks(table: HintTable, all: number): Uint8Array {
  const marks = new Uint8Array(all + 1);
  for (let mask = 1; mask <= all; mask++) if (table[mask] !== UNFIT) marks[mask] = 1;
  if (table[0] !== UNFIT) marks[all] = 1;
  return marks;
}

function intersectAll(some: Uint8Array, others: Uint8Array): Uint8Array {
  const ways = Int32Array.from(some);
  const otherWays = Int32Array.from(others);
  sumSupersets(ways, 1);
  sumSupersets(otherWays, 1);
  for (let mask = 0; mask < ways.length; mask++) ways[mask] = imul(ways[mask]!, otherWays[mask]!);
  sumSupersets(ways, -1);
  const marks = new Uint8Array(ways.length);
  for (let mask = 1; mask < ways.length; mask++) if (ways[mask] !== 0) marks[mask] = 1;
  return marks;
}

/** Adds to each mask the values of all its supersets, or takes them off again. */
function sumSupersets(values: Int32Array, sign: 1 | -1): void {
  for (let bit = 1; bit < values.length; bit *= 2) {
    for (let block = 0; block < values.length; block += 2 * bit) {
      for (let mask = block; mask < block + bit; mask++) values[mask]! += imul(sign, values[mask + bit]!);
    }
  }
}
