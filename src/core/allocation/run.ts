import { CpuSet } from '../cpuset';
import { freeCpusInNode, put, remove, type FreeCpus } from './free-cpus';

/** One step that led to an allocation, in order. Data for `explain`, `allocate` and the log. */
export interface AllocationStep {
  /** The rule that acted, e.g. `whole-socket`, `whole-core`, `uncore-cache`, `single-cpu`, `distribute`. */
  readonly rule: string;
  readonly took: CpuSet;
  /** Written for the operator: what matched, what was passed over. */
  readonly because: string;
}

/** A step whose set and text are made when they are read: most allocations are never explained. */
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

/** One allocation under way. */
export interface Run {
  readonly free: FreeCpus;
  need: number;
  /** Ids, in the order in which they were taken. */
  readonly taken: number[];
  readonly steps: AllocationStep[];
}

/** A run that takes `need` CPUs out of the free ones, with nothing taken yet. */
export function startRun(free: FreeCpus, need: number): Run {
  return { free, need, taken: [], steps: [] };
}

/** A separate run within one NUMA node; `mergeRun` adds its result to the whole. */
export function startRunInNode({ free }: Run, node: number, need: number): Run {
  return startRun(freeCpusInNode(free, node), need);
}

/** Adds the CPUs that a part of the run took. The steps of the part are left out: the whole has its own. */
export function mergeRun(run: Run, part: Run): void {
  for (const id of part.taken) takeCpu(run, run.free.index.indexOf[id]!);
}

/** Takes one free CPU, known by its index. */
export function takeCpu(run: Run, cpu: number): void {
  remove(run.free, cpu);
  run.taken.push(run.free.index.cpuIds[cpu]!);
  run.need--;
}

/** Gives back all that was taken. */
export function startAgain(run: Run): void {
  for (const id of run.taken) put(run.free, run.free.index.indexOf[id]!);
  run.need += run.taken.length;
  run.taken.length = 0;
  run.steps.length = 0;
}

/** Adds a step for the CPUs taken since `from` (a length of `taken`), if there are any. */
export function noteStep(run: Run, rule: string, from: number, because: (cpus: number) => string): void {
  if (run.taken.length === from) return;
  const ids = run.taken.slice(from);
  run.steps.push(stepOf(rule, ids, () => because(ids.length)));
}
