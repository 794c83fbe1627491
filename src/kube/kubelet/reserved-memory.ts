import { spreadMemoryReservation } from '../../core/node-resources/spread-memory-reservation';
import type { KubeletConfig } from './kubelet-config';

type BytesByNode = ReadonlyMap<number, number>;

/** The kubelet's default of evictionHard. */
const DEFAULT_EVICTION_BYTES = 100 * 2 ** 20;

/**
 * Bytes of each NUMA node that kubeReserved and systemReserved take, as Crane's agent counts them: from the first node
 * on.
 */
export function reservedByCrane({ reserved }: KubeletConfig, memory: BytesByNode): BytesByNode {
  return spreadMemoryReservation(memory, reserved?.memory ?? 0);
}

/**
 * Bytes of each NUMA node that no pod can have, as the kubelet counts them: its reservedMemory where it is given, which
 * names the nodes; else kubeReserved, systemReserved and the threshold of eviction together, from the first node on.
 */
export function reservedByKubelet(
  { reserved, evictionMemory = DEFAULT_EVICTION_BYTES, reservedMemory }: KubeletConfig,
  memory: BytesByNode,
): BytesByNode {
  if (reservedMemory) return new Map([...memory.keys()].map((id) => [id, reservedMemory[id] ?? 0]));
  const all = [...memory.values()].reduce((sum, bytes) => sum + bytes, 0);
  const eviction =
    typeof evictionMemory === 'number' ? evictionMemory : Math.floor((all * parseFloat(evictionMemory)) / 100);
  return spreadMemoryReservation(memory, (reserved?.memory ?? 0) + eviction);
}
