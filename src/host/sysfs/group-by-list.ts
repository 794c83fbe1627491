import { CpuSet } from '../../core/cpuset';
import type { Ignored } from './ignored';
import { parseList, readOptional } from './read-file';

/** The files in which the kernel lists the CPUs that share a unit with one CPU. */
export interface Listing {
  /** The names of such a unit in a sentence: `a socket`. */
  readonly what: string;
  /** Paths in the order in which they are tried; none for a CPU that has no such unit. */
  readonly pathsOf: (cpu: number) => readonly string[];
}

export interface Listed {
  readonly cpus: CpuSet;
  /** The file that lists them. */
  readonly path: string;
}

/**
 * Groups CPUs by the kernel's own lists. The list of one CPU names all others, so that these need not be read. CPUs
 * without a list are in no group. A list that contradicts an earlier one, lacks its own CPU or can't be read counts for
 * the CPUs that are left.
 */
export function groupByList(cpus: CpuSet, { what, pathsOf }: Listing, ignored: Ignored): readonly Listed[] {
  const groups: Listed[] = [];
  const grouped = new Set<number>();
  for (const cpu of cpus) {
    if (grouped.has(cpu)) continue;
    const listed = readList(cpu, cpus, pathsOf(cpu), ignored);
    if (!listed) continue;
    const taken = CpuSet.of([...listed.cpus].filter((other) => grouped.has(other)));
    const group = listed.cpus.minus(taken);
    if (!taken.isEmpty)
      ignored.add(
        `${listed.path}: read "${listed.cpus.toString()}"; a CPU has one ${what} only, and ${taken.toString()} share another`,
        `CPUs ${group.toString()} are taken to share one`,
      );
    groups.push({ path: listed.path, cpus: group });
    for (const member of group) grouped.add(member);
  }
  return groups;
}

function readList(cpu: number, cpus: CpuSet, paths: readonly string[], ignored: Ignored): Listed | undefined {
  for (const path of paths) {
    const list = ignored.attempt(
      () => {
        const text = readOptional(path);
        return text === undefined ? undefined : parseList(path, text).intersect(cpus);
      },
      undefined,
      'it is not used',
    );
    if (!list) continue;
    if (list.has(cpu)) return { path, cpus: list };
    ignored.add(`${path}: read "${list.toString()}"; the list must contain CPU ${cpu} itself`, 'it is not used');
  }
  return undefined;
}
