import type { TopologyManagerPolicy } from '../model/settings';
import { compareMasksBy, type CompareMasks } from './compare-masks';
import { reachableMasks } from './reachable-masks';
import { countNodes, maskOfAll, type NodeMask, type TopologyHint } from './topology-hint';

/** What one provider says: hints by resource, or nothing at all. */
export type ProviderHints = Readonly<Record<string, readonly TopologyHint[] | null>> | null;

export interface MergeInput {
  readonly policy: TopologyManagerPolicy;
  readonly nodeCount: number;
  readonly providers: readonly ProviderHints[];
  /** Kernel distances between nodes, by place; given when nearer nodes shall win among as many. */
  readonly distances?: readonly (readonly number[])[];
}

/** Hints of one resource as they enter the merge: no list is empty but by the policy. */
export interface ResourceHints {
  readonly resource: string;
  readonly hints: readonly TopologyHint[];
}

const ANYWHERE: TopologyHint = { mask: null, preferred: true };
const NOWHERE: TopologyHint = { mask: null, preferred: false };

/** One list per resource: no opinion becomes "anywhere"; a request that cannot be met "anywhere, but not preferred". */
export function collectHints(providers: readonly ProviderHints[]): ResourceHints[] {
  return providers.flatMap((provider, i) => {
    if (provider === null || Object.keys(provider).length === 0)
      return [{ resource: `provider ${i}`, hints: [ANYWHERE] }];
    return Object.entries(provider).map(([resource, hints]) => ({
      resource,
      hints: hints === null ? [ANYWHERE] : hints.length === 0 ? [NOWHERE] : hints,
    }));
  });
}

/**
 * The best of all ways to combine one hint of each resource, as the kubelet's topology manager ranks them: preferred
 * before not preferred, then as few nodes as possible, then near ones (if distances are given), then the lowest nodes.
 * Combinations that are not preferred come nearest to the count of nodes that the most demanding resource needs.
 */
export function mergeHints({ policy, nodeCount, providers, distances }: MergeInput): TopologyHint {
  const all = maskOfAll(nodeCount);
  const lists = collectHints(providers).map(({ hints }) =>
    policy === 'single-numa-node' ? hints.filter(fitsOneNode) : hints,
  );
  const compare = compareMasksBy(policy === 'single-numa-node' ? undefined : distances);

  const merged = mergePreferred(lists, all, compare) ??
    mergeOthers(lists, nodeCount, compare) ?? { mask: all, preferred: false };
  return policy === 'single-numa-node' && merged.mask === all ? { ...merged, mask: null } : merged;
}

function fitsOneNode({ mask, preferred }: TopologyHint): boolean {
  return preferred && (mask === null || countNodes(mask) === 1);
}

type Lists = readonly (readonly TopologyHint[])[];

/** All preferred and all the same mask, save for those without one. */
function mergePreferred(lists: Lists, all: NodeMask, compare: CompareMasks): TopologyHint | undefined {
  const demanded: Set<NodeMask>[] = [];
  const optional = new Set([all]);
  for (const hints of lists) {
    const preferred = hints.filter((hint) => hint.preferred);
    const masks = preferred.flatMap(({ mask }) => mask ?? []);
    if (!preferred.some(({ mask }) => mask === null)) demanded.push(new Set(masks));
    else for (const mask of masks) optional.add(mask);
  }
  const [first, ...others] = demanded;
  const common = first ? [...first].filter((mask) => others.every((masks) => masks.has(mask))) : [...optional];
  const best = common.sort(compare)[0];
  return best === undefined ? undefined : { mask: best, preferred: true };
}

/** What remains when hints disagree or are not preferred themselves. */
function mergeOthers(lists: Lists, nodeCount: number, compare: CompareMasks): TopologyHint | undefined {
  if (lists.some((hints) => hints.length === 0)) return undefined;
  const all = maskOfAll(nodeCount);
  // The node count that the most demanding resource has at its narrowest.
  const demanded = lists.reduce((most, hints) => {
    const counts = hints.flatMap(({ mask }) => (mask === null ? [] : [countNodes(mask)]));
    return counts.length === 0 ? most : Math.max(most, Math.min(...counts));
  }, 0);
  const classOf = (count: number): number => (count === demanded ? 0 : count < demanded ? 1 : 2);

  const reachable = reachableMasks(
    lists.map((hints) => hints.map(({ mask }) => mask ?? all)),
    nodeCount,
  );
  let best: NodeMask | undefined;
  for (const mask of reachable) {
    if (best === undefined || compareOthers(mask, best) < 0) best = mask;
  }
  return best === undefined ? undefined : { mask: best, preferred: false };

  function compareOthers(a: NodeMask, b: NodeMask): number {
    const [u, v] = [countNodes(a), countNodes(b)];
    const byClass = classOf(u) - classOf(v);
    if (byClass !== 0) return byClass;
    return classOf(u) === 1 && u !== v ? v - u : compare(a, b);
  }
}
