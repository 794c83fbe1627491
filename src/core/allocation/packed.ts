import type { UnitKind } from './free-cpus';
import { noteStep, takeCpu, type Run } from './run';
import { sequenceCores, sequenceSockets } from './sequences';
import { takeFromCaches } from './uncore';
import { takeWholeUnits } from './whole-units';
import { plural } from '../text';

export type Strategy = 'packed' | 'spread';

/**
 * The kubelet's packed algorithm: whole NUMA nodes and sockets as long as they fit, then (if asked for) few uncore
 * caches, then whole cores, then single CPUs; always from where the fewest are free. `spread` leaves the whole cores
 * out.
 *
 * Takes what is needed, or as much as there is.
 */
export function takePacked(run: Run, strategy: Strategy, preferAlignByUncoreCache: boolean): void {
  const [outer, inner]: [UnitKind, UnitKind] = run.free.index.numaFirst
    ? ['numaNode', 'socket']
    : ['socket', 'numaNode'];
  takeWholeUnits(run, outer);
  takeWholeUnits(run, inner);
  if (preferAlignByUncoreCache) takeFromCaches(run);
  if (strategy === 'spread') {
    takeSpreadCpus(run);
    return;
  }
  takeWholeUnits(run, 'core');
  takeSingleCpus(run);
}

function takeSingleCpus(run: Run): void {
  if (run.need < 1) return;
  const { free } = run;
  const before = run.taken.length;
  for (const core of sequenceCores(free)) {
    for (const cpu of free.index.core.cpus[core]!) {
      if (run.need < 1) break;
      if (free.isFree[cpu] === 1) takeCpu(run, cpu);
    }
    if (run.need < 1) break;
  }
  noteStep(
    run,
    'single-cpu',
    before,
    (count) => `no whole core fits: ${plural(count, 'CPU')} of cores where the fewest are free`,
  );
}

function takeSpreadCpus(run: Run): void {
  if (run.need < 1) return;
  const { free } = run;
  const before = run.taken.length;
  for (const socket of sequenceSockets(free)) {
    for (const cpu of free.index.socket.cpus[socket]!) {
      if (run.need < 1) break;
      if (free.isFree[cpu] === 1) takeCpu(run, cpu);
    }
    if (run.need < 1) break;
  }
  noteStep(
    run,
    'spread-cpu',
    before,
    (count) => `${plural(count, 'CPU')} in numeric order: cores are not kept together`,
  );
}
