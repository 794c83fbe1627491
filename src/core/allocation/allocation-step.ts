import { CpuSet } from '../cpuset';

/** One step that led to an allocation, in order. Data for `explain`, `allocate` and the log. */
export interface AllocationStep {
  /** Which rule acted, e.g. `whole-socket`, `whole-core`, `uncore-cache`, `single-cpu`, `distribute`. */
  readonly rule: string;
  readonly took: CpuSet;
  /** Written for the operator: what matched, what was passed over. */
  readonly because: string;
}

/** A step whose set and text are made when someone asks for them: most allocations are never explained. */
export function stepOf(rule: string, cpuIds: readonly number[], because: () => string): AllocationStep {
  return {
    rule,
    get took() {
      return CpuSet.of(cpuIds);
    },
    get because() {
      return because();
    },
  };
}
