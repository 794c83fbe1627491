import { countNodes, type NodeMask } from './topology-hint';

/** Kernel distances between nodes, by place. */
export type Distances = readonly (readonly number[])[];

/**
 * The best of the masks that are marked: of the first number of nodes in `sizes` that any has; of these the nearest nodes, if
 * distances are given, and then the lowest ones. Undefined when none is marked. Looks twice at each mask, at most.
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
  /** Sum over all ordered pairs of nodes, each with itself included: of as many nodes it ranks as the mean does. */
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
