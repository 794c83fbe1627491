import { sum } from '../../core/sum';
import type { Metrics } from '../usage/metrics';

/**
 * The use of the node that pods with `gocrane.io/cpu` and `gocrane.io/memory` did not make, as measured at one time.
 */
export interface LocalUse {
  readonly cpu?: LocalCpuUse;
  readonly memory?: { readonly atMs: number; readonly bytes: number };
}

export interface LocalCpuUse {
  readonly atMs: number;
  /** Crane's figure: all use, plus idle time of exclusive CPUs, less the use of pods with `gocrane.io/cpu`. */
  readonly localMilli: number;
  /** The part of it in the shared pool; the rest is the exclusive CPUs, whole. */
  readonly poolMilli: number;
  /** Idle time of exclusive CPUs; absent = not known, all of it counts as needed. */
  readonly exclusiveIdleMilli?: number;
}

/**
 * `exclusiveCpus`: the number of exclusive CPUs at the time of the measurement. Figures older than `maxAgeMs` beside
 * the node's do not count.
 */
export function measureLocalUse(
  metrics: Metrics,
  { exclusiveCpus, maxAgeMs }: { readonly exclusiveCpus: number; readonly maxAgeMs: number },
): LocalUse {
  const cpu = read(metrics, 'cpu_total_usage');
  const memory = read(metrics, 'memory_total_usage');
  return {
    ...(cpu && { cpu: measureCpu(metrics, cpu, exclusiveCpus, maxAgeMs) }),
    ...(memory && { memory: measureMemory(metrics, memory, maxAgeMs) }),
  };
}

interface Figure {
  readonly atMs: number;
  readonly value: number;
}

function measureCpu(metrics: Metrics, total: Figure, exclusiveCpus: number, maxAgeMs: number): LocalCpuUse {
  const lent = 1000 * (readBeside(total, metrics, 'ext_res_container_cpu_total_usage', maxAgeMs) ?? 0);
  const most = 1000 * exclusiveCpus;
  const measuredIdle = exclusiveCpus === 0 ? 0 : readBeside(total, metrics, 'exclusive_cpu_idle', maxAgeMs);
  const idle = measuredIdle === undefined ? undefined : Math.min(Math.max(measuredIdle, 0), most);
  // Without the figure, the CPUs may be idle, and all use be in the shared pool.
  const exclusiveUse = idle === undefined ? 0 : most - idle;
  return {
    atMs: total.atMs,
    localMilli: Math.max(0, total.value + (idle ?? most) - lent),
    poolMilli: Math.max(0, total.value - exclusiveUse - lent),
    ...(idle !== undefined && { exclusiveIdleMilli: idle }),
  };
}

function measureMemory(metrics: Metrics, total: Figure, maxAgeMs: number): { atMs: number; bytes: number } {
  const lent = readBeside(total, metrics, 'ext_res_container_mem_total_usage', maxAgeMs) ?? 0;
  return { atMs: total.atMs, bytes: Math.max(0, total.value - lent) };
}

/** The sum of all series of a metric, and the time of the oldest. */
function read(metrics: Metrics, name: string): Figure | undefined {
  const series = metrics.get(name) ?? [];
  if (series.length === 0) return undefined;
  const value = sum(series.map((each) => each.value));
  return Number.isFinite(value) ? { atMs: Math.min(...series.map(({ atMs }) => atMs)), value } : undefined;
}

/** The same of a metric that is as new as the other; a negative one is none. */
function readBeside({ atMs }: Figure, metrics: Metrics, name: string, maxAgeMs: number): number | undefined {
  const figure = read(metrics, name);
  return figure && Math.abs(figure.atMs - atMs) <= maxAgeMs && figure.value >= 0 ? figure.value : undefined;
}
