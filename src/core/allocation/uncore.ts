import { plural } from '../text';
import { nameCache } from '../topology';
import { noteStep, takeCpu, type Run } from './run';
import { sequenceCaches } from './sequences';
import { takeWholeUnits } from './whole-units';

/**
 * prefer-align-cpus-by-uncorecache: takes whole caches as long as they fit, then the rest from one cache alone, if one
 * has it in its lowest cores. It is a preference: the steps that follow take the CPUs that it did not find.
 */
export function takeFromCaches(run: Run): void {
  if (run.need < 1) return;
  const { free } = run;
  const { cpuIds, uncoreCache, cacheLevels, core } = free.index;
  const caches = [...sequenceCaches(free)];
  if (run.need >= Math.floor(cpuIds.length / uncoreCache.ids.length)) takeWholeUnits(run, 'uncoreCache');
  if (run.need < 1) return;

  const threadsPerCore = Math.floor(cpuIds.length / core.ids.length);
  const maxCores = Math.ceil(run.need / threadsPerCore);
  for (const cache of caches) {
    if (free.count.uncoreCache[cache]! < run.need) continue;
    const cpus = freeCpusOfLowestCores(run, cache, maxCores);
    // For an odd count at most one thread too many is left out.
    if (run.need % 2 === 1 && threadsPerCore > 1 && cpus.length > run.need) cpus.pop();
    if (cpus.length !== run.need) continue;

    const before = run.taken.length;
    for (const cpu of cpus) takeCpu(run, cpu);
    noteStep(
      run,
      'uncore-cache',
      before,
      (count) =>
        `${nameCache({ id: uncoreCache.ids[cache]!, level: cacheLevels[cache]! })} has all ${plural(count, 'CPU')} still wanted`,
    );
    return;
  }
}

/** Free CPUs of the lowest cores that have a free CPU in the cache, of at most `maxCores` cores; ascending. */
function freeCpusOfLowestCores({ free }: Run, cache: number, maxCores: number): number[] {
  const { core, uncoreCache } = free.index;
  const cores: number[] = [];
  for (const cpu of uncoreCache.cpus[cache]!) {
    if (free.isFree[cpu] === 1) cores.push(core.unitOf[cpu]!);
  }
  const lowest = [...new Set(cores)].sort((a, b) => a - b).slice(0, maxCores);
  return lowest
    .flatMap((unit) => Array.from(core.cpus[unit]!).filter((cpu) => free.isFree[cpu] === 1))
    .sort((a, b) => a - b);
}
