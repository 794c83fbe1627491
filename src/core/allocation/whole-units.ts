import { nameOfCaches } from '../topology';
import type { UnitKind } from './free-cpus';
import { noteStep, takeCpu, type Run } from './run';
import { sequenceUnits } from './sequences';

const RULES: Readonly<Record<UnitKind, { readonly rule: string; readonly unit?: string }>> = {
  numaNode: { rule: 'whole-numa-node', unit: 'NUMA node' },
  socket: { rule: 'whole-socket', unit: 'socket' },
  uncoreCache: { rule: 'whole-uncore-cache' },
  core: { rule: 'whole-core', unit: 'core' },
};

/**
 * Takes units that are wholly free and not larger than what is needed. A unit is whole by its own size, not by the
 * mean.
 */
export function takeWholeUnits(run: Run, kind: UnitKind): void {
  const { free } = run;
  const { cpus: cpusOf, ids, smallest } = free.index[kind];
  if (run.need < 1 || run.need < smallest) return;
  const before = run.taken.length;
  const wanted = run.need;
  const units: number[] = [];
  for (const unit of sequenceUnits(free, kind)) {
    const cpus = cpusOf[unit]!;
    if (free.count[kind][unit] !== cpus.length || cpus.length > run.need) continue;
    for (const cpu of cpus) takeCpu(run, cpu);
    units.push(unit);
    if (run.need < 1) break;
  }
  const { rule, unit } = RULES[kind];
  const { cacheLevels } = free.index; // not `free`: a step outlives the run
  noteStep(run, rule, before, (count) => {
    const taken = name(
      units.map((unit) => ids[unit]!),
      unit ?? nameOfCaches(units.map((unit) => cacheLevels[unit]!)),
    );
    return `${taken} wholly free: ${count} of the ${wanted} wanted`;
  });
}

function name(ids: readonly number[], noun: string): string {
  const shown = ids.length > 12 ? [...ids.slice(0, 12), '...'] : ids;
  return ids.length === 1 ? `${noun} ${shown[0]} is` : `${noun}s ${shown.join(', ')} are`;
}
