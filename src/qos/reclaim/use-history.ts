import type { Metrics } from '../usage/metrics';
import { addSample, type EstimateOptions, type UseSample } from './estimate';
import { measureLocalUse, type LocalCpuUse } from './local-use';

/** The use that was measured in the window, without that of pods with `gocrane.io/cpu` and `gocrane.io/memory`. */
export interface UseHistory {
  /** Of the shared pool, in thousandths of a CPU. */
  readonly pool: readonly UseSample[];
  /** In bytes. */
  readonly memory: readonly UseSample[];
  readonly latestCpu?: LocalCpuUse;
}

export const NO_USE: UseHistory = { pool: [], memory: [] };

/** A collection, and the number of exclusive CPUs at the time of the reading. */
export interface MeasuredUse {
  readonly metrics: Metrics;
  /** ms since 1970. */
  readonly atMs: number;
  readonly exclusiveCpus: number;
}

/** The history with one more collection. Figures that are old at the time of the collection do not count. */
export function addUse(
  history: UseHistory,
  { metrics, atMs, exclusiveCpus }: MeasuredUse,
  { windowMs, maxAgeMs }: EstimateOptions,
): UseHistory {
  const { cpu, memory } = measureLocalUse(metrics, { exclusiveCpus, maxAgeMs });
  const isFresh = (figure: { readonly atMs: number }): boolean => Math.abs(figure.atMs - atMs) <= maxAgeMs;
  return {
    ...history,
    ...(cpu &&
      isFresh(cpu) && {
        latestCpu: cpu,
        pool: addSample(history.pool, { atMs: cpu.atMs, value: cpu.poolMilli }, windowMs),
      }),
    ...(memory &&
      isFresh(memory) && {
        memory: addSample(history.memory, { atMs: memory.atMs, value: memory.bytes }, windowMs),
      }),
  };
}
