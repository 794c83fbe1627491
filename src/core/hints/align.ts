import type { CpuSet } from '../cpuset';
import type { TopologyManagerOptions, TopologyManagerPolicy } from '../model/settings';
import { plural } from '../text';
import type { Topology } from '../topology';
import {
  collectHints,
  hasMasks,
  mergeHints,
  mergePreferredHints,
  type ProviderHints,
  type ResourceHints,
} from './merge-hints';
import {
  fewestFirst,
  nodesOfMask,
  pickMask,
  PREFERRED,
  UNFIT,
  type Distances,
  type HintTable,
  type NodeMask,
} from './node-masks';

/** The decision of the topology manager. */
export type Alignment =
  /** `nodes` to take from first; absent when any will do. */
  | { readonly kind: 'accept'; readonly nodes?: CpuSet; readonly preferred: boolean; readonly because: string }
  /** `because` names what could not be met, and the fewest nodes that hold everything now, if any do. */
  | { readonly kind: 'refuse'; readonly because: string };

interface AlignInput {
  readonly topology: Topology;
  readonly policy: TopologyManagerPolicy;
  readonly options: TopologyManagerOptions;
  readonly providers: readonly ProviderHints[];
}

/**
 * Merges the hints of all providers and judges the result by the policy: none and best-effort accept whatever there is.
 */
export function align({ topology, policy, options, providers }: AlignInput): Alignment {
  if (policy === 'none') return { kind: 'accept', preferred: true, because: 'topology-manager-policy is none' };
  const nodeCount = topology.numaNodes.length;
  const distances = options.preferClosestNumaNodes ? distancesOf(topology) : undefined;
  const input = { nodeCount, providers, ...(distances && { distances }) };

  const merged =
    policy === 'best-effort' ? mergeHints({ ...input, policy }) : mergePreferredHints({ ...input, policy });
  if (merged) {
    const nodes = merged.mask === null ? undefined : nodesOfMask(topology, merged.mask);
    const where = nodes ? nameNodes(nodes) : 'any NUMA nodes';
    const how = merged.preferred ? 'as narrow as can be' : 'the best there is, though not preferred';
    return { kind: 'accept', ...(nodes && { nodes }), preferred: merged.preferred, because: `${where}: ${how}` };
  }
  const tables = collectHints(providers, nodeCount);
  const constraint = `topology-manager-policy ${policy}: ${findConstraint(policy, tables)}`;
  const enough = findEnough(
    tables.map(({ hints }) => hints),
    nodeCount,
    distances,
  );
  if (enough === undefined) return { kind: 'refuse', because: `${constraint}; ask for less, or free some` };
  const nodes = nodesOfMask(topology, enough);
  const nearest = `nearest: ${nameNodes(nodes)}, everything fits there now, over ${plural(nodes.size, 'NUMA node')}`;
  return {
    kind: 'refuse',
    because: `${constraint}; ${nearest}; ask for less, free some there, or set topology-manager-policy best-effort`,
  };
}

/** The best combination of nodes in which every resource has a hint; undefined when there is none. */
function findEnough(
  tables: readonly HintTable[],
  nodeCount: number,
  distances: Distances | undefined,
): NodeMask | undefined {
  const holdsAll = new Uint8Array(2 ** nodeCount).fill(1);
  for (const hints of tables) {
    const holds = hints.slice();
    holds[0] = hints[0] === PREFERRED ? PREFERRED : UNFIT;
    spreadToSupersets(holds);
    for (let mask = 0; mask < holds.length; mask++) if (holds[mask] === UNFIT) holdsAll[mask] = 0;
  }
  return pickMask(holdsAll, fewestFirst(nodeCount), distances);
}

/** A combination that contains one with room for a request has room for it too. */
function spreadToSupersets(holds: Uint8Array): void {
  for (let bit = 1; bit < holds.length; bit *= 2) {
    for (let block = 0; block < holds.length; block += 2 * bit) {
      for (let mask = block; mask < block + bit; mask++) holds[mask + bit]! |= holds[mask]!;
    }
  }
}

/** The first thing that no combination can meet, in the words of the operator. */
function findConstraint(policy: TopologyManagerPolicy, resources: readonly ResourceHints[]): string {
  const impossible = resources.find(({ hints }) => hints[0] !== PREFERRED && !hasMasks(hints));
  if (impossible) return `no NUMA nodes together have enough ${impossible.resource}`;

  const where = policy === 'single-numa-node' ? 'one NUMA node' : 'the few NUMA nodes that an empty machine would need';
  const tooWide = resources.find(({ hints }) => !suits(policy, hints));
  if (tooWide) return `${tooWide.resource} does not fit into ${where}`;
  return `${resources.map(({ resource }) => resource).join(' and ')} do not fit into the same ${
    policy === 'single-numa-node' ? 'NUMA node' : 'NUMA nodes'
  }`;
}

/** Some hint of the resource is one that the policy accepts. */
function suits(policy: TopologyManagerPolicy, hints: HintTable): boolean {
  if (policy === 'restricted' || hints[0] === PREFERRED) return hints.includes(PREFERRED);
  for (let mask = 1; mask < hints.length; mask *= 2) if (hints[mask] === PREFERRED) return true;
  return false;
}

/** The kernel's distances by index; undefined when they are not known of every node. */
function distancesOf({ numaNodes, memoryNodes }: Topology): Distances | undefined {
  const byId = new Map(memoryNodes.map(({ id, distances }) => [id, distances]));
  const rows = numaNodes.map(({ id }) => numaNodes.map((to) => byId.get(id)?.get(to.id)));
  return rows.every((row) => row.every((distance) => distance !== undefined)) ? rows : undefined;
}

function nameNodes(nodes: CpuSet): string {
  return `NUMA node${nodes.size === 1 ? '' : 's'} ${nodes.toString()}`;
}
