import { CpuSet } from '../cpuset';
import { cpusOfNodes, type Topology } from '../topology';
import type { Assignment, AssignmentKind } from './assignment';
import type { Container, Placement } from './container';
import { POLICY_NAMES, POLICY_TABLE, type CpuClaim } from './policies';
import type { Settings } from './settings';

export type { CpuClaim };

/** The placement of a container by the claim of its assignment. */
const PLACEMENTS: Readonly<Record<CpuClaim, Placement>> = {
  exclusive: 'exclusive',
  'non-exclusive': 'immovable',
  'numa-nodes': 'numa',
};

/** The placement of a container that has such an assignment. */
export function placementOf(kind: AssignmentKind): Placement {
  return PLACEMENTS[POLICY_TABLE[kind].claim];
}

/** Every kind of assignment, with its claim and its placement. */
export const KINDS = Object.fromEntries(
  POLICY_NAMES.flatMap((name) =>
    name === 'none' ? [] : [[name, { claim: POLICY_TABLE[name].claim, placement: placementOf(name) }]],
  ),
) as Readonly<Record<AssignmentKind, { readonly claim: CpuClaim; readonly placement: Placement }>>;

/** True for a container that has an assignment, rather than a place in the shared pool or none. */
export function isAssigned({ placement }: Pick<Container, 'placement'>): boolean {
  return placement !== 'shared' && placement !== 'left-alone';
}

/** True for two assignments that may have CPUs in common: those of containers that share a set of their pod. */
export function mayOverlap(a: Assignment, b: Assignment): boolean {
  return a.scope === 'pod' && b.scope === 'pod' && a.podUid === b.podUid && a.kind === b.kind;
}

/** The shared pool, and what else decides which part of it a container gets. */
export interface PoolView {
  readonly topology: Topology;
  readonly settings: Settings;
  readonly sharedPool: CpuSet;
}

/** The CPUs that an assignment means now. Empty when none of them is online, or nothing is shared on its nodes. */
export function cpusOf(view: PoolView, { kind, cpus, nodes }: Assignment): CpuSet {
  if (POLICY_TABLE[kind].claim === 'numa-nodes') return sharedCpusOfNodes(view, nodes ?? CpuSet.empty);
  const { online } = view.topology;
  return cpus.isSubsetOf(online) ? cpus : cpus.intersect(online);
}

/** The CPUs of a container that follows these NUMA nodes: the shared ones there that are not reserved. */
export function sharedCpusOfNodes({ topology, settings, sharedPool }: PoolView, nodes: CpuSet): CpuSet {
  const there = sharedPool.intersect(cpusOfNodes(topology, nodes));
  const rest = there.minus(settings.reserved);
  // Only when CPUs went offline or were reserved later: rather on reserved CPUs of its nodes than elsewhere.
  return rest.isEmpty ? there : rest;
}

/**
 * The CPUs of a container of the shared pool; for one that asked for it without the reserved CPUs, if there are others.
 */
export function sharedPoolFor(
  { settings, sharedPool }: PoolView,
  { avoidsReserved }: Pick<Container, 'avoidsReserved'>,
): CpuSet {
  if (avoidsReserved !== true) return sharedPool;
  const rest = sharedPool.minus(settings.reserved);
  return rest.isEmpty ? sharedPool : rest;
}
