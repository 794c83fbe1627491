import { CpuSet, parseCpuList } from '../../core/cpuset';
import {
  buildTopology,
  confineTopology,
  machineOf,
  type CpuBound,
  type Topology,
  type Unit,
} from '../../core/topology';
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
    readonly distances: readonly (readonly [id: number, distance: number])[];
  }[];
  /** Absent where the node may use all of the machine. */
  readonly bound?: { readonly cgroup: string; readonly cpus: string };
}

/** The machine as a record has it: all of it, and the bound of what the node may use. */
export function describeMachine(topology: Topology): MachineRecord {
  const { cores, sockets, numaNodes, uncoreCaches, isolated, memoryNodes } = machineOf(topology);
  const bound = topology.confinement?.bound;
  const list = (units: readonly Unit[]): Units =>
    units.map(({ id, cpus }) => (id === cpus.first ? cpus.toString() : [id, cpus.toString()]));
  return {
    cores: list(cores),
    sockets: list(sockets),
    numaNodes: list(numaNodes),
    uncoreCaches: list(uncoreCaches),
    isolated: isolated.toString(),
    memoryNodes: memoryNodes.map(({ id, memoryBytes, distances }) => ({ id, memoryBytes, distances: [...distances] })),
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
      memoryNodes: fields.list('memoryNodes').map((node) => {
        const of = new Fields(node, 'the memory node');
        return {
          id: of.count('id'),
          memoryBytes: of.count('memoryBytes'),
          distances: new Map(of.list('distances').map(readPair)),
        };
      }),
    });
    return confineTopology(machine, readBound(fields));
  } catch {
    return undefined; // not ours, whatever it is
  }
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
