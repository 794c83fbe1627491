import { CpuSet } from '../cpuset';
import { indexTopology, type CpuInfo, type TopologyIndex } from './topology-index';

/** A core, socket, NUMA node or uncore cache, with all online CPUs that it has. Never empty. */
export interface Unit {
  readonly id: number;
  readonly cpus: CpuSet;
}

/** The machine as far as it decides where containers run: CPUs that are online, and that this node may use. */
export interface Topology {
  readonly cpus: readonly CpuInfo[];
  readonly online: CpuSet;
  /** Present where the machine has online CPUs that this node may not use: none of them is anywhere else here. */
  readonly confinement?: Confinement;
  /** Each list is ascending by id. Units without an online CPU do not occur. */
  readonly cores: readonly Unit[];
  readonly sockets: readonly Unit[];
  readonly numaNodes: readonly Unit[];
  readonly uncoreCaches: readonly Unit[];
  /** CPUs that the kernel keeps its scheduler away from (isolcpus=); a subset of online. */
  readonly isolated: CpuSet;
  /** The known memory, per memory node, nodes without CPUs included; ascending by id. Empty when unknown. */
  readonly memoryNodes: readonly MemoryNode[];
  /** The same CPUs and units once more, as flat numbers for routines that have to be fast. */
  readonly index: TopologyIndex;
}

/** The CPUs that the cgroups of this node's pods can have. */
export interface CpuBound {
  /** The outermost cgroup that has no others; its path begins with a slash. */
  readonly cgroup: string;
  readonly cpus: CpuSet;
}

export interface Confinement {
  readonly bound: CpuBound;
  /** The machine with all its online CPUs. */
  readonly machine: Topology;
}

export interface MemoryNode {
  readonly id: number;
  /** 0 for a node that has CPUs but no memory. */
  readonly memoryBytes: number;
  /** The kernel's distance from this node to node N at key N (10 = itself). */
  readonly distances: ReadonlyMap<number, number>;
}

export interface TopologyInput {
  readonly cpus: readonly CpuInfo[];
  readonly isolated?: CpuSet;
  readonly memoryNodes?: readonly MemoryNode[];
}

/** Groups CPUs into units. Throws Error for no CPU at all, or for a CPU that is named twice. */
export function buildTopology({ cpus, isolated = CpuSet.empty, memoryNodes = [] }: TopologyInput): Topology {
  if (cpus.length === 0) throw new Error('a machine needs at least one online CPU');
  const sorted = [...cpus].sort((a, b) => a.id - b.id);
  for (let i = 1; i < sorted.length; i++) {
    if (sorted[i]!.id === sorted[i - 1]!.id) throw new Error(`CPU ${sorted[i]!.id} is named twice`);
  }
  const online = CpuSet.of(sorted.map((cpu) => cpu.id));
  return {
    cpus: sorted,
    online,
    cores: groupBy(sorted, (cpu) => cpu.core),
    sockets: groupBy(sorted, (cpu) => cpu.socket),
    numaNodes: groupBy(sorted, (cpu) => cpu.numaNode),
    uncoreCaches: groupBy(sorted, (cpu) => cpu.uncoreCache),
    isolated: isolated.intersect(online),
    memoryNodes: [...memoryNodes].sort((a, b) => a.id - b.id),
    index: indexTopology(sorted),
  };
}

function groupBy(cpus: readonly CpuInfo[], key: (cpu: CpuInfo) => number): Unit[] {
  const groups = new Map<number, number[]>();
  for (const cpu of cpus) {
    const ids = groups.get(key(cpu));
    if (ids) ids.push(cpu.id);
    else groups.set(key(cpu), [cpu.id]);
  }
  return [...groups].sort(([a], [b]) => a - b).map(([id, ids]) => ({ id, cpus: CpuSet.of(ids) }));
}
