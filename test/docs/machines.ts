import { CpuSet } from '../../src/core/cpuset';
import { buildTopology, type Topology, type Unit } from '../../src/core/topology';

/** A machine of the pictures, and how it is drawn: the units of one kind side by side. */
export interface Machine {
  readonly topology: Topology;
  readonly groups: readonly Unit[];
  readonly titleOf: (group: Unit) => string;
}

/** Cores of 2 CPUs: core c of n has the CPUs c and c + n, as most machines number them. */
function build(
  unitsOf: (core: number) => { socket: number; numaNode: number; uncoreCache: number },
  { cores = 8, gibibytes = 8 } = {},
): Topology {
  const nodes = new Set(Array.from({ length: cores }, (_, core) => unitsOf(core).numaNode));
  return buildTopology({
    cpus: Array.from({ length: cores * 2 }, (_, id) => ({ id, core: id % cores, ...unitsOf(id % cores) })),
    memoryNodes: [...nodes].map((id) => ({
      id,
      memoryBytes: gibibytes * 2 ** 30,
      distances: new Map([...nodes].map((to) => [to, to === id ? 10 : 20])),
    })),
  });
}

function drawnBy(topology: Topology, groups: readonly Unit[], titleOf: (group: Unit) => string): Machine {
  return { topology, groups, titleOf };
}

const TWO_SOCKETS = build((core) => {
  const socket = Math.floor(core / 4);
  return { socket, numaNode: socket, uncoreCache: socket };
});

const FOUR_NODES = build((core) => {
  const pair = Math.floor(core / 2);
  return { socket: Math.floor(core / 4), numaNode: pair, uncoreCache: pair };
});

const FOUR_CACHES = build((core) => ({ socket: 0, numaNode: 0, uncoreCache: Math.floor(core / 2) }));

const TWO_CACHES_EACH = build(
  (core) => {
    const socket = Math.floor(core / 16);
    return { socket, numaNode: socket, uncoreCache: Math.floor(core / 8) };
  },
  { cores: 32, gibibytes: 128 },
);

export const MACHINES = {
  /** 2 sockets of 4 cores, each a NUMA node. */
  'two-sockets': drawnBy(TWO_SOCKETS, TWO_SOCKETS.numaNodes, ({ id }) => `socket ${id}, NUMA node ${id}`),
  /** 2 sockets of 4 cores, each with two NUMA nodes. */
  'four-nodes': drawnBy(FOUR_NODES, FOUR_NODES.numaNodes, ({ id }) => `socket ${Math.floor(id / 2)}, node ${id}`),
  /** 1 socket of 8 cores, two cores behind each of 4 caches. */
  'four-caches': drawnBy(FOUR_CACHES, FOUR_CACHES.uncoreCaches, ({ id }) => `cache ${id}`),
  /** 2 sockets of 16 cores, each a NUMA node with two caches of 8 cores. */
  'two-caches-each': drawnBy(TWO_CACHES_EACH, TWO_CACHES_EACH.uncoreCaches, ({ id }) => `cache ${id}`),
} as const satisfies Readonly<Record<string, Machine>>;

/** The CPU sets that decide which mark is drawn at a CPU. Earlier ones win. */
export interface Marks {
  /** CPUs of each container that was placed, in order. */
  readonly given: readonly CpuSet[];
  /** Idle in the pod: their container has exited. */
  readonly idle: CpuSet;
  readonly reserved: CpuSet;
  readonly others: CpuSet;
}

const BRACKETS = ['[]', '()'];

/** The machine in lines: a title for each group, then a line for each thread of the cores. */
export function draw({ topology, groups, titleOf }: Machine, marks: Marks): string[] {
  const threads = Math.max(...topology.cores.map(({ cpus }) => cpus.size));
  const columns = groups.map((group) => {
    const cores = topology.cores.filter(({ cpus }) => cpus.overlaps(group.cpus)).map(({ cpus }) => cpus.toArray());
    const rows = Array.from({ length: threads }, (_, thread) =>
      cores.map((cpus) => (cpus[thread] === undefined ? '    ' : drawCpu(cpus[thread], marks))).join(' '),
    );
    return [titleOf(group), ...rows];
  });
  return Array.from({ length: threads + 1 }, (_, line) =>
    columns
      .map((lines) => lines[line]!.padEnd(Math.max(...lines.map(({ length }) => length))))
      .join(' | ')
      .trimEnd(),
  );
}

function drawCpu(cpu: number, { given, idle, reserved, others }: Marks): string {
  const id = String(cpu).padStart(2);
  const place = given.findIndex((cpus) => cpus.has(cpu));
  if (place >= 0) return `${BRACKETS[place]![0]}${id}${BRACKETS[place]![1]}`;
  if (idle.has(cpu)) return ` ${id}i`;
  if (reserved.has(cpu)) return ` ${id}r`;
  return ` ${id}${others.has(cpu) ? 'x' : ' '}`;
}
