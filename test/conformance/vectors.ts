import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { allocate, type AllocationRequest, type AllocationResult } from '../../src/core/allocation';
import type { CpuSet } from '../../src/core/cpuset';
import type { Topology, Unit } from '../../src/core/topology';
import { machineOf, type CpuRow } from './scenarios/scenario';

/** The parameters of an allocation, as in the vectors. */
export interface Rules {
  readonly topology: string;
  readonly algorithm: AllocationRequest['algorithm'];
  readonly strategy: AllocationRequest['strategy'];
  readonly preferAlignByUncoreCache?: boolean;
  readonly cpuGroupSize?: number;
}

export interface Answer {
  readonly result?: string;
  readonly error?: string;
}

export interface Vector extends Rules, Answer {
  readonly id: string;
  readonly available: string;
  readonly numCPUs: number;
  readonly fixed?: Answer;
  readonly variants?: { readonly fixed: Answer };
  readonly outside?: boolean;
  readonly short?: boolean;
  /**
   * The kubelet's own answer where a flaw decides it, or `flawed: ` and what is wrong with it; `result` is that of the
   * repaired routine.
   */
  readonly kubelet?: string;
}

export interface Step extends Answer {
  readonly op: 'alloc' | 'free';
  readonly name: string;
  readonly numCPUs?: number;
  readonly freed?: string;
  readonly available?: string;
}

export interface Sequence extends Rules {
  readonly id: string;
  readonly numReserved: number;
  readonly reserved: string;
  readonly steps: readonly Step[];
  readonly finalAvailable: string;
}

export function readVectors<T>(name: string): T[] {
  const text = readFileSync(join(__dirname, '../fixtures/vectors', name), 'utf8');
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as T);
}

export function loadMachines(): ReadonlyMap<string, Topology> {
  const lines = ['topologies.jsonl', 'real-machines.jsonl'].flatMap((file) =>
    readVectors<{ name: string; cpus: CpuRow[] }>(file),
  );
  return new Map(lines.map(({ name, cpus }) => [name, machineOf(cpus)]));
}

export function takeBy(rules: Rules, topology: Topology, available: CpuSet, count: number): AllocationResult {
  return allocate({
    topology,
    available,
    count,
    algorithm: rules.algorithm,
    strategy: rules.strategy,
    preferAlignByUncoreCache: rules.preferAlignByUncoreCache ?? false,
    cpuGroupSize: rules.cpuGroupSize ?? 1,
  });
}

/**
 * The units of which an answer of cpusetd has fewer than the kubelet's: uncore caches by
 * prefer-align-cpus-by-uncorecache, NUMA nodes by distribute-cpus-across-numa. The kubelet compares means, and looks at
 * the lowest cores of a cache only.
 */
export function findSavedUnits(
  {
    algorithm,
    preferAlignByUncoreCache,
    topology: { uncoreCaches, numaNodes },
  }: Pick<AllocationRequest, 'algorithm' | 'topology'> & { readonly preferAlignByUncoreCache?: boolean },
  kubelet: CpuSet,
  here: CpuSet,
): 'uncore caches' | 'NUMA nodes' | undefined {
  const count = (units: readonly Unit[], cpus: CpuSet): number =>
    units.filter((unit) => unit.cpus.overlaps(cpus)).length;
  if (algorithm === 'distributed') return count(numaNodes, here) < count(numaNodes, kubelet) ? 'NUMA nodes' : undefined;
  const isAligned = preferAlignByUncoreCache === true;
  return isAligned && count(uncoreCaches, here) < count(uncoreCaches, kubelet) ? 'uncore caches' : undefined;
}

/** The CPU list, or the error text. */
export function show(result: AllocationResult): string {
  return result.ok ? result.cpus.toString() : result.error;
}

export function showWanted({ result, error }: Answer): string {
  return error?.replace(/^ERR /, '') ?? result!;
}
