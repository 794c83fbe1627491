import { sumPodCpus } from './pod-cpus';
import type { ContainerKind } from './pod-kinds';
import type { HugePages } from '../huge-pages';
import { sum } from '../sum';
import type { Topology } from '../topology';
import type { Assignment } from './assignment';
import type { Container } from './container';
import type { BytesByNode } from './promised-memory';

/** Bytes of huge pages that containers were promised: by resource, then by memory node. */
export type PromisedHugePages = ReadonlyMap<string, BytesByNode>;

/** A container that asks for huge pages, or one to come that has CPUs already. */
export interface AskingContainer extends Pick<Container, 'name' | 'placement'> {
  readonly kind: ContainerKind;
  readonly promise?: Pick<Assignment, 'cpus' | 'mems'>;
  readonly hugePages: HugePages;
}

/**
 * Adds up the huge pages of containers by the memory nodes that each may use, or else by those local to the CPUs that
 * it was given: the kernel takes pages there first. They count in proportion to the pages that these nodes have. A
 * container that shares the CPUs of all can have its pages anywhere, and does not count. Of the containers of a pod
 * count as many as run at one time.
 *
 * @param pods those of each pod in the order of its spec
 */
export function countHugePages(topology: Topology, pods: Iterable<readonly AskingContainer[]>): PromisedHugePages {
  const promised = new Map<string, Map<number, number>>();
  for (const asking of pods) {
    for (const { hugePages } of asking)
      for (const resource of Object.keys(hugePages)) if (!promised.has(resource)) promised.set(resource, new Map());
    const parts = asking.flatMap((container) => [...listParts(topology, container)]);
    const places = new Map(parts.map(({ resource, node }) => [`${resource} ${node}`, { resource, node }]));
    for (const { resource, node } of places.values()) {
      const there = parts.filter((part) => part.resource === resource && part.node === node);
      const ofResource = promised.get(resource)!;
      ofResource.set(node, (ofResource.get(node) ?? 0) + sumAtOneTime(there));
    }
  }
  return promised;
}

/** Bytes of one resource that a container asks for on one node. */
interface Part {
  readonly kind: ContainerKind;
  readonly resource: string;
  readonly node: number;
  readonly bytes: number;
}

function* listParts(topology: Topology, container: AskingContainer): Iterable<Part> {
  const { kind } = container;
  const nodes = nodesOf(topology, container);
  for (const [resource, all] of Object.entries(container.hugePages)) {
    const totals = topology.memoryNodes.flatMap(({ id, hugePages }) =>
      nodes.has(id) ? [[id, hugePages?.[resource] ?? 0] as const] : [],
    );
    for (const [node, bytes] of apportion(all, totals)) yield { kind, resource, node, bytes };
  }
}

/** They run as the containers of a pod do that ask for CPUs. */
function sumAtOneTime(parts: readonly Part[]): number {
  return sumPodCpus(parts.map(({ kind, bytes }) => ({ kind, cpus: bytes })));
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
