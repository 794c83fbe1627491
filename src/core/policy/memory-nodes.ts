import { CpuSet } from '../cpuset';
import type { MemoryNode } from '../topology';
import type { Snapshot } from './policy';
import { sum } from '../sum';

export interface MemoryChoice {
  /** Empty = memory is left alone. */
  readonly mems: CpuSet;
  /** For the operator; empty when there is nothing to say. */
  readonly because: string;
}

const NOTHING: MemoryChoice = { mems: CpuSet.empty, because: '' };

/**
 * The memory nodes for a container on these CPUs: the nodes of its CPUs that have memory. Where these have less free
 * than the container's limit, the nearest others are added until it fits; if all do not suffice, it may use them all. Empty when
 * memory does not follow CPUs, or the memory of the machine is not known.
 */
export function chooseMemoryNodes(
  { topology, settings, promisedMemory }: Snapshot,
  cpus: CpuSet,
  memoryBytes: number,
): MemoryChoice {
  if (settings.memoryNodes !== 'follow') return NOTHING;
  const withMemory = topology.memoryNodes.filter((node) => node.memoryBytes > 0);
  if (withMemory.length === 0) return NOTHING;

  const home = CpuSet.of(topology.numaNodes.filter((node) => node.cpus.overlaps(cpus)).map(({ id }) => id));
  const ordered = [...withMemory].sort((a, b) => distanceTo(home, a) - distanceTo(home, b) || a.id - b.id);
  const freeOf = ({ id, memoryBytes: all }: MemoryNode): number => Math.max(0, all - (promisedMemory.get(id) ?? 0));

  const chosen: MemoryNode[] = ordered.filter(({ id }) => home.has(id));
  const local = chosen.length;
  for (const node of ordered) {
    if (chosen.length > 0 && sum(chosen.map(freeOf)) >= memoryBytes) break;
    if (!chosen.includes(node)) chosen.push(node);
  }
  const mems = CpuSet.of(chosen.map(({ id }) => id));
  const why =
    local === 0
      ? ' (its own nodes have no memory; these are the nearest)'
      : chosen.length > local
        ? ' (widened: its own nodes have less free than its limit)'
        : '';
  return { mems, because: `memory nodes ${mems.toString()}${why}` };
}

/** 0 for a node of the container's CPUs, else the kernel's distance from the nearest of those. */
function distanceTo(home: CpuSet, node: MemoryNode): number {
  if (home.has(node.id)) return 0;
  return Math.min(...[...home].map((id) => node.distances.get(id) ?? Infinity));
}
