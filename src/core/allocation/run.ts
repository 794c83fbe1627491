import { stepOf, type AllocationStep } from './allocation-step';
import { freeCpusInNode, remove, type FreeCpus } from './free-cpus';

/** One allocation under way: what is free, what is still wanted, what was taken and why. */
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

/** A run of its own within one NUMA node; `joinRun` brings its result home. */
export function startRunInNode({ free }: Run, node: number, need: number): Run {
  return startRun(freeCpusInNode(free, node), need);
}

/** Adds what a part of the run took, and its steps. */
export function joinRun(run: Run, part: Run): void {
  for (const id of part.taken) takeCpu(run, run.free.index.placeOf[id]!);
}

/** Takes one free CPU, known by its place. */
export function takeCpu(run: Run, cpu: number): void {
  remove(run.free, cpu);
  run.taken.push(run.free.index.cpuIds[cpu]!);
  run.need--;
}

/** Notes what was taken since `from` (a length of `taken`), if anything was. */
export function noteStep(run: Run, rule: string, from: number, because: (cpus: number) => string): void {
  if (run.taken.length === from) return;
  const ids = run.taken.slice(from);
  run.steps.push(stepOf(rule, ids, () => because(ids.length)));
}
