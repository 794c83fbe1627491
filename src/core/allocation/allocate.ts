import { CpuSet } from '../cpuset';
import type { StaticPolicyOptions } from '../model/settings';
import { largestCore, type Topology } from '../topology';
import { listByKind } from './by-kind';
import { takeDistributed } from './distributed';
import { takeFromFewestCaches } from './fewest-caches';
import { freeCpusOf } from './free-cpus';
import { takePacked } from './packed';
import { startRun, type AllocationStep } from './run';

/** One question to the allocation routine: which `count` of the available CPUs? */
export interface AllocationRequest {
  readonly topology: Topology;
  /** CPUs that may be taken. Ids that the topology does not have are ignored. */
  readonly available: CpuSet;
  readonly count: number;
  readonly algorithm: 'packed' | 'distributed';
  /** `spread` takes single CPUs in numeric order instead of whole cores (distribute-cpus-across-cores). */
  readonly strategy: 'packed' | 'spread';
  /** prefer-align-cpus-by-uncorecache; only for the packed algorithm. */
  readonly preferAlignByUncoreCache: boolean;
  /**
   * Only for the distributed algorithm: CPUs are allocated in groups of this size (threads per core with
   * full-pcpus-only).
   */
  readonly cpuGroupSize: number;
  /**
   * align-by-socket; only for the distributed algorithm: NUMA nodes of one socket go before nodes of several. Absent =
   * false.
   */
  readonly alignBySocket?: boolean;
}

export type AllocationResult =
  | { readonly ok: true; readonly cpus: CpuSet; readonly steps: readonly AllocationStep[] }
  | { readonly ok: false; readonly error: string; readonly steps: readonly AllocationStep[] };

/**
 * Takes exactly `count` of the available CPUs, as the kubelet's static policy would choose them, or says that there
 * are too few. The same request always gives the same answer. A count below 1 takes nothing.
 *
 * Throws RangeError for a count or a group size that is not a whole number.
 */
export function allocate(request: AllocationRequest): AllocationResult {
  const { count, cpuGroupSize, strategy, alignBySocket = false } = request;
  if (!Number.isSafeInteger(count)) throw new RangeError(`not a number of CPUs: ${count}`);
  if (!Number.isSafeInteger(cpuGroupSize) || cpuGroupSize < 1)
    throw new RangeError(`not a group size: ${cpuGroupSize}`);
  if (count < 1) return { ok: true, cpus: CpuSet.empty, steps: [] };

  const free = freeCpusOf(request.topology.index, request.available);
  if (count > free.size) {
    return {
      ok: false,
      error: `not enough cpus available to satisfy request: requested=${count}, available=${request.available.size}`,
      steps: [],
    };
  }
  const run = startRun(free, count);
  if (request.algorithm === 'distributed') takeDistributed(run, strategy, { groupSize: cpuGroupSize, alignBySocket });
  else if (request.preferAlignByUncoreCache) takeFromFewestCaches(run, strategy);
  else takePacked(run, strategy, false);
  return { ok: true, cpus: CpuSet.of(run.taken), steps: run.steps };
}

/**
 * One run of the allocation routine as the options of the static policy demand it, on cores of one kind where these
 * suffice.
 */
export function allocateByOptions(
  topology: Topology,
  options: StaticPolicyOptions,
  available: CpuSet,
  count: number,
): AllocationResult {
  const [ofOneKind = available] = listByKind(topology, available, count);
  return allocate({
    topology,
    available: ofOneKind,
    count,
    algorithm: options.distributeCpusAcrossNuma ? 'distributed' : 'packed',
    strategy: options.distributeCpusAcrossCores && !options.distributeCpusAcrossNuma ? 'spread' : 'packed',
    preferAlignByUncoreCache: options.preferAlignCpusByUncorecache,
    cpuGroupSize: options.fullPcpusOnly ? largestCore(topology, ofOneKind) : 1,
    alignBySocket: options.alignBySocket,
  });
}
