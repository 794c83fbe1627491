import type { TopologyManagerPolicy } from '../model/settings';
import {
  countNodes,
  fewestFirst,
  FITS,
  maskOfAll,
  pickMask,
  PREFERRED,
  reachableMasks,
  UNFIT,
  type Distances,
  type Hints,
  type HintTable,
  type NodeMask,
  type TopologyHint,
} from './node-masks';

/** The hints of one provider by resource; null when it gives none at all. */
export type ProviderHints = Readonly<Record<string, Hints>> | null;

export interface MergeInput {
  readonly policy: TopologyManagerPolicy;
  /** At most 16. */
  readonly nodeCount: number;
  readonly providers: readonly ProviderHints[];
  /** Present when the nearer nodes win among masks of equal size. */
  readonly distances?: Distances;
}

/** Hints of one resource as they enter the merge: no table is without hints but by the policy. */
export interface ResourceHints {
  readonly resource: string;
  readonly hints: HintTable;
}

/**
 * One table per resource: no opinion becomes "anywhere"; a request that cannot be met "anywhere, but not preferred".
 */
export function collectHints(providers: readonly ProviderHints[], nodeCount: number): ResourceHints[] {
  const only = (hint: number): HintTable => {
    const table = new Uint8Array(2 ** nodeCount);
    table[0] = hint;
    return table;
  };
  return providers.flatMap((provider, i) => {
    if (provider === null || Object.keys(provider).length === 0)
      return [{ resource: `provider ${i}`, hints: only(PREFERRED) }];
    return Object.entries(provider).map(([resource, hints]) => ({
      resource,
      hints: hints === null ? only(PREFERRED) : isEmpty(hints) ? only(FITS) : hints,
    }));
  });
}

/**
 * The best of all ways to combine one hint of each resource, as the kubelet's topology manager ranks them: preferred
 * before not preferred, then as few nodes as possible, then near ones (if distances are given), then the lowest nodes.
 * Combinations that are not preferred come nearest to the count of nodes that the most demanding resource needs.
 */
export function mergeHints(input: MergeInput): TopologyHint {
  const preferred = mergePreferredHints(input);
  if (preferred) return preferred;
  const mask = mergeOthers(tablesOf(input), input.nodeCount, distancesOf(input)) ?? maskOfAll(input.nodeCount);
  return toHint(input, mask, false);
}

/** As mergeHints, where only a preferred combination is of use. */
export function mergePreferredHints(input: MergeInput): TopologyHint | undefined {
  const mask = mergePreferred(tablesOf(input), input.nodeCount, distancesOf(input));
  return mask === undefined ? undefined : toHint(input, mask, true);
}

function toHint({ policy, nodeCount }: MergeInput, mask: NodeMask, preferred: boolean): TopologyHint {
  return { mask: policy === 'single-numa-node' && mask === maskOfAll(nodeCount) ? null : mask, preferred };
}

function tablesOf({ policy, nodeCount, providers }: MergeInput): HintTable[] {
  const tables = collectHints(providers, nodeCount).map(({ hints }) => hints);
  return policy === 'single-numa-node' ? tables.map(keepOneNode) : tables;
}

function distancesOf({ policy, distances }: MergeInput): Distances | undefined {
  return policy === 'single-numa-node' ? undefined : distances;
}

function keepOneNode(hints: HintTable): HintTable {
  const kept = new Uint8Array(hints.length);
  if (hints[0] === PREFERRED) kept[0] = PREFERRED;
  for (let mask = 1; mask < hints.length; mask *= 2) if (hints[mask] === PREFERRED) kept[mask] = PREFERRED;
  return kept;
}

/** All preferred and all the same mask, save for those without one. */
function mergePreferred(
  tables: readonly HintTable[],
  nodeCount: number,
  distances: Distances | undefined,
): NodeMask | undefined {
  const all = maskOfAll(nodeCount);
  const demanding = tables.filter((hints) => hints[0] !== PREFERRED);
  const suited = new Uint8Array(all + 1);
  if (demanding.length > 0) {
    suited.fill(1);
    for (const hints of demanding) for (let mask = 1; mask <= all; mask++) suited[mask]! &= hints[mask]! >> 1;
  } else {
    suited[all] = 1;
    for (const hints of tables) for (let mask = 1; mask <= all; mask++) suited[mask]! |= hints[mask]! >> 1;
  }
  return pickMask(suited, fewestFirst(nodeCount), distances);
}

/** The best combination where hints disagree or are not preferred themselves. */
function mergeOthers(
  tables: readonly HintTable[],
  nodeCount: number,
  distances: Distances | undefined,
): NodeMask | undefined {
  if (tables.some(isEmpty)) return undefined;
  const demanded = Math.max(0, ...tables.map(countNarrowest));
  // First as many nodes as the most demanding resource has at its narrowest, then fewer, then more.
  const fewer = fewestFirst(demanded).reverse();
  const more = fewestFirst(nodeCount).filter((size) => size > demanded);
  return pickMask(reachableMasks(tables.filter(hasMasks), nodeCount), [...fewer, ...more], distances);
}

/** The fewest nodes of any mask; 0 when no hint has one. */
function countNarrowest(hints: HintTable): number {
  let fewest = 0;
  for (let mask = 1; mask < hints.length; mask++) {
    if (hints[mask] !== UNFIT && (fewest === 0 || countNodes(mask) < fewest)) fewest = countNodes(mask);
  }
  return fewest;
}

function isEmpty(hints: HintTable): boolean {
  return !hints.includes(FITS) && !hints.includes(PREFERRED);
}

/** Some hint names nodes. */
export function hasMasks(hints: HintTable): boolean {
  return hints.includes(FITS, 1) || hints.includes(PREFERRED, 1);
}
