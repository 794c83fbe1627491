import { sum } from '../sum';
import { knownCaches, type Unit } from '../topology';
import type { NodeView } from './node-view';

/** The distribution of the free CPUs of a node. */
export interface FreeUnits {
  readonly cpus: number;
  /**
   * Cores, uncore caches (those of which the kernel knows) and NUMA nodes all of whose CPUs that can be given out are
   * free.
   */
  readonly cores: number;
  readonly uncoreCaches: number;
  readonly numaNodes: number;
  /** The most CPUs that one container could get in whole cores, in one uncore cache, and in one NUMA node. */
  readonly largestInCores: number;
  readonly largestInCache: number;
  readonly largestInNode: number;
  /** The part of the free CPUs that lie in cores which are not wholly free, 0 to 1; 0 when no CPU is free. */
  readonly fragmentation: number;
}

/** Counts free CPUs by the units that they lie in. A unit without a CPU that can be given out is none. */
export function countFreeUnits({
  topology,
  settings,
  free,
}: Pick<NodeView, 'topology' | 'settings' | 'free'>): FreeUnits {
  const countWhole = (units: readonly Unit[]): number =>
    units.filter(({ cpus }) => {
      const usable = cpus.minus(settings.reserved);
      return !usable.isEmpty && usable.isSubsetOf(free);
    }).length;
  const largestIn = (units: readonly Unit[]): number => Math.max(0, ...units.map(({ cpus }) => cpus.countIn(free)));
  const wholeCores = topology.cores.filter(({ cpus }) => cpus.isSubsetOf(free));
  const inWholeCores = sum(wholeCores.map(({ cpus }) => cpus.size));
  return {
    cpus: free.size,
    cores: wholeCores.length,
    uncoreCaches: countWhole(knownCaches(topology)),
    numaNodes: countWhole(topology.numaNodes),
    largestInCores: inWholeCores,
    largestInCache: largestIn(knownCaches(topology)),
    largestInNode: largestIn(topology.numaNodes),
    fragmentation: free.isEmpty ? 0 : (free.size - inWholeCores) / free.size,
  };
}
