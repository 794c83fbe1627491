/*
 * The topology manager's rules, one hint after the other, as a reference: the tables of src/core/hints have to agree
 * with it.
 */
import { CpuSet } from '../../../src/core/cpuset';
import type { CpuHintRequest, MemoryHintRequest } from '../../../src/core/hints/providers';
import type { TopologyManagerOptions, TopologyManagerPolicy } from '../../../src/core/model/settings';
import type { Topology } from '../../../src/core/topology';

/** A combination of NUMA nodes: bit i stands for `topology.numaNodes[i]`. */
export type NodeMask = number;

/** NUMA nodes that could hold a request; no mask: any nodes will do. */
export interface TopologyHint {
  readonly mask: NodeMask | null;
  /** True when no combination of fewer nodes could hold the request. */
  readonly preferred: boolean;
}

/** Every hint for one resource. `null`: no opinion. The empty list: the request cannot be met. */
export type Hints = readonly TopologyHint[] | null;

/** Ids of the nodes in a mask. */
export function nodesOfMask(topology: Topology, mask: NodeMask): CpuSet {
  return CpuSet.of(topology.numaNodes.filter((_, i) => (mask & (1 << i)) !== 0).map(({ id }) => id));
}

/** The mask of nodes 0 to count - 1, by their places in the ascending list of ids. */
export function maskOfAll(nodeCount: number): NodeMask {
  return 2 ** nodeCount - 1;
}

/** The number of nodes in a mask. */
export function countNodes(mask: NodeMask): number {
  let count = 0;
  for (let rest = mask; rest !== 0; rest &= rest - 1) count++;
  return count;
}

/**
 * Negative when a is better than b: fewer nodes, then nearer ones (if distances are given, by place), then lower ones.
 */
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

/** Amounts of one resource on each NUMA node, by place. */
export interface NodeAmounts {
  /** All that the node has, taken or not. */
  readonly total: readonly number[];
  /** The part of it that the request may use. */
  readonly usable: readonly number[];
}

/**
 * Hints for a request: every combination of nodes that has enough usable and contains `within`; preferred are those
 * with as few nodes as could hold the request on an idle machine, and those that `alsoPreferred` accepts. In ascending
 * order of masks.
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

/**
 * Hints for exclusive CPUs. CPUs that can be taken over have to be, so combinations without their nodes are left out.
 */
export function hintCpus({ topology, options, count, available, reusable }: CpuHintRequest): Hints {
  if (count < 1) return null;
  const usable = available.union(reusable);
  const nodes = topology.numaNodes;
  let within: NodeMask = 0;
  nodes.forEach(({ cpus }, i) => {
    if (cpus.overlaps(reusable)) within |= 1 << i;
  });
  return enumerateMasks(
    { total: nodes.map(({ cpus }) => cpus.size), usable: nodes.map(({ cpus }) => cpus.countIn(usable)) },
    count,
    { within, ...(options.alignBySocket && { alsoPreferred: alignedBySocket(topology) }) },
  );
}

/** Accepts nodes that lie in as few sockets as the fewest nodes would need. */
function alignedBySocket({ numaNodes, sockets }: Topology): (mask: NodeMask, fewest: number) => boolean {
  const nodesPerSocket = Math.floor(numaNodes.length / sockets.length);
  const socketsOfNode = numaNodes.map((node) =>
    sockets.flatMap((socket, i) => (socket.cpus.overlaps(node.cpus) ? [i] : [])),
  );
  return (mask, fewest) => {
    if (nodesPerSocket === 0) return false;
    const touched = new Set(socketsOfNode.flatMap((places, i) => ((mask & (1 << i)) === 0 ? [] : places)));
    return touched.size === Math.ceil(fewest / nodesPerSocket);
  };
}

/**
 * Hints for memory, over the nodes that have CPUs. No opinion when the memory of the nodes is not known.
 */
export function hintMemory({ topology, bytes, freeBytes }: MemoryHintRequest): Hints {
  if (bytes <= 0 || topology.memoryNodes.length === 0) return null;
  const nodes = topology.numaNodes;
  /** The bytes of all memory that is local to some node of the mask. */
  const sumOf = (mask: NodeMask, bytesOf: (id: number, all: number) => number): number => {
    const local = new Set(nodes.flatMap(({ id }, i) => (mask & (1 << i) ? topology.localMemory.get(id)! : [])));
    return topology.memoryNodes.reduce(
      (sum, { id, memoryBytes }) => sum + (local.has(id) ? bytesOf(id, memoryBytes) : 0),
      0,
    );
  };
  const masks = Array.from({ length: maskOfAll(nodes.length) }, (_, i) => i + 1);
  const suffices = masks.filter((mask) => sumOf(mask, (_, all) => all) >= bytes);
  const fewest = Math.min(nodes.length, ...suffices.map(countNodes));
  const free = (id: number, all: number): number => Math.min(all, Math.max(0, freeBytes?.get(id) ?? all));
  return masks
    .filter((mask) => sumOf(mask, free) >= bytes)
    .map((mask) => ({ mask, preferred: countNodes(mask) === fewest }));
}

/**
 * The masks that come out when one mask of each list is taken and all are intersected; the empty one left out.
 *
 * Instead of going through the product, counts for each mask how many ways lead to a superset of it: these counts
 * multiply (a and b are supersets of m just when their intersection is), and subtracting what lies above leaves the
 * ways to the mask itself. Costs nodes × 2^nodes for each list, whatever its length.
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
    // 1 for any number of ways, so that a double always holds the count exactly.
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

/** The hints of one provider by resource, or undefined. */
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

