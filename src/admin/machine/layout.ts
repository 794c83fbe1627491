import type { CpuSet } from '../../core/cpuset';
import type { Topology, Unit } from '../../core/topology';

/** The cores in one socket and one NUMA node, by last-level cache. */
export interface Section {
  readonly socket: number;
  readonly numaNode: number;
  readonly caches: readonly (readonly Slot[])[];
}

/** The place of a core: its CPUs by thread, undefined for a missing one. All slots of a machine are equally long. */
export type Slot = readonly (number | undefined)[];

/** Sorts the cores of a machine for drawing, by the ids of sockets, nodes, caches and CPUs. */
export function layOut(topology: Topology, offline: CpuSet): Section[] {
  const threads = Math.max(...topology.cores.map(({ cpus }) => cpus.size));
  const stride = findStride(topology.cores, threads);
  const sections = new Map<string, { socket: number; numaNode: number; caches: Map<number, Slot[]> }>();
  const infoOf = new Map(topology.cpus.map((cpu) => [cpu.id, cpu]));
  for (const { cpus } of topology.cores) {
    const { socket, numaNode, uncoreCache } = infoOf.get(cpus.first!)!;
    const key = `${socket} ${numaNode}`;
    const section = sections.get(key) ?? { socket, numaNode, caches: new Map<number, Slot[]>() };
    sections.set(key, section);
    const slots = section.caches.get(uncoreCache) ?? [];
    section.caches.set(uncoreCache, [...slots, placeThreads(cpus.toArray(), { threads, stride, offline })]);
  }
  return [...sections.values()]
    .sort((a, b) => a.socket - b.socket || a.numaNode - b.numaNode)
    .map(({ socket, numaNode, caches }) => ({
      socket,
      numaNode,
      caches: [...caches]
        .sort(([a], [b]) => a - b)
        .map(([, slots]) => [...slots].sort((a, b) => firstOf(a) - firstOf(b))),
    }));
}

/** The distance between the CPU ids of a core, when it is the same for all complete cores. */
function findStride(cores: readonly Unit[], threads: number): number | undefined {
  let stride: number | undefined;
  for (const { cpus } of cores) {
    const ids = cpus.toArray();
    if (ids.length < threads) continue;
    for (let i = 1; i < ids.length; i++) {
      if (stride !== undefined && ids[i]! - ids[i - 1]! !== stride) return undefined;
      stride = ids[i]! - ids[i - 1]!;
    }
  }
  return stride;
}

/**
 * Puts a core's CPUs in the rows of their threads. The kernel does not report which threads of an incomplete core are
 * missing: the machine's numbering and the offline CPUs show it, and the slot then holds the offline CPU.
 */
function placeThreads(
  ids: readonly number[],
  { threads, stride, offline }: { threads: number; stride: number | undefined; offline: CpuSet },
): Slot {
  if (ids.length < threads && stride !== undefined) {
    for (let first = ids[0]! - stride * (threads - 1); first <= ids[0]!; first += stride) {
      const row = Array.from({ length: threads }, (_, thread) => first + thread * stride);
      const fits = ids.every((id) => row.includes(id)) && row.every((id) => ids.includes(id) || offline.has(id));
      if (fits) return row;
    }
  }
  return Array.from({ length: threads }, (_, thread) => ids[thread]);
}

function firstOf(slot: Slot): number {
  return slot.find((cpu) => cpu !== undefined) ?? 0;
}
