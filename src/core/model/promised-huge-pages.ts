import { sum } from '../sum';
import type { Topology } from '../topology';
import type { Container, CpuPromise } from './container';
import type { BytesByNode } from './promised-memory';
import { SumsByPlace, type Part } from './sums-by-place';

/** Pages of one size, on the memory nodes of a promise, or else near its CPUs. */
interface PagesPlace {
  readonly resource: string;
  readonly promise: CpuPromise;
}

/**
 * The huge pages of all containers by the memory nodes that each may use, or else by those local to the CPUs that it was given: the kernel
 * takes pages there first. They count in proportion to the pages that these nodes have. A container that shares the CPUs of all can have its pages
 * anywhere, and does not count.
 */
export class PromisedHugePages {
  private readonly pages = new SumsByPlace(pagesOf);

  follow(before: Container | undefined, after: Container | undefined): void {
    this.pages.follow(before, after);
  }

  /** The bytes in pages of one size, without those of `except`, which must be among the containers. */
  without(topology: Topology, resource: string, except?: readonly Container[]): BytesByNode {
    const promised = new Map<number, number>();
    for (const { place, bytes } of this.pages.without(except)) {
      if (place.resource !== resource) continue;
      const nodes = nodesOf(topology, place.promise);
      const totals = topology.memoryNodes.flatMap(({ id, hugePages }) =>
        nodes.has(id) ? [[id, hugePages?.[resource] ?? 0] as const] : [],
      );
      for (const [id, part] of apportion(bytes, totals)) promised.set(id, (promised.get(id) ?? 0) + part);
    }
    return promised;
  }
}

const NONE: readonly never[] = [];

function pagesOf({ placement, promise, resources: { hugePages } }: Container): readonly Part<PagesPlace>[] {
  if (hugePages === undefined || promise === undefined) return NONE;
  if (promise.mems.isEmpty && (placement === 'shared' || placement === 'left-alone')) return NONE;
  const where = promise.mems.isEmpty ? `CPUs ${promise.cpus.toString()}` : `nodes ${promise.mems.toString()}`;
  return Object.entries(hugePages).map(([resource, bytes]) => {
    return { key: `${resource} ${where}`, place: { resource, promise }, bytes };
  });
}

function nodesOf({ numaNodes, localMemory }: Topology, { cpus, mems }: CpuPromise): ReadonlySet<number> {
  if (!mems.isEmpty) return new Set(mems);
  const near = numaNodes.filter((node) => node.cpus.overlaps(cpus));
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
