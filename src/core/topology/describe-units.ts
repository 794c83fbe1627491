import type { CpuSet } from '../cpuset';
import { plural } from '../text';
import type { Topology } from './topology';
import type { CacheLevel, CacheUnit } from './unit';
import { knownCaches } from './units';

/** The groups of CPUs that share a cache: `4 uncore caches`, `2 L2 caches`, `16 clusters`, `no L3 known`. */
export function countCaches(topology: Topology): string {
  const caches = knownCaches(topology);
  if (caches.length === 0) return 'no L3 known';
  const [{ level }] = caches as [(typeof caches)[number]];
  if (caches.some((cache) => cache.level !== level)) return plural(caches.length, 'group of CPUs with a cache', 'groups of CPUs with a cache'); // prettier-ignore
  return plural(caches.length, nounOf(level));
}

/** `uncore cache 3`, `L2 cache 3`, `cluster 3`; undefined where nothing is known to be shared. */
export function nameCache({ id, level }: CacheUnit): string | undefined {
  return level === 'none' ? undefined : `${nounOf(level)} ${id}`;
}

function nounOf(level: CacheLevel): string {
  if (level === 'cluster') return level;
  return level === 'L3' ? 'uncore cache' : `${level} cache`;
}

/** `performance cores 0-11, efficiency cores 12-19`; empty where all cores are of one kind. */
export function describeKinds({ coreKinds }: Topology): string {
  return coreKinds.map(({ name, cpus }) => `${name} cores ${cpus.toString()}`).join(', ');
}

/** The kinds of the cores that have these CPUs, the fastest first; empty where all cores are of one kind. */
export function kindsOf({ coreKinds }: Topology, cpus: CpuSet): readonly string[] {
  return coreKinds.filter((kind) => kind.cpus.overlaps(cpus)).map(({ name }) => name);
}
