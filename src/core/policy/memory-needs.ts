import { sum } from '../sum';
import type { MemoryNode } from '../topology';
import type { BytesByNode } from '../model/promised-memory';
import type { PinRequest, Snapshot } from './policy';

/** The resource of ordinary memory; others are huge pages, by Kubernetes' names. */
export const MEMORY = 'memory';

/** One kind of memory that a container asks for, and where there is how much of it. */
export interface MemoryNeed {
  readonly resource: string;
  readonly bytes: number;
  /** By memory node, taken or not. */
  readonly total: BytesByNode;
  /** By memory node, without what others were promised. */
  readonly free: BytesByNode;
}

/** The kinds of memory that a request asks for and that the machine is known to have, ordinary memory first. */
export function listNeeds(
  { topology, promisedMemory, promisedHugePages }: Pick<Snapshot, 'topology' | 'promisedMemory' | 'promisedHugePages'>,
  { memoryBytes, hugePages = {} }: Pick<PinRequest, 'memoryBytes' | 'hugePages'>,
): readonly MemoryNeed[] {
  const asked = [
    { resource: MEMORY, bytes: memoryBytes, amountIn: ordinaryBytesOf, promisedOf: () => promisedMemory },
    ...Object.entries(hugePages).map(([resource, bytes]) => ({
      resource,
      bytes,
      amountIn: (node: MemoryNode) => node.hugePages?.[resource] ?? 0,
      promisedOf: () => promisedHugePages?.().get(resource),
    })),
  ];
  return asked.flatMap(({ resource, bytes, amountIn, promisedOf }): MemoryNeed[] => {
    const total = new Map(topology.memoryNodes.map((node) => [node.id, amountIn(node)] as const));
    // Those of other containers are added up only where the machine has some.
    if (bytes <= 0 || sum([...total.values()]) <= 0) return [];
    const promised: BytesByNode | undefined = promisedOf();
    const free = new Map([...total].map(([id, all]) => [id, Math.max(0, all - (promised?.get(id) ?? 0))] as const));
    return [{ resource, bytes, total, free }];
  });
}

/** The needs that these memory nodes together can't meet. */
export function findUnmet(needs: readonly MemoryNeed[], nodes: readonly MemoryNode[]): readonly MemoryNeed[] {
  return needs.filter(({ bytes, free }) => sum(nodes.map(({ id }) => free.get(id) ?? 0)) < bytes);
}

/** Huge pages are set aside: no other memory is taken from them. */
function ordinaryBytesOf({ memoryBytes, hugePages = {} }: MemoryNode): number {
  return Math.max(0, memoryBytes - sum(Object.values(hugePages)));
}
