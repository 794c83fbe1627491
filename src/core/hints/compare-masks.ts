import { countNodes, type NodeMask } from './topology-hint';

/** Negative when a is better than b: fewer nodes, then nearer ones (if distances are given, by place), then lower ones. */
export type CompareMasks = (a: NodeMask, b: NodeMask) => number;

export function compareMasksBy(distances: readonly (readonly number[])[] | undefined): CompareMasks {
  if (!distances) return (a, b) => countNodes(a) - countNodes(b) || a - b;
  return (a, b) => countNodes(a) - countNodes(b) || meanDistance(a, distances) - meanDistance(b, distances) || a - b;
}

/** Mean over all ordered pairs of nodes in the mask, each with itself included. */
function meanDistance(mask: NodeMask, distances: readonly (readonly number[])[]): number {
  const nodes = distances.flatMap((_, node) => ((mask & (1 << node)) === 0 ? [] : [node]));
  const sum = nodes.reduce((total, from) => nodes.reduce((part, to) => part + (distances[from]![to] ?? 0), total), 0);
  return sum / nodes.length ** 2;
}
