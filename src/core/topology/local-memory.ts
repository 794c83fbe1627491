import type { CpuSet } from '../cpuset';
import { compareBy } from '../compare-by';
import { sum } from '../sum';
import type { HugePages } from '../huge-pages';
import type { Unit } from './unit';

/** Memory that the kernel manages as one node. */
export interface MemoryNode {
  readonly id: number;
  /** 0 for a node that has CPUs but no memory. */
  readonly memoryBytes: number;
  /** Huge pages that the operator set aside, part of `memoryBytes`; absent where there are none. */
  readonly hugePages?: HugePages;
  /**
   * The kernel's distance from this node to node N at key N (10 = itself). Empty where the kernel's line makes no
   * sense.
   */
  readonly distances: ReadonlyMap<number, number>;
  /**
   * The online CPUs that the kernel lists for it. Emulated nodes (`numa=fake`) may list CPUs that another node has too.
   * Absent: those of the NUMA node with its id.
   */
  readonly cpus?: CpuSet;
  /** The nodes with the best access to this one, by the firmware's table (HMAT). Absent where there is none. */
  readonly initiators?: CpuSet;
  /** The kernel's number of its memory tier; a lower one is faster. Absent where the kernel has no tiers. */
  readonly tier?: number;
  /** Memory of a GPU: never for containers. */
  readonly isOfGpu?: true;
}

/** The ids of the memory nodes that are local to each NUMA node with CPUs, by its id; ascending. */
export type LocalMemory = ReadonlyMap<number, readonly number[]>;

/**
 * The memory that belongs to the CPUs of each NUMA node.
 *
 * - A node that has memory: its own, and that of emulated nodes whose CPUs it has.
 * - A node without any: the fastest of the nodes that HMAT gives to it as their best initiator, else the nearest node
 *   if that has no CPUs. Of
 *   equally near ones a node without CPUs goes first, as the kernel's own order has it (`find_next_best_node` in
 *   mm/page_alloc.c). Where the
 *   nearest memory belongs to other CPUs, none is local.
 */
export function localMemory(numaNodes: readonly Unit[], memoryNodes: readonly MemoryNode[]): LocalMemory {
  const ids = new Set(numaNodes.map(({ id }) => id));
  const usable = memoryNodes.filter((node) => node.memoryBytes > 0 && !node.isOfGpu);
  return new Map(numaNodes.map((node) => [node.id, listLocal(node, usable, ids).map(({ id }) => id)]));
}

/** The memory of a NUMA node and of the emulated nodes that share its CPUs, in bytes; 0 for a node without. */
export function memoryBytesOf(
  { numaNodes, memoryNodes }: { readonly numaNodes: readonly Unit[]; readonly memoryNodes: readonly MemoryNode[] },
  numaNode: number,
): number {
  const ids = new Set(numaNodes.map(({ id }) => id));
  const node = numaNodes.find(({ id }) => id === numaNode);
  return node === undefined ? 0 : sum(listOwn(node, memoryNodes, ids).map(({ memoryBytes }) => memoryBytes));
}

function listOwn(node: Unit, all: readonly MemoryNode[], nodesWithCpus: ReadonlySet<number>): MemoryNode[] {
  return all.filter(({ id, cpus }) => id === node.id || (!nodesWithCpus.has(id) && cpus?.overlaps(node.cpus) === true));
}

function listLocal(node: Unit, usable: readonly MemoryNode[], nodesWithCpus: ReadonlySet<number>): MemoryNode[] {
  const own = listOwn(node, usable, nodesWithCpus);
  if (own.length > 0) return own;
  const hasCpus = ({ id, cpus }: MemoryNode): boolean => nodesWithCpus.has(id) || cpus?.isEmpty === false;
  const initiated = usable.filter((memory) => !hasCpus(memory) && memory.initiators?.has(node.id) === true);
  const distanceOf = ({ distances }: MemoryNode): number => distances.get(node.id) ?? Number.MAX_SAFE_INTEGER;
  if (initiated.length > 0) {
    const byTier = compareBy<MemoryNode>(({ tier = 0 }) => tier, distanceOf, ({ id }) => id); // prettier-ignore
    return initiated.sort(byTier).slice(0, 1);
  }
  const known = usable.filter(({ distances }) => distances.has(node.id));
  const byDistance = compareBy<MemoryNode>(distanceOf, (memory) => Number(hasCpus(memory)), ({ id }) => id); // prettier-ignore
  return known
    .sort(byDistance)
    .slice(0, 1)
    .filter((memory) => !hasCpus(memory));
}

/** The NUMA nodes with CPUs that are local to these memory nodes; empty when none is, as for the memory of a GPU. */
export function nodesNear(
  { numaNodes, localMemory }: { readonly numaNodes: readonly Unit[]; readonly localMemory: LocalMemory },
  mems: CpuSet,
): readonly Unit[] {
  return numaNodes.filter(({ id }) => mems.has(id) || localMemory.get(id)?.some((memory) => mems.has(memory)) === true);
}

/** True when all of these CPUs are local to the memory nodes, or no CPUs at all are. */
export function isNear(topology: Parameters<typeof nodesNear>[0], cpus: CpuSet, mems: CpuSet): boolean {
  const near = nodesNear(topology, mems);
  return near.length === 0 || cpus.size === near.reduce((sum, node) => sum + node.cpus.countIn(cpus), 0);
}
