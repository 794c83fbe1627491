import { CpuSet } from '../../src/core/cpuset';
import { buildTopology, type CpuInfo, type MemoryNode, type Topology } from '../../src/core/topology';
import type { Random } from '../support/random';

/**
 * NUMA nodes, caches and cores of unequal size, fast and slow cores, missing threads, and memory nodes that list the
 * same CPUs.
 */
export function unevenMachine(random: Random): Topology {
  const cpus: CpuInfo[] = [];
  const fast: number[] = [];
  const isHybrid = random.chance(0.5);
  let [core, cache] = [0, 0];
  for (let numaNode = 0, nodes = random.int(1, 3); numaNode < nodes; numaNode++) {
    for (let cores = random.int(1, 6); cores > 0; cores--, core++) {
      const isFast = !isHybrid || random.chance(0.5);
      for (let thread = isFast && random.chance(0.9) ? 2 : 1; thread > 0; thread--) {
        if (isFast) fast.push(cpus.length);
        cpus.push({ id: cpus.length, core, socket: numaNode >> 1, numaNode, uncoreCache: cache });
      }
      if (random.chance(0.4)) cache++;
    }
    cache++;
  }
  const performance = CpuSet.of(fast);
  return buildTopology({
    cpus,
    memoryNodes: random.chance(0.5) ? overlappingMemory(random, cpus) : [],
    coreKinds: [
      { name: 'performance', cpus: performance },
      { name: 'efficiency', cpus: CpuSet.of(cpus.map(({ id }) => id)).minus(performance) },
    ],
  });
}

/** Two memory nodes for the CPUs of each NUMA node, as emulated ones are. */
function overlappingMemory(random: Random, cpus: readonly CpuInfo[]): readonly MemoryNode[] {
  const nodes = [...new Set(cpus.map(({ numaNode }) => numaNode))];
  return [...nodes, ...nodes].map((owner, id) => ({
    id,
    memoryBytes: random.int(1, 4) * 2 ** 30,
    distances: new Map(),
    cpus: CpuSet.of(cpus.filter(({ numaNode }) => numaNode === owner).map((cpu) => cpu.id)),
  }));
}
