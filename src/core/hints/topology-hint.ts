import { CpuSet } from '../cpuset';
import type { Topology } from '../topology';

/** A combination of NUMA nodes: bit i stands for `topology.numaNodes[i]`. */
export type NodeMask = number;

/** NUMA nodes that could hold a request; no mask: any nodes will do. */
export interface TopologyHint {
  readonly mask: NodeMask | null;
  /** As narrow as can be. */
  readonly preferred: boolean;
}

/** What a combination of nodes is for a resource: no hint, a hint, a preferred hint. The second bit says preferred. */
export const UNFIT = 0;
export const FITS = 1;
export const PREFERRED = 2;

/**
 * Every hint for one resource, as a table over all masks; place 0 is the hint without a mask. A table of 16 nodes has 64 KiB, a
 * list of its hints took megabytes, and the time to make them. Without any hint the request cannot be met.
 */
export type HintTable = Uint8Array;

/** `null`: no opinion. */
export type Hints = HintTable | null;

/** Ids of the nodes in a mask. */
export function nodesOfMask(topology: Topology, mask: NodeMask): CpuSet {
  return CpuSet.of(topology.numaNodes.filter((_, i) => (mask & (1 << i)) !== 0).map(({ id }) => id));
}

/** The mask of nodes 0 to count - 1, by their places in the ascending list of ids. */
export function maskOfAll(nodeCount: number): NodeMask {
  return 2 ** nodeCount - 1;
}

/** The number of nodes in a mask of up to 16. */
export function countNodes(mask: NodeMask): number {
  let n = mask - ((mask >>> 1) & 0x5555);
  n = (n & 0x3333) + ((n >>> 2) & 0x3333);
  n = (n + (n >>> 4)) & 0x0f0f;
  return (n + (n >>> 8)) & 0x1f;
}
