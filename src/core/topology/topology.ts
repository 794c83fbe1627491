import { CpuSet } from '../cpuset';
import { localMemory, type LocalMemory, type MemoryNode } from './local-memory';
import type { CacheLevel, CacheUnit, CoreKind, Unit } from './unit';
import { indexTopology, type CpuInfo, type TopologyIndex } from './topology-index';

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
  readonly uncoreCaches: readonly CacheUnit[];
  /** The fastest kind first. Empty where all cores are of one kind, or nothing is known of it. */
  readonly coreKinds: readonly CoreKind[];
  /** CPUs that the kernel keeps its scheduler away from (isolcpus=); a subset of online. */
  readonly isolated: CpuSet;
  /** The known memory, per memory node, nodes without CPUs included; ascending by id. Empty when unknown. */
  readonly memoryNodes: readonly (MemoryNode & { readonly cpus: CpuSet })[];
  /** The memory that is nearest to the CPUs of each NUMA node. */
  readonly localMemory: LocalMemory;
  /** Files of sysfs that contradict others or can't be read, each a sentence: the machine was read without them. */
  readonly ignored: readonly string[];
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

export interface TopologyInput {
  readonly cpus: readonly CpuInfo[];
  readonly isolated?: CpuSet;
  readonly memoryNodes?: readonly MemoryNode[];
  /** The level of each cache that has another than L3, by its id. */
  readonly cacheLevels?: ReadonlyMap<number, CacheLevel>;
  /** The fastest first. CPUs that are not online are left out. */
  readonly coreKinds?: readonly CoreKind[];
  readonly ignored?: readonly string[];
}

/** Groups CPUs into units. Throws Error for no CPU at all, or for a CPU that is named twice. */
export function buildTopology({
  cpus,
  isolated = CpuSet.empty,
  memoryNodes = [],
  cacheLevels,
  coreKinds = [],
  ignored = [],
}: TopologyInput): Topology {
  if (cpus.length === 0) throw new Error('a machine needs at least one online CPU');
  const sorted = [...cpus].sort((a, b) => a.id - b.id);
  for (let i = 1; i < sorted.length; i++) {
    if (sorted[i]!.id === sorted[i - 1]!.id) throw new Error(`CPU ${sorted[i]!.id} is named twice`);
  }
  const online = CpuSet.of(sorted.map((cpu) => cpu.id));
  const index = indexTopology(sorted, cacheLevels);
  const numaNodes = groupBy(sorted, (cpu) => cpu.numaNode);
  const cpusOf = new Map(numaNodes.map((node) => [node.id, node.cpus]));
  const memory = memoryNodes
    .map((node) => ({ ...node, cpus: node.cpus ?? cpusOf.get(node.id) ?? CpuSet.empty }))
    .sort((a, b) => a.id - b.id);
  const kinds = coreKinds
    .map(({ name, cpus: all }) => ({ name, cpus: all.intersect(online) }))
    .filter((kind) => !kind.cpus.isEmpty);
  return {
    cpus: sorted,
    online,
    cores: groupBy(sorted, (cpu) => cpu.core),
    sockets: groupBy(sorted, (cpu) => cpu.socket),
    numaNodes,
    uncoreCaches: groupBy(sorted, (cpu) => cpu.uncoreCache).map((unit, i) => ({
      ...unit,
      level: index.cacheLevels[i]!,
    })),
    coreKinds: kinds.length > 1 ? kinds : [],
    isolated: isolated.intersect(online),
    memoryNodes: memory,
    localMemory: localMemory(numaNodes, memory),
    ignored,
    index,
  };
}

/** The same machine with only these of its online CPUs. Throws Error when none is left. */
export function restrictTopology(topology: Topology, online: CpuSet): Topology {
  return buildTopology({
    ...topology,
    cpus: topology.cpus.filter(({ id }) => online.has(id)),
    cacheLevels: new Map(topology.uncoreCaches.map(({ id, level }) => [id, level])),
  });
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
