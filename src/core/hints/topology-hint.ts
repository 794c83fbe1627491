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

/** How many nodes are in a mask. */
export function countNodes(mask: NodeMask): number {
  let count = 0;
  for (let rest = mask; rest !== 0; rest &= rest - 1) count++;
  return count;
}
