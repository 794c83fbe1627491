import { CpuSet, parseCpuList } from '../../core/cpuset';
import {
  buildTopology,
  confineTopology,
  machineOf,
  toCacheLevel,
  type CacheLevel,
  type CpuBound,
  type MemoryNode,
  type Topology,
  type Unit,
} from '../../core/topology';
import type { HugePages } from '../../core/huge-pages';
import { Fields, ShapeError } from '../fields';

/** A unit by its CPUs alone has the id of its lowest CPU, as cores mostly have. */
type Units = readonly (string | readonly [id: number, cpus: string])[];

/** A machine in a record: units with their CPUs in the kernel's list format, some kilobytes for a thousand CPUs. */
export interface MachineRecord {
  readonly cores: Units;
  readonly sockets: Units;
  readonly numaNodes: Units;
  readonly uncoreCaches: Units;
  readonly isolated: string;
  readonly memoryNodes: readonly {
    readonly id: number;
    readonly memoryBytes: number;
    /** Absent where no huge pages are set aside. */
    readonly hugePages?: HugePages;
    readonly distances: readonly (readonly [id: number, distance: number])[];
    readonly cpus?: string;
    readonly initiators?: string;
    readonly tier?: number;
    readonly isOfGpu?: true;
  }[];
  /** Absent where all caches are L3. */
  readonly cacheLevels?: readonly (readonly [id: number, level: string])[];
  /** Absent where all cores are of one kind. */
  readonly coreKinds?: readonly { readonly name: string; readonly cpus: string }[];
  /** Absent where the node may use all of the machine. */
  readonly bound?: { readonly cgroup: string; readonly cpus: string };
}

/** The machine as a record has it: all of it, and the bound of what the node may use. */
export function describeMachine(topology: Topology): MachineRecord {
  const { cores, sockets, numaNodes, uncoreCaches, isolated, memoryNodes, coreKinds } = machineOf(topology);
  const bound = topology.confinement?.bound;
  const list = (units: readonly Unit[]): Units =>
    units.map(({ id, cpus }) => (id === cpus.first ? cpus.toString() : [id, cpus.toString()]));
  const levels = uncoreCaches.flatMap(({ id, level }) => (level === 'L3' ? [] : [[id, level] as const]));
  return {
    cores: list(cores),
    sockets: list(sockets),
    numaNodes: list(numaNodes),
    uncoreCaches: list(uncoreCaches),
    isolated: isolated.toString(),
    memoryNodes: memoryNodes.map(({ distances, cpus, initiators, ...node }) => ({
      ...node,
      distances: [...distances],
      ...(cpus && { cpus: cpus.toString() }),
      ...(initiators && { initiators: initiators.toString() }),
    })),
    ...(levels.length > 0 && { cacheLevels: levels }),
    ...(coreKinds.length > 0 && { coreKinds: coreKinds.map(({ name, cpus }) => ({ name, cpus: cpus.toString() })) }),
    ...(bound && { bound: { cgroup: bound.cgroup, cpus: bound.cpus.toString() } }),
  };
}

/** Reads what `describeMachine` made. Undefined for anything else. */
export function readMachineRecord(value: unknown): Topology | undefined {
  try {
    const fields = new Fields(value, 'the machine');
    const [core, socket, numaNode, uncoreCache] = ['cores', 'sockets', 'numaNodes', 'uncoreCaches'].map((name) =>
      unitOfCpu(fields.list(name)),
    ) as [Map<number, number>, Map<number, number>, Map<number, number>, Map<number, number>];
    const placeIn = (units: Map<number, number>, cpu: number): number => {
      const unit = units.get(cpu);
      if (unit === undefined) throw new ShapeError(`CPU ${cpu} is in no unit`);
      return unit;
    };
    const machine = buildTopology({
      cpus: [...core].map(([id, ofCore]) => ({
        id,
        core: ofCore,
        socket: placeIn(socket, id),
        numaNode: placeIn(numaNode, id),
        uncoreCache: placeIn(uncoreCache, id),
      })),
      isolated: fields.text('isolated') === '' ? CpuSet.empty : fields.cpuSet('isolated'),
      memoryNodes: fields.list('memoryNodes').map(readMemoryNode),
      cacheLevels: new Map(listOf(fields, 'cacheLevels').map(readLevel)),
      coreKinds: listOf(fields, 'coreKinds').map((kind) => {
        const entry = new Fields(kind, 'the kind of cores');
        return { name: entry.text('name'), cpus: entry.cpuSet('cpus') };
      }),
    });
    return confineTopology(machine, readBound(fields));
  } catch {
    return undefined; // not ours, whatever it is
  }
}

function readMemoryNode(node: unknown): MemoryNode {
  const entry = new Fields(node, 'the memory node');
  const optionalSet = (name: string): CpuSet | undefined =>
    entry.has(name) ? parseCpuList(entry.text(name)) : undefined;
  const [cpus, initiators] = [optionalSet('cpus'), optionalSet('initiators')];
  return {
    id: entry.count('id'),
    memoryBytes: entry.count('memoryBytes'),
    ...(entry.has('hugePages') && { hugePages: entry.fields('hugePages').allCounts() }),
    distances: new Map(entry.list('distances').map(readPair)),
    ...(cpus && { cpus }),
    ...(initiators && { initiators }),
    ...(entry.has('tier') && { tier: entry.count('tier') }),
    ...(entry.has('isOfGpu') && { isOfGpu: true as const }),
  };
}

function listOf(fields: Fields, name: string): readonly unknown[] {
  return fields.has(name) ? fields.list(name) : [];
}

function readLevel(pair: unknown): readonly [number, CacheLevel] {
  const [id, level] = pair as readonly [unknown, unknown];
  if (typeof id !== 'number') throw new ShapeError('a cache has no number');
  return [id, toCacheLevel(level)];
}

function readBound(fields: Fields): CpuBound | undefined {
  const bound = fields.optional('bound');
  return bound && { cgroup: bound.text('cgroup'), cpus: bound.cpuSet('cpus') };
}

function unitOfCpu(units: readonly unknown[]): Map<number, number> {
  const unitOf = new Map<number, number>();
  for (const unit of units) {
    const [id, list] = typeof unit === 'string' ? [undefined, unit] : (unit as readonly [unknown, unknown]);
    if (typeof list !== 'string') throw new ShapeError('a unit is not a list of CPUs');
    const cpus = parseCpuList(list);
    const number = id ?? cpus.first;
    if (typeof number !== 'number') throw new ShapeError('a unit has no number');
    for (const cpu of cpus.toArray()) unitOf.set(cpu, number);
  }
  return unitOf;
}

function readPair(pair: unknown): readonly [number, number] {
  const [id, distance] = pair as readonly [unknown, unknown];
  if (typeof id !== 'number' || typeof distance !== 'number') throw new ShapeError('a distance is not a pair');
  return [id, distance];
}