/** The result when hints disagree or are not preferred themselves. */
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

/** The topology manager's decision on the hints. */
export type Alignment =
  /** `nodes` to take from first; absent when any will do. */
  | { readonly kind: 'accept'; readonly nodes?: CpuSet; readonly preferred: boolean; readonly because: string }
  | { readonly kind: 'refuse'; readonly because: string };

export interface AlignInput {
  readonly topology: Topology;
  readonly policy: TopologyManagerPolicy;
  readonly options: TopologyManagerOptions;
  readonly providers: readonly ProviderHints[];
}

/** Merges the hints of all providers and judges the result by the policy: none and best-effort accept any result. */
export function align({ topology, policy, options, providers }: AlignInput): Alignment {
  if (policy === 'none') return { kind: 'accept', preferred: true, because: 'topology-manager-policy is none' };
  const nodeCount = topology.numaNodes.length;
  const distances = options.preferClosestNumaNodes ? distancesOf(topology) : undefined;
  const input = { nodeCount, providers, ...(distances && { distances }) };

  const merged = mergeHints({ ...input, policy });
  if (merged.preferred || policy === 'best-effort') {
    const nodes = merged.mask === null ? undefined : nodesOfMask(topology, merged.mask);
    const where = nodes ? nameNodes(nodes) : 'any NUMA nodes';
    const how = merged.preferred ? 'as narrow as can be' : 'the best there is, though not preferred';
    return { kind: 'accept', ...(nodes && { nodes }), preferred: merged.preferred, because: `${where}: ${how}` };
  }
  const constraint = findConstraint(policy, providers);
  const enough = findEnough(
    collectHints(providers).map(({ hints }) => hints),
    nodeCount,
    distances,
  );
  if (enough === undefined) {
    return {
      kind: 'refuse',
      because: `topology-manager-policy ${policy}: ${constraint}; ask for less, or free some`,
    };
  }
  const nodes = nodesOfMask(topology, enough);
  const nearest = {
    nodes,
    because: `everything fits there now, over ${nodes.size} NUMA node${nodes.size === 1 ? '' : 's'}`,
  };
  return {
    kind: 'refuse',
    because:
      `topology-manager-policy ${policy}: ${constraint}; nearest: ${nameNodes(nodes)}, ${nearest.because}; ` +
      'ask for less, free some there, or set topology-manager-policy best-effort',
  };
}

/** The best combination of nodes in which every resource has a hint; undefined when there is none. */
function findEnough(
  lists: readonly (readonly TopologyHint[])[],
  nodeCount: number,
  distances: number[][] | undefined,
): NodeMask | undefined {
  const all = maskOfAll(nodeCount);
  const held = new Int32Array(all + 1);
  for (const hints of lists) {
    const holds = new Uint8Array(all + 1);
    // Nodes that can hold a request still can with more nodes beside them.
    for (const { mask, preferred } of hints) if (mask !== null || preferred) holds[mask ?? 0] = 1;
    for (let bit = 1; bit <= all; bit *= 2) {
      for (let mask = 1; mask <= all; mask++) if ((mask & bit) !== 0) holds[mask]! |= holds[mask ^ bit]!;
    }
    for (let mask = 1; mask <= all; mask++) held[mask]! += holds[mask]!;
  }
  const compare = compareMasksBy(distances);
  let best: NodeMask | undefined;
  for (let mask = 1; mask <= all; mask++) {
    if (held[mask] === lists.length && (best === undefined || compare(mask, best) < 0)) best = mask;
  }
  return best;
}

/** The first thing that no combination can meet, in the words of the operator. */
function findConstraint(policy: TopologyManagerPolicy, providers: readonly ProviderHints[]): string {
  const lists = collectHints(providers);
  const impossible = lists.find(({ hints }) => hints.every(({ mask, preferred }) => mask === null && !preferred));
  if (impossible) return `no NUMA nodes together have enough ${impossible.resource}`;

  const suits = ({ mask, preferred }: TopologyHint): boolean =>
    preferred && (policy === 'restricted' || mask === null || countNodes(mask) === 1);
  const where = policy === 'single-numa-node' ? 'one NUMA node' : 'the few NUMA nodes that an empty machine would need';
  const tooWide = lists.find(({ hints }) => !hints.some(suits));
  if (tooWide) return `${tooWide.resource} does not fit into ${where}`;
  return `${lists.map(({ resource }) => resource).join(' and ')} do not fit into the same ${
    policy === 'single-numa-node' ? 'NUMA node' : 'NUMA nodes'
  }`;
}

/** The kernel's distances by place; undefined when they are not known of every node. */
function distancesOf({ numaNodes, memoryNodes }: Topology): number[][] | undefined {
  const byId = new Map(memoryNodes.map(({ id, distances }) => [id, distances]));
  const rows = numaNodes.map(({ id }) => numaNodes.map((to) => byId.get(id)?.get(to.id)));
  return rows.every((row) => row.every((distance) => distance !== undefined)) ? rows : undefined;
}

function nameNodes(nodes: CpuSet): string {
  return `NUMA node${nodes.size === 1 ? '' : 's'} ${nodes.toString()}`;
}
