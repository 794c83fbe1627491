import type { CacheLevel } from './unit';

/** One online CPU and the units it lies in. */
export interface CpuInfo {
  /** The kernel's number of the CPU, as in /sys/devices/system/cpu/cpuN. */
  readonly id: number;
  /**
   * Unique over the whole machine. The sysfs reader uses the lowest CPU id of the core; other sources may number
   * otherwise.
   */
  readonly core: number;
  readonly socket: number;
  readonly numaNode: number;
  /** The group of CPUs behind one last-level cache; unique over the whole machine. */
  readonly uncoreCache: number;
}

/** All units of one kind, known by their index in the ascending list of ids; CPUs likewise. */
export interface UnitIndex {
  readonly ids: readonly number[];
  /** Unit of each CPU. */
  readonly unitOf: Int32Array;
  /** CPUs of each unit, ascending. */
  readonly cpus: readonly Int32Array[];
  /** CPUs in the largest unit, and in the smallest one. */
  readonly largest: number;
  readonly smallest: number;
}

/** The inner units that have a CPU in each outer unit. */
export interface Nesting {
  /** Inner units of each outer unit, ascending. */
  readonly within: readonly Int32Array[];
  /** Some inner unit lies in more than one outer unit. */
  readonly crosses: boolean;
}

/**
 * The machine as flat numbers, for routines that count and sort on every request: CPUs and units are known by their
 * index in the ascending list of their ids, so that counters are plain arrays.
 */
export interface TopologyIndex {
  readonly cpuIds: Int32Array;
  /** Index of each CPU id; -1 for an id that is not online. */
  readonly indexOf: Int32Array;
  readonly core: UnitIndex;
  readonly socket: UnitIndex;
  readonly numaNode: UnitIndex;
  readonly uncoreCache: UnitIndex;
  /** The level of each uncore cache. */
  readonly cacheLevels: readonly CacheLevel[];
  readonly socketsOfNode: Nesting;
  readonly nodesOfSocket: Nesting;
  readonly coresOfSocket: Nesting;
  readonly coresOfNode: Nesting;
  readonly cachesOfNode: Nesting;
  readonly cachesOfSocket: Nesting;
  /** At least as many sockets as NUMA nodes: nodes are the larger units then, as the kubelet sees it. */
  readonly numaFirst: boolean;
}

/**
 * Numbers CPUs and units. The CPUs must be ascending by id. A cache without a level is an L3. Linear in CPUs but for
 * the sorting of unit ids.
 */
export function indexTopology(cpus: readonly CpuInfo[], levelOf?: ReadonlyMap<number, CacheLevel>): TopologyIndex {
  const cpuIds = Int32Array.from(cpus, ({ id }) => id);
  const indexOf = new Int32Array((cpuIds.at(-1) ?? -1) + 1).fill(-1);
  cpuIds.forEach((id, index) => (indexOf[id] = index));

  const core = indexUnits(cpus, (cpu) => cpu.core);
  const socket = indexUnits(cpus, (cpu) => cpu.socket);
  const numaNode = indexUnits(cpus, (cpu) => cpu.numaNode);
  const uncoreCache = indexUnits(cpus, (cpu) => cpu.uncoreCache);
  return {
    cpuIds,
    indexOf,
    core,
    socket,
    numaNode,
    uncoreCache,
    cacheLevels: uncoreCache.ids.map((id) => levelOf?.get(id) ?? 'L3'),
    socketsOfNode: nest(numaNode, socket),
    nodesOfSocket: nest(socket, numaNode),
    coresOfSocket: nest(socket, core),
    coresOfNode: nest(numaNode, core),
    cachesOfNode: nest(numaNode, uncoreCache),
    cachesOfSocket: nest(socket, uncoreCache),
    numaFirst: socket.ids.length >= numaNode.ids.length,
  };
}

function indexUnits(cpus: readonly CpuInfo[], idOf: (cpu: CpuInfo) => number): UnitIndex {
  const ids = [...new Set(cpus.map(idOf))].sort((a, b) => a - b);
  const indexOf = new Map(ids.map((id, index) => [id, index]));
  const unitOf = Int32Array.from(cpus, (cpu) => indexOf.get(idOf(cpu))!);
  const lists: number[][] = ids.map(() => []);
  unitOf.forEach((unit, cpu) => lists[unit]!.push(cpu));
  return {
    ids,
    unitOf,
    cpus: lists.map((list) => Int32Array.from(list)),
    largest: lists.reduce((most, { length }) => Math.max(most, length), 0),
    smallest: lists.reduce((least, { length }) => Math.min(least, length), Infinity),
  };
}

function nest(outer: UnitIndex, inner: UnitIndex): Nesting {
  let pairs = 0;
  const within = outer.cpus.map((cpus) => {
    const units = Int32Array.from(new Set(Array.from(cpus, (cpu) => inner.unitOf[cpu]!))).sort();
    pairs += units.length;
    return units;
  });
  return { within, crosses: pairs > inner.ids.length };
}
