import { CpuSet } from '../cpuset';
import type { StaticPolicyOptions } from '../model/settings';
import type { Topology } from '../topology';
import { take, type TakeResult } from './take';

export interface ChooseRequest {
  readonly topology: Topology;
  readonly options: StaticPolicyOptions;
  /** CPUs that nobody owns and that are not reserved. */
  readonly available: CpuSet;
  /** CPUs that may be taken although they are owned: those of exited containers of the same pod. */
  readonly reusable: CpuSet;
  readonly count: number;
  /** Ids of the NUMA nodes to take from first; absent when any will do. */
  readonly nodes?: CpuSet;
}

/**
 * Chooses CPUs for a container by the options of the static policy: as many as possible from the given NUMA nodes (with
 * align-by-socket from all sockets that have one of these nodes), what is missing from anywhere. Never refuses because of the nodes.
 */
export function choose({ topology, options, available, reusable, count, nodes }: ChooseRequest): TakeResult {
  const candidates = available.union(reusable).intersect(topology.online);
  const preferred = nodes ? candidates.intersect(cpusOfNodes(topology, nodes, options.alignBySocket)) : CpuSet.empty;

  const aligned = takeByOptions(topology, options, preferred, Math.min(count, preferred.size));
  if (!aligned.ok) return aligned;
  const anywhere = takeByOptions(topology, options, candidates.minus(aligned.cpus), count - aligned.cpus.size);
  const steps = [...aligned.steps, ...anywhere.steps];
  return anywhere.ok ? { ok: true, cpus: aligned.cpus.union(anywhere.cpus), steps } : { ...anywhere, steps };
}

/** One run of the allocation routine as the options of the static policy demand it. */
export function takeByOptions(
  topology: Topology,
  options: StaticPolicyOptions,
  available: CpuSet,
  count: number,
): TakeResult {
  return take({
    topology,
    available,
    count,
    algorithm: options.distributeCpusAcrossNuma ? 'distributed' : 'packed',
    strategy: options.distributeCpusAcrossCores && !options.distributeCpusAcrossNuma ? 'spread' : 'packed',
    preferAlignByUncoreCache: options.preferAlignCpusByUncorecache,
    cpuGroupSize: options.fullPcpusOnly ? threadsPerCore(topology) : 1,
  });
}

/** CPUs in the largest core: what full-pcpus-only hands out at once. */
export function threadsPerCore(topology: Topology): number {
  return topology.index.core.largest;
}

/** CPUs of the NUMA nodes with these ids, or of all sockets that have one of them. */
export function cpusOfNodes(topology: Topology, nodes: CpuSet, wholeSockets: boolean): CpuSet {
  const inNodes = CpuSet.unionOf(topology.numaNodes.filter(({ id }) => nodes.has(id)).map(({ cpus }) => cpus));
  if (!wholeSockets) return inNodes;
  return CpuSet.unionOf(topology.sockets.filter(({ cpus }) => cpus.overlaps(inNodes)).map(({ cpus }) => cpus));
}
