import { plural } from '../text';
import { nameOfCaches } from '../topology';
import { freeCpusInCaches, type FreeCpus } from './free-cpus';
import { takePacked, type Strategy } from './packed';
import { mergeRun, startAgain, startRun, stepOf, type Run } from './run';
import { sequenceCaches, sequenceNodes, sequenceSockets } from './sequences';

/**
 * prefer-align-cpus-by-uncorecache: takes CPUs of as few uncore caches as possible. The kubelet's way of it is taken
 * wherever it reaches that number. It does not where cores are free by halves, or where caches, cores or NUMA nodes are
 * unequal: it compares means.
 */
export function takeFromFewestCaches(run: Run, strategy: Strategy): void {
  const { free, need } = run;
  const { uncoreCache, cacheLevels } = free.index;
  const freeBefore = free.count.uncoreCache.slice();
  takePacked(run, strategy, true);
  const used = countChanged(freeBefore, free.count.uncoreCache);
  if (used <= 1 || used <= countCaches(freeBefore, need)) return;

  startAgain(run);
  const caches = chooseCaches(free, need);
  const part = startRun(freeCpusInCaches(free, caches), need);
  takePacked(part, strategy, false);
  mergeRun(run, part);
  const ids = caches.map((cache) => uncoreCache.ids[cache]!).sort((a, b) => a - b);
  run.steps.push(
    stepOf('fewest-uncore-caches', part.taken, () => {
      const name = nameOfCaches(caches.map((cache) => cacheLevels[cache]!));
      return ids.length === 1
        ? `${name} ${ids[0]} has all ${plural(part.taken.length, 'CPU')} wanted`
        : `${name}s ${ids.join(', ')} are the fewest that suffice for ${part.taken.length} CPUs`;
    }),
  );
}

/**
 * As few caches as possible that have `need` free CPUs: of one NUMA node if one has them, else of one socket; with
 * whole cores rather than parts of cores; with as little left over as possible. Of equals those that come first in the
 * order of units.
 */
function chooseCaches(free: FreeCpus, need: number): readonly number[] {
  const fewest = countCaches(free.count.uncoreCache, need);
  const inWholeCores = countInWholeCores(free);
  const sizes = countCaches(inWholeCores, need) === fewest ? inWholeCores : free.count.uncoreCache;
  const all = [...sequenceCaches(free)];
  const within = (units: Iterable<number>, cachesOf: readonly Int32Array[]): number[][] =>
    [...units].map((unit) => all.filter((cache) => cachesOf[unit]!.includes(cache)));
  const { cachesOfNode, cachesOfSocket } = free.index;
  const domains = [
    () => within(sequenceNodes(free), cachesOfNode.within),
    () => within(sequenceSockets(free), cachesOfSocket.within),
  ];
  for (const listDomains of domains) {
    const chosen = listDomains()
      .map((caches) => fit(caches, sizes, need, fewest))
      .filter((caches) => caches.length > 0)
      .map((caches) => ({ caches, size: sumOf(caches, sizes) }))
      .sort((a, b) => a.size - b.size)[0];
    if (chosen) return chosen.caches;
  }
  return fit(all, sizes, need, fewest);
}

/**
 * So many of these caches that together have `need`: each is the smallest that lets those after it suffice. None when
 * they have too few.
 */
function fit(caches: readonly number[], sizes: ArrayLike<number>, need: number, count: number): readonly number[] {
  const left = [...caches].sort((a, b) => sizes[a]! - sizes[b]!);
  if (sumOf(left.slice(-count), sizes) < need) return [];
  const chosen: number[] = [];
  let missing = need;
  while (chosen.length < count) {
    const rest = count - chosen.length - 1;
    const others = sumOf(left.slice(left.length - rest), sizes);
    const at = left.findIndex((cache) => sizes[cache]! + others >= missing);
    const [cache] = left.splice(at, 1) as [number];
    chosen.push(cache);
    missing -= sizes[cache]!;
  }
  return chosen;
}

function countChanged(before: Int32Array, now: Int32Array): number {
  let changed = 0;
  for (let cache = 0; cache < before.length; cache++) if (before[cache] !== now[cache]) changed++;
  return changed;
}

/** The least number of units, of these sizes, that together have `need`; more than there are when all have too few. */
function countCaches(sizes: Int32Array, need: number): number {
  const descending = sizes.slice().sort().reverse();
  let count = 0;
  for (let left = need; left > 0; count++) left -= descending[count] ?? left;
  return count;
}

/** The free CPUs of each cache that are part of a wholly free core. */
function countInWholeCores({ index, count }: FreeCpus): Int32Array {
  const { core, uncoreCache } = index;
  const counts = new Int32Array(uncoreCache.ids.length);
  core.cpus.forEach((cpus, unit) => {
    if (count.core[unit] === cpus.length) for (const cpu of cpus) counts[uncoreCache.unitOf[cpu]!]!++;
  });
  return counts;
}

const sumOf = (caches: readonly number[], sizes: ArrayLike<number>): number =>
  caches.reduce((sum, cache) => sum + sizes[cache]!, 0);
