import { UNFIT, type HintTable } from './topology-hint';

const { imul } = Math;

/**
 * Marks the masks that come out when one mask of each table is taken and all are intersected; the empty one left out. A hint
 * without a mask counts as the mask of all nodes.
 *
 * Instead of going through the product, counts for each mask how many ways lead to a superset of it: these counts multiply
 * (a and b are supersets of m just when their intersection is), and subtracting what lies above leaves the ways to the mask
 * itself. Costs nodes × 2^nodes for each table, whatever its hints. Of 16 nodes at most 3^16 pairs have the same intersection,
 * so 32 bits are enough for the result, however often the steps before it overflow.
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
