import type { CpuSet } from '../../core/cpuset';

/** CPUs that share a unit, and the number that the kernel has for it. */
export interface Group {
  readonly cpus: CpuSet;
  /** Undefined where the kernel has none. */
  readonly id: number | undefined;
}

/**
 * The number of each group: the kernel's if these differ for all groups, so that it stays when a CPU goes offline; else
 * the lowest online CPU of each. Same order as the groups.
 */
export function numberGroups(groups: readonly Group[]): readonly number[] {
  const distinct = new Set(groups.map(({ id }) => id));
  const usesIds = distinct.size === groups.length && !distinct.has(undefined);
  return groups.map(({ id, cpus }) => (usesIds ? id! : cpus.first!));
}
