import { countNodes, maskOfAll, type NodeMask, type TopologyHint } from './topology-hint';

/** Amounts of one resource on each NUMA node, by place. */
export interface NodeAmounts {
  /** All that the node has, taken or not. */
  readonly total: readonly number[];
  /** What the request may use of it. */
  readonly usable: readonly number[];
}

/**
 * Hints for a request: every combination of nodes that has enough usable and contains `within`; preferred are those with as
 * few nodes as could hold the request on an idle machine, and those that `alsoPreferred` accepts. In ascending order of masks.
 */
export function enumerateMasks(
  { total, usable }: NodeAmounts,
  needed: number,
  {
    within = 0,
    alsoPreferred,
  }: { within?: NodeMask; alsoPreferred?: (mask: NodeMask, fewest: number) => boolean } = {},
): TopologyHint[] {
  const nodeCount = total.length;
  const all = maskOfAll(nodeCount);
  const totalOf = new Float64Array(all + 1);
  const usableOf = new Float64Array(all + 1);
  let fewest = nodeCount;
  for (let mask = 1; mask <= all; mask++) {
    const lowest = 31 - Math.clz32(mask & -mask);
    const rest = mask & (mask - 1);
    totalOf[mask] = totalOf[rest]! + total[lowest]!;
    usableOf[mask] = usableOf[rest]! + usable[lowest]!;
    if (totalOf[mask]! >= needed) fewest = Math.min(fewest, countNodes(mask));
  }
  const hints: TopologyHint[] = [];
  for (let mask = 1; mask <= all; mask++) {
    if ((mask & within) !== within || usableOf[mask]! < needed) continue;
    hints.push({ mask, preferred: countNodes(mask) === fewest || (alsoPreferred?.(mask, fewest) ?? false) });
  }
  return hints;
}
