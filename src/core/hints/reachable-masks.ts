import { maskOfAll, type NodeMask } from './topology-hint';

/**
 * The masks that come out when one mask of each list is taken and all are intersected; the empty one left out.
 *
 * Instead of going through the product, counts for each mask how many ways lead to a superset of it: these counts multiply
 * (a and b are supersets of m just when their intersection is), and subtracting what lies above leaves the ways to the mask
 * itself. Costs nodes × 2^nodes for each list, whatever its length.
 */
export function reachableMasks(lists: readonly (readonly NodeMask[])[], nodeCount: number): NodeMask[] {
  const all = maskOfAll(nodeCount);
  let reachable = new Float64Array(all + 1);
  reachable[all] = 1;
  for (const list of lists) {
    const ways = new Float64Array(all + 1);
    for (const mask of list) ways[mask] = 1;
    sumSupersets(ways, nodeCount, 1);
    sumSupersets(reachable, nodeCount, 1);
    for (let mask = 0; mask <= all; mask++) reachable[mask]! *= ways[mask]!;
    sumSupersets(reachable, nodeCount, -1);
    // Only whether, not how often: so numbers stay far below what a double holds exactly.
    reachable = reachable.map((count) => (count > 0 ? 1 : 0));
  }
  const masks: NodeMask[] = [];
  for (let mask = 1; mask <= all; mask++) if (reachable[mask] === 1) masks.push(mask);
  return masks;
}

/** Adds to each mask the values of all its supersets, or takes them off again. */
function sumSupersets(values: Float64Array, nodeCount: number, sign: 1 | -1): void {
  for (let bit = 1; bit < 2 ** nodeCount; bit *= 2) {
    for (let mask = 0; mask < values.length; mask++) {
      if ((mask & bit) === 0) values[mask]! += sign * values[mask | bit]!;
    }
  }
}
