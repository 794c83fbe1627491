import fc from 'fast-check';
import { buildTopology, type CpuInfo, type Topology } from '../../../src/core/topology';

export interface MachineShape {
  readonly sockets: number;
  /** Above 1: NUMA nodes in a socket; below -1: sockets in a NUMA node. */
  readonly nodesPerSocket: number;
  readonly coresPerNode: number;
  readonly threads: number;
  readonly coresPerCache: number;
  /** `adjacent`: siblings are neighbours; `split`: second threads come after all first ones. */
  readonly numbering: 'adjacent' | 'split';
}

/** The CPUs of a regular machine; at most 1,024 are kept. */
export function cpusOf(shape: MachineShape): CpuInfo[] {
  const { sockets, nodesPerSocket, coresPerNode, threads, coresPerCache, numbering } = shape;
  const coresPerSocket = coresPerNode * Math.max(1, nodesPerSocket);
  const cores = sockets * coresPerSocket;
  const cpus: CpuInfo[] = [];
  for (let core = 0; core < cores; core++) {
    const socket = Math.floor(core / coresPerSocket);
    const numaNode = nodesPerSocket < 0 ? Math.floor(socket / -nodesPerSocket) : Math.floor(core / coresPerNode);
    for (let thread = 0; thread < threads; thread++) {
      const id = numbering === 'adjacent' ? core * threads + thread : thread * cores + core;
      cpus.push({ id, core, socket, numaNode, uncoreCache: Math.floor(core / coresPerCache) });
    }
  }
  return cpus.slice(0, 1024);
}

/** Usual machines: 1 to 16 NUMA nodes, SMT 1 to 8, up to 1,024 CPUs. */
export const arbitraryShape: fc.Arbitrary<MachineShape> = fc
  .record({
    sockets: fc.integer({ min: 1, max: 8 }),
    nodesPerSocket: fc.constantFrom(-4, -2, 1, 1, 1, 2, 4),
    coresPerNode: fc.integer({ min: 1, max: 16 }),
    threads: fc.constantFrom(1, 2, 2, 4, 8),
    coresPerCache: fc.integer({ min: 1, max: 20 }),
    numbering: fc.constantFrom('adjacent', 'split'),
  })
  .filter(
    ({ sockets, nodesPerSocket, coresPerNode, threads }) =>
      sockets * Math.max(1, nodesPerSocket) <= 16 &&
      sockets * Math.max(1, nodesPerSocket) * coresPerNode * threads <= 1024,
  );

/** Unusual machines: CPUs offline, ids with gaps, caches that cross nodes, cores and nodes that cross others. */
export const arbitraryMachine: fc.Arbitrary<Topology> = fc
  .record({
    shape: arbitraryShape,
    spread: fc.constantFrom(1, 1, 3),
    offline: fc.constantFrom(0, 0, 0.1, 0.5),
    crossed: fc.constantFrom(0, 0, 0.1),
    seed: fc.integer({ min: 0, max: 2 ** 31 - 1 }),
  })
  .map(({ shape, spread, offline, crossed, seed }) => {
    const random = makeRandom(seed);
    const regular = cpusOf(shape);
    const cpus = regular.map((cpu) => {
      const elsewhere = regular[Math.floor(random() * regular.length)]!;
      return { ...cpu, id: cpu.id * spread, numaNode: random() < crossed ? elsewhere.numaNode : cpu.numaNode };
    });
    const online = cpus.filter(() => random() >= offline);
    return buildTopology({ cpus: online.length > 0 ? online : cpus });
  });

/** A small generator of numbers from 0 to 1 (mulberry32), so that one seed makes one machine. */
export function makeRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
