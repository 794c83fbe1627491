import type { CpuSet } from '../cpuset';
import type { TopologyManagerOptions, TopologyManagerPolicy } from '../model/settings';
import type { Topology } from '../topology';
import { compareMasksBy } from './compare-masks';
import { collectHints, mergeHints, type ProviderHints } from './merge-hints';
import { countNodes, maskOfAll, nodesOfMask, type NodeMask, type TopologyHint } from './topology-hint';

/** What the topology manager makes of the hints. */
export type Alignment =
  /** `nodes` to take from first; absent when any will do. */
  | { readonly kind: 'accept'; readonly nodes?: CpuSet; readonly preferred: boolean; readonly because: string }
  | {
      readonly kind: 'refuse';
      /** What could not be met. */
      readonly constraint: string;
      /** The fewest nodes that hold everything now, though not as the policy demands; absent when none do. */
      readonly nearest?: { readonly nodes: CpuSet; readonly because: string };
      readonly because: string;
    };

export interface AlignInput {
  readonly topology: Topology;
  readonly policy: TopologyManagerPolicy;
  readonly options: TopologyManagerOptions;
  readonly providers: readonly ProviderHints[];
}

/** Merges the hints of all providers and judges the result by the policy: none and best-effort accept whatever there is. */
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
      constraint,
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
    constraint,
    nearest,
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
    // What holds a request in some nodes holds it in more of them.
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
  const where = policy === 'single-numa-node' ? 'one NUMA node' : 'the few NUMA nodes that an idle machine would need';
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
