import { CpuSet } from '../cpuset';
import type { Topology } from '../topology';
import type { Assignment, AssignmentKind } from './assignment';
import type { Container, Placement } from './container';
import type { Settings } from './settings';

/**
 * What an assignment takes from others:
 * `alone` its CPUs leave the shared pool, nobody else runs there;
 * `beside-shared` its CPUs stay in the shared pool, but no other assignment gets them;
 * `nodes` no CPUs at all: it follows what is shared on its NUMA nodes, as the pool follows what is left.
 */
export type Hold = 'alone' | 'beside-shared' | 'nodes';

interface KindRules {
  readonly holds: Hold;
  /** How a container that has such an assignment is shown. */
  readonly placement: Placement;
}

/** Every kind of assignment, and how it gets on with the others. */
export const KINDS: Readonly<Record<AssignmentKind, KindRules>> = {
  static: { holds: 'alone', placement: 'exclusive' },
  exclusive: { holds: 'alone', placement: 'exclusive' },
  immovable: { holds: 'beside-shared', placement: 'immovable' },
  numa: { holds: 'nodes', placement: 'numa' },
};

/** Whether a container so placed has an assignment, rather than a place in the shared pool or none. */
export function isAssigned({ placement }: Pick<Container, 'placement'>): boolean {
  return placement !== 'shared' && placement !== 'left-alone';
}

/** Whether two assignments may have CPUs in common: those of containers that share a set of their pod. */
export function mayOverlap(a: Assignment, b: Assignment): boolean {
  return a.scope === 'pod' && b.scope === 'pod' && a.podUid === b.podUid && a.kind === b.kind;
}

/** What is left for the others, as far as it decides where a container runs. */
export interface Ground {
  readonly topology: Topology;
  readonly settings: Settings;
  readonly sharedPool: CpuSet;
}

/** The CPUs that an assignment means now. Empty when none of them is online, or nothing is shared on its nodes. */
export function cpusOf(ground: Ground, { kind, cpus, nodes }: Assignment): CpuSet {
  if (KINDS[kind].holds === 'nodes') return sharedOn(ground, nodes ?? CpuSet.empty);
  const { online } = ground.topology;
  return cpus.isSubsetOf(online) ? cpus : cpus.intersect(online);
}

/** What a container that follows these NUMA nodes runs on: the shared CPUs there that are not reserved. */
export function sharedOn({ topology, settings, sharedPool }: Ground, nodes: CpuSet): CpuSet {
  const there = sharedPool.intersect(
    CpuSet.unionOf(topology.numaNodes.filter(({ id }) => nodes.has(id)).map(({ cpus }) => cpus)),
  );
  const rest = there.minus(settings.reserved);
  // Only when CPUs went offline or were reserved later: rather on reserved CPUs of its nodes than elsewhere.
  return rest.isEmpty ? there : rest;
}

/** Where containers of the shared pool run; one that asked for it without the reserved CPUs, if there are others. */
export function poolFor(
  { settings, sharedPool }: Ground,
  { avoidsReserved }: Pick<Container, 'avoidsReserved'>,
): CpuSet {
  if (avoidsReserved !== true) return sharedPool;
  const rest = sharedPool.minus(settings.reserved);
  return rest.isEmpty ? sharedPool : rest;
}
