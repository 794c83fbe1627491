import { buildTopology, type Topology } from '../../../src/core/topology';
import type { Random } from '../../support/random';
import type { CpuRow } from '../scenarios/scenario';
import { readVectors } from '../vectors';
import type { MachineQuestion } from './questions';

/** A machine in the forms of both sides. */
export interface Machine {
  readonly name: string;
  readonly topology: Topology;
  readonly question: MachineQuestion;
}

/** The 72 machines of public dumps. */
export function listRealMachines(): readonly Machine[] {
  const lines = readVectors<{ name: string; cpus: CpuRow[] }>('real-machines.jsonl');
  return lines.map(({ name, cpus }) => describeMachine(name, cpus));
}

/** A machine of 1 to 8 NUMA nodes and at most 128 CPUs; one in three is uneven, by CPUs that are offline. */
export function makeMachine(random: Random, name: string): Machine {
  const nodes = random.pick([1, 1, 2, 2, 2, 3, 4, 4, 6, 8]);
  const socketsPerNode = random.chance(0.1) ? random.int(2, 3) : 1;
  const nodesPerSocket = random.pick([1, 1, 2, 4].filter((count) => nodes % count === 0));
  const threads = random.pick([1, 2, 2, 2, 4]);
  const cachesPerNode = random.pick([1, 1, 2, 3, 4]);
  const room = Math.max(1, Math.floor(128 / nodes / threads / cachesPerNode / socketsPerNode));
  const coresPerCache = random.int(1, Math.min(8, room));
  const coresPerNode = coresPerCache * cachesPerNode * socketsPerNode;
  const cores = coresPerNode * nodes;
  const isSplit = random.chance(0.6);
  const rows: CpuRow[] = [];
  for (let core = 0; core < cores; core++) {
    const node = Math.floor(core / coresPerNode);
    const socket =
      socketsPerNode > 1 ? Math.floor((core * socketsPerNode) / coresPerNode) : Math.floor(node / nodesPerSocket);
    for (let thread = 0; thread < threads; thread++) {
      const id = isSplit ? thread * cores + core : core * threads + thread;
      rows.push([id, core, socket, node, Math.floor(core / coresPerCache)]);
    }
  }
  rows.sort(([a], [b]) => a - b);
  if (!random.chance(1 / 3)) return describeMachine(name, rows, random);
  const offline = random.pick([0.05, 0.1, 0.3]);
  const online = rows.filter(() => !random.chance(offline));
  return describeMachine(name, online.length > 1 ? online : rows, random);
}

/** With memory and distances of its own for each NUMA node, when a random generator is given. */
function describeMachine(name: string, rows: readonly CpuRow[], random?: Random): Machine {
  const cpus = numberCores(rows);
  const nodes = [...new Set(cpus.map(([, , , node]) => node))].sort((a, b) => a - b);
  const memory = nodes.map((id) => [id, (random?.int(1, 4) ?? 4) * 2 ** 30] as const);
  const far = (a: number, b: number): number => (a === b ? 10 : 10 + 2 * Math.abs(nodes.indexOf(a) - nodes.indexOf(b)));
  const last = nodes.at(-1) ?? 0;
  const distances = Array.from({ length: last + 1 }, (_, a) => Array.from({ length: last + 1 }, (_, b) => far(a, b)));
  const topology = buildTopology({
    cpus: cpus.map(([id, core, socket, numaNode, uncoreCache]) => ({ id, core, socket, numaNode, uncoreCache })),
    memoryNodes: memory.map(([id, memoryBytes]) => ({
      id,
      memoryBytes,
      distances: new Map(nodes.map((other) => [other, far(id, other)])),
    })),
  });
  return { name, topology, question: { op: 'machine', cpus, memory: Object.fromEntries(memory), distances } };
}

/** Cores have the number of their lowest CPU, as the kubelet and the reader of sysfs number them. */
function numberCores(rows: readonly CpuRow[]): readonly CpuRow[] {
  const lowest = new Map<number, number>();
  for (const [id, core] of rows) lowest.set(core, Math.min(id, lowest.get(core) ?? id));
  return rows.map(([id, core, ...rest]) => [id, lowest.get(core)!, ...rest]);
}

/**
 * True when all units of a kind, and their parts, have as many CPUs: what the kubelet computes of means is true then.
 */
export function isRegular({ cores, uncoreCaches, numaNodes, sockets }: Topology): boolean {
  return [cores, uncoreCaches, numaNodes, sockets].every(
    (units) => new Set(units.map(({ cpus }) => cpus.size)).size <= 1,
  );
}

/** The kubelet can name all NUMA nodes in one set: their numbers are below 64. */
export const hasFewNodes = ({ topology }: Machine): boolean => topology.numaNodes.every(({ id }) => id < 64);
