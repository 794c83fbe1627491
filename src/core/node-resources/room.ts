import type { NodeView } from '../model/node-view';
import type { AlignmentBoundary } from '../topology';
import { findLargestAligned } from './largest-aligned';

/**
 * The free room of a node in counts that decide whether one more container fits. People and programs of the cluster
 * read it.
 */
export interface Room {
  /** Cores that are free as a whole. */
  readonly freeCores: number;
  /** NUMA nodes of which all CPUs are free that are not reserved. */
  readonly freeNodes: number;
  /** The CPUs of the largest request that can be aligned to each boundary; 0 when none can. */
  readonly aligned: Readonly<Record<AlignmentBoundary, number>>;
}

/** Measures the room of a node. Pure. */
export function measureRoom(view: NodeView): Room {
  const { topology, free, settings } = view;
  const isFree = ({ cpus }: { readonly cpus: typeof free }): boolean => {
    const allocatable = cpus.minus(settings.reserved);
    return !allocatable.isEmpty && allocatable.isSubsetOf(free);
  };
  return {
    freeCores: topology.cores.filter(({ cpus }) => cpus.isSubsetOf(free)).length,
    freeNodes: topology.numaNodes.filter(isFree).length,
    aligned: findLargestAligned(view),
  };
}
