import { CpuSet } from '../cpuset';
import type { ThreadSample } from './observation';

/** Sums up what the threads of a container may run on, beside what its cpuset really gives it. */
export function sampleThreads(effective: CpuSet, allowed: readonly CpuSet[]): ThreadSample {
  const narrower = allowed.filter((cpus) => !effective.isSubsetOf(cpus));
  return {
    looked: allowed.length,
    narrower: narrower.length,
    narrowerCpus: CpuSet.unionOf(narrower),
    outside: CpuSet.unionOf(allowed).minus(effective),
  };
}
