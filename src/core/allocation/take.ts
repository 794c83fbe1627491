import type { CpuSet } from '../cpuset';
import type { Topology } from '../topology';

/** One question to the allocation routine: which `count` of the available CPUs? */
export interface TakeRequest {
  readonly topology: Topology;
  /** CPUs that may be taken. Ids that the topology does not have are ignored. */
  readonly available: CpuSet;
  readonly count: number;
  readonly algorithm: 'packed' | 'distributed';
  /** `spread` takes single CPUs in numeric order instead of whole cores (distribute-cpus-across-cores). */
  readonly strategy: 'packed' | 'spread';
  /** prefer-align-cpus-by-uncorecache; only the packed algorithm looks at it. */
  readonly preferAlignByUncoreCache: boolean;
  /** Only the distributed algorithm: CPUs are handed out in groups of this size (threads per core with full-pcpus-only). */
  readonly cpuGroupSize: number;
}

/** One step that led to an allocation, in order. Data for `explain`, `allocate` and the log. */
export interface AllocationStep {
  /** Which rule acted, e.g. `whole-socket`, `whole-core`, `uncore-cache`, `single-cpu`, `distribute`. */
  readonly rule: string;
  readonly took: CpuSet;
  /** Written for the operator: what matched, what was passed over. */
  readonly because: string;
}

export type TakeResult =
  | { readonly ok: true; readonly cpus: CpuSet; readonly steps: readonly AllocationStep[] }
  | { readonly ok: false; readonly error: string; readonly steps: readonly AllocationStep[] };
