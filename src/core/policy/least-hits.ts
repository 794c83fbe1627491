import type { NodeMask } from '../hints/node-masks';

const { clz32 } = Math;

/** Nodes by their index, in the order in which they are preferred where they weigh the same. */
type NodeSet = readonly number[];

/**
 * The nodes of the least total weight of which each set has one, for any combination of up to 16 nodes: of the sets
 * that lie in it. An answer costs at most one look at each smaller combination, and the answers for those are kept: a
 * table of all takes no longer than the hardest question. The answer depends on the combination alone, and not on what
 * was asked before.
 */
export class LeastHits {
  /** By the lowest node of the set. */
  private readonly setsFrom: readonly { readonly mask: NodeMask; readonly nodes: NodeSet }[][];
  /** By combination: the least weight and 1; 0 = not known yet. */
  private readonly least: Uint32Array;
  private readonly chosen: Uint16Array;

  constructor(
    sets: readonly NodeSet[],
    private readonly weights: readonly number[],
  ) {
    const setsFrom = weights.map((): { readonly mask: NodeMask; readonly nodes: NodeSet }[] => []);
    for (const nodes of sets) setsFrom[Math.min(...nodes)]!.push({ mask: maskOf(nodes), nodes });
    this.setsFrom = setsFrom;
    this.least = new Uint32Array(2 ** weights.length);
    this.chosen = new Uint16Array(2 ** weights.length);
    this.least[0] = 1;
  }

  /** The chosen nodes of this combination. */
  within(mask: NodeMask): NodeMask {
    if (this.least[mask] === 0) this.find(mask);
    return this.chosen[mask]!;
  }

  /**
   * A set with the lowest node has to be hit by one of its nodes; without such a set the lowest node does not matter.
   */
  private find(mask: NodeMask): void {
    const lowest = 31 - clz32(mask & -mask);
    const set = this.setsFrom[lowest]!.find((each) => (each.mask & mask) === each.mask);
    if (set === undefined) {
      const rest = mask & (mask - 1);
      this.chosen[mask] = this.within(rest);
      this.least[mask] = this.least[rest]!;
      return;
    }
    let least = 0;
    for (const node of set.nodes) {
      const rest = mask ^ (1 << node);
      const others = this.within(rest);
      const weight = this.least[rest]! + this.weights[node]!;
      if (least > 0 && weight >= least) continue;
      least = weight;
      this.chosen[mask] = others | (1 << node);
    }
    this.least[mask] = least;
  }
}

/** One node of each set, for any number of nodes: the preferred one of each set that has none yet. */
export function hitInOrder(sets: readonly NodeSet[]): NodeSet {
  const chosen: number[] = [];
  for (const nodes of sets) if (!nodes.some((node) => chosen.includes(node))) chosen.push(nodes[0]!);
  return chosen;
}

export function maskOf(nodes: NodeSet): NodeMask {
  return nodes.reduce((mask, node) => mask | (1 << node), 0);
}
