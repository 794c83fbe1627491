import type { HugePages } from '../huge-pages';
import { sum } from '../sum';
import type { Topology } from '../topology';
import type { Assignment } from './assignment';
import type { Container } from './container';
import type { BytesByNode } from './promised-memory';

/** Bytes of huge pages that containers were promised: by resource, then by memory node. */
export type PromisedHugePages = ReadonlyMap<string, BytesByNode>;

/** A container that asks for huge pages, or one to come that has CPUs already. */
export interface AskingContainer extends Pick<Container, 'placement'> {
  readonly promise?: Pick<Assignment, 'cpus' | 'mems'>;
  readonly hugePages: HugePages;
}

/**
 * Adds up the huge pages of containers by the memory nodes that each may use, or else by those local to the CPUs that it was given: the kernel
 * takes pages there first. They count in proportion to the pages that these nodes have. A container that shares the CPUs of all can have its pages
 * anywhere, and does not count.
 */
export function countHugePages(topology: Topology, asking: Iterable<AskingContainer>): PromisedHugePages {
  const promised = new Map<string, Map<number, number>>();
  for (const container of asking) {
    const nodes = nodesOf(topology, container);
    for (const [resource, bytes] of Object.entries(container.hugePages)) {
      const ofResource = promised.get(resource) ?? new Map<number, number>();
      promised.set(resource, ofResource);
      const totals = topology.memoryNodes.flatMap(({ id, hugePages }) =>
        nodes.has(id) ? [[id, hugePages?.[resource] ?? 0] as const] : [],
      );
      for (const [id, part] of apportion(bytes, totals)) ofResource.set(id, (ofResource.get(id) ?? 0) + part);
    }
  }
  return promised;
}

function nodesOf({ numaNodes, localMemory }: Topology, { placement, promise }: AskingContainer): ReadonlySet<number> {
  if (!promise) return new Set();
  if (!promise.mems.isEmpty) return new Set(promise.mems);
  if (placement === 'shared' || placement === 'left-alone') return new Set();
  const near = numaNodes.filter(({ cpus }) => cpus.overlaps(promise.cpus));
  return new Set(near.flatMap(({ id }) => localMemory.get(id) ?? []));
}

/** Whole bytes that make up `bytes` together. None when the nodes have no pages. */
function apportion(bytes: number, totals: readonly (readonly [node: number, bytes: number])[]): [number, number][] {
  const all = sum(totals.map(([, total]) => total));
  if (all === 0) return [];
  let before = 0;
  return totals.map(([node, total]) => {
    const from = Math.floor(bytes * (before / all));
    before += total;
    return [node, Math.floor(bytes * (before / all)) - from];
  });
}
