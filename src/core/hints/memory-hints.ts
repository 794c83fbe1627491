import type { Topology } from '../topology';
import { enumerateMasks } from './enumerate-masks';
import type { Hints } from './topology-hint';

export interface MemoryHintRequest {
  readonly topology: Topology;
  /** 0: no opinion. */
  readonly bytes: number;
  /** Free bytes by node id; a node that is not named is taken to be free as a whole. */
  readonly freeBytes?: ReadonlyMap<number, number>;
}

/**
 * Hints for memory, over the nodes that have CPUs. No opinion when the memory of the nodes is not known.
 */
export function hintMemory({ topology, bytes, freeBytes }: MemoryHintRequest): Hints {
  if (bytes <= 0 || topology.memoryNodes.length === 0) return null;
  const bytesOf = new Map(topology.memoryNodes.map(({ id, memoryBytes }) => [id, memoryBytes]));
  const total = topology.numaNodes.map(({ id }) => bytesOf.get(id) ?? 0);
  const usable = topology.numaNodes.map(({ id }, i) =>
    Math.min(total[i]!, Math.max(0, freeBytes?.get(id) ?? total[i]!)),
  );
  return enumerateMasks({ total, usable }, bytes);
}
