import { CpuSet, parseCpuList } from '../../src/core/cpuset';
import type { Topology, Unit } from '../../src/core/topology';

/** The description of a machine: see descriptions/ and scripts/machines/machine.mjs. */
export interface Machine {
  readonly name: string;
  readonly sockets: number;
  /** Number of cores of a socket. */
  readonly cores: number;
  /** Number of threads of a core. */
  readonly threads: number;
  readonly cachesPerSocket: number;
  /** Cores are counted through the machine, socket after socket. */
  readonly nodes: readonly { readonly cores: readonly number[]; readonly memoryMib: number }[];
  readonly siblings: 'adjacent' | 'apart';
  /** Kernel list format. */
  readonly offline: string;
  readonly kernelArguments: readonly string[];
  readonly cgroup: 'v1' | 'v2';
  readonly kernel: 'cloud' | 'generic';
  readonly suite: 'trixie' | 'sid';
  readonly runtime: 'runc' | 'crun';
  readonly init: 'plain' | 'systemd';
  readonly mode: 'nri' | 'cri-proxy';
}

/** A topology as text: sets of CPUs, each in kernel list format. */
export interface Layout {
  readonly online: string;
  readonly isolated: string;
  readonly cores: string;
  readonly sockets: string;
  readonly numaNodes: string;
  readonly uncoreCaches: string;
  /** The nodes that have memory. */
  readonly memoryNodes: string;
}

/** The layout that was read on the machine. */
export function layoutOf(topology: Topology): Layout {
  return {
    online: topology.online.toString(),
    isolated: topology.isolated.toString(),
    cores: showSets(topology.cores),
    sockets: showUnits(topology.sockets),
    numaNodes: showUnits(topology.numaNodes),
    uncoreCaches: showSets(topology.uncoreCaches),
    memoryNodes: CpuSet.of(withMemory(topology)).toString(),
  };
}

/**
 * The number of nodes that the kernel makes of each real one (`numa=fake=4`), all with the same CPUs; undefined
 * without.
 */
export function emulatedNodes({ kernelArguments }: Machine): number | undefined {
  const argument = kernelArguments.find((each) => each.startsWith('numa=fake='));
  return argument === undefined ? undefined : Number(argument.split('=')[2]);
}

/** The layout by the description. */
export function expectedLayout(machine: Machine): Layout {
  const { sockets, cores, cachesPerSocket } = machine;
  const emulated = emulatedNodes(machine);
  const online = allCpus(machine).minus(parseCpuList(machine.offline));
  const unitsOf = (groups: readonly (readonly number[])[]): Unit[] =>
    groups
      .map((group, id) => ({ id, cpus: cpusOfCores(machine, group).intersect(online) }))
      .filter(({ cpus }) => !cpus.isEmpty);
  const isolated = machine.kernelArguments.find((argument) => argument.startsWith('isolcpus='));
  return {
    online: online.toString(),
    isolated: parseCpuList(isolated?.split('=')[1] ?? '')
      .intersect(online)
      .toString(),
    cores: showSets(unitsOf(count(sockets * cores).map((core) => [core]))),
    sockets: showUnits(unitsOf(split(sockets * cores, sockets))),
    numaNodes: showUnits(unitsOf(machine.nodes.map((node) => node.cores))),
    uncoreCaches: showSets(unitsOf(split(sockets * cores, sockets * cachesPerSocket))),
    memoryNodes: CpuSet.of(
      emulated === undefined
        ? machine.nodes.flatMap(({ memoryMib }, id) => (memoryMib > 0 ? [id] : []))
        : count(emulated),
    ).toString(),
  };
}

/** The nodes that have memory. */
export const withMemory = ({ memoryNodes }: Topology): number[] =>
  memoryNodes.flatMap(({ id, memoryBytes }) => (memoryBytes > 0 ? [id] : []));

/** All CPUs of the machine, offline ones included. */
export const allCpus = ({ sockets, cores, threads }: Machine): CpuSet => CpuSet.range(0, sockets * cores * threads - 1);

function cpusOfCores({ sockets, cores, threads, siblings }: Machine, group: readonly number[]): CpuSet {
  const total = sockets * cores;
  return CpuSet.of(
    group.flatMap((core) =>
      count(threads).map((thread) => (siblings === 'apart' ? thread * total + core : core * threads + thread)),
    ),
  );
}

const count = (length: number): number[] => Array.from({ length }, (_, index) => index);
const split = (length: number, groups: number): number[][] =>
  count(groups).map((group) => count(length / groups).map((index) => (group * length) / groups + index));
const byFirst = (a: Unit, b: Unit): number => a.cpus.first! - b.cpus.first!;
const showSets = (units: readonly Unit[]): string =>
  [...units]
    .sort(byFirst)
    .map(({ cpus }) => cpus.toString())
    .join(' ');
const showUnits = (units: readonly Unit[]): string => units.map(({ id, cpus }) => `${id}=${cpus.toString()}`).join(' ');
