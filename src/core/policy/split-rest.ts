import type { TopologyResult } from '../annotations/topology-result';

/**
 * So many CPUs out of what is left: of the one node where they fit best, or else of as few as possible. Then other
 * containers of the pod are not torn either, as far as that can be known. Undefined when less is left.
 */
export function splitRest(rest: TopologyResult, count: number, unit: number): TopologyResult | undefined {
  const split = new Map<number, number>();
  let missing = count;
  const most = [...rest]
    .map(([node, left]) => ({ node, left: left - (left % unit) }))
    .filter(({ left }) => left > 0)
    .sort((a, b) => b.left - a.left || a.node - b.node);
  for (const [i, largest] of most.entries()) {
    if (missing === 0) break;
    const enough = most.slice(i).filter(({ left }) => left >= missing);
    const { node, left } = enough.reduce((best, each) => (each.left < best.left ? each : best), largest);
    split.set(node, Math.min(missing, left));
    missing -= Math.min(missing, left);
  }
  return missing === 0 ? new Map([...split].sort(([a], [b]) => a - b)) : undefined;
}
