import type { CpuSet } from '../cpuset';
import { plural } from '../text';
import type { Topology } from './topology';
import type { CacheLevel, CacheUnit } from './unit';
import { knownCaches } from './units';

/** The groups of CPUs that share a cache: `4 uncore caches`, `2 L2 caches`, `16 clusters`, `no L3 known`. */
export function countCaches(topology: Topology): string {
  const caches = knownCaches(topology);
  if (caches.length === 0) return 'no L3 known';
  return plural(caches.length, nameOfCaches(caches.map(({ level }) => level)));
}

const NAMES: Readonly<Record<CacheLevel, string>> = {
  L3: 'uncore cache',
  L2: 'L2 cache',
  cluster: 'cluster',
  none: 'CPU group',
};

/**
 * The name of one of these groups of CPUs: `uncore cache`, `L2 cache`, `cluster`; `CPU group` where they differ or
 * share nothing known.
 */
export function nameOfCaches(levels: readonly CacheLevel[]): string {
  const [first = 'none'] = levels;
  return NAMES[levels.every((level) => level === first) ? first : 'none'];
}

/** `uncore cache 3`, `L2 cache 3`, `cluster 3`. */
export function nameCache({ id, level }: Pick<CacheUnit, 'id' | 'level'>): string {
  return `${NAMES[level]} ${id}`;
}

/** `performance cores 0-11, efficiency cores 12-19`; empty where all cores are of one kind. */
export function describeKinds({ coreKinds }: Topology): string {
  return coreKinds.map(({ name, cpus }) => `${name} cores ${cpus.toString()}`).join(', ');
}

/** The kinds of the cores that have these CPUs, the fastest first; empty where all cores are of one kind. */
export function kindsOf({ coreKinds }: Topology, cpus: CpuSet): readonly string[] {
  return coreKinds.filter((kind) => kind.cpus.overlaps(cpus)).map(({ name }) => name);
}
