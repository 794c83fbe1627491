import type { CpuSet } from '../cpuset';

/** A core, socket, NUMA node or uncore cache, with all online CPUs that it has. Never empty. */
export interface Unit {
  readonly id: number;
  readonly cpus: CpuSet;
}

/**
 * The kind of unit that a group of CPUs behind one last-level cache is; `none`: nothing is known to be shared there.
 */
const CACHE_LEVELS = ['L3', 'L2', 'cluster', 'none'] as const;

export type CacheLevel = (typeof CACHE_LEVELS)[number];

/** A level of a newer version counts as one of which nothing is known. */
export function toCacheLevel(text: unknown): CacheLevel {
  return CACHE_LEVELS.find((level) => level === text) ?? 'none';
}

export interface CacheUnit extends Unit {
  readonly level: CacheLevel;
}

/** Cores that are equally fast, by all that the kernel says. */
export interface CoreKind {
  /** `performance` for the fastest kind, `efficiency` for the slowest, `middle` (`middle-1` and so on) between them. */
  readonly name: string;
  readonly cpus: CpuSet;
}
