import { oncePer } from '../once-per';
import type { Nesting, UnitIndex } from '../topology';
import { orderUnits, type FreeCpus, type UnitKind } from './free-cpus';

/*
 * The order in which units are tried. Those with the fewest free CPUs come first, so that broken units are used up
 * before whole ones are broken. Inner units are tried within their outer unit, so that neighbours are taken together.
 * Outermost are NUMA nodes, or sockets where a socket has several nodes.
 *
 * CPUs may be taken during the iteration: each outer unit is read when its turn comes, and the CPUs taken before lie in
 * others.
 */

/** NUMA nodes with free CPUs. */
export function sequenceNodes(free: FreeCpus): Iterable<number> {
  const { index } = free;
  if (index.numaFirst) return orderUnits(free, 'numaNode', everyUnit(index.numaNode));
  return sequenceWithin(free, sequenceSockets(free), 'socket', index.nodesOfSocket, 'numaNode');
}

/** Sockets with free CPUs. */
export function sequenceSockets(free: FreeCpus): Iterable<number> {
  const { index } = free;
  if (!index.numaFirst) return orderUnits(free, 'socket', everyUnit(index.socket));
  return sequenceWithin(free, sequenceNodes(free), 'numaNode', index.socketsOfNode, 'socket');
}

/** Cores with free CPUs. */
export function sequenceCores(free: FreeCpus): Iterable<number> {
  const { index } = free;
  if (index.numaFirst) return sequenceWithin(free, sequenceSockets(free), 'socket', index.coresOfSocket, 'core');
  return sequenceWithin(free, sequenceNodes(free), 'numaNode', index.coresOfNode, 'core');
}

/** Uncore caches with free CPUs. */
export function sequenceCaches(free: FreeCpus): Iterable<number> {
  return sequenceWithin(free, sequenceNodes(free), 'numaNode', free.index.cachesOfNode, 'uncoreCache');
}

/** Units of any kind that are larger than a core, or cores. */
export function sequenceUnits(free: FreeCpus, kind: UnitKind): Iterable<number> {
  switch (kind) {
    case 'numaNode':
      return sequenceNodes(free);
    case 'socket':
      return sequenceSockets(free);
    case 'core':
      return sequenceCores(free);
    case 'uncoreCache':
      return sequenceCaches(free);
  }
}

/** An inner unit that lies in two outer ones comes with the first of them. */
function sequenceWithin(
  free: FreeCpus,
  outerUnits: Iterable<number>,
  outerKind: UnitKind,
  nesting: Nesting,
  kind: UnitKind,
): Iterable<number> {
  return nesting.crosses
    ? sequenceCrossing(free, outerUnits, outerKind, nesting, kind)
    : sequenceNested(free, outerUnits, nesting, kind);
}

function* sequenceNested(
  free: FreeCpus,
  outerUnits: Iterable<number>,
  { within }: Nesting,
  kind: UnitKind,
): Iterable<number> {
  for (const outer of outerUnits) for (const unit of orderUnits(free, kind, within[outer]!)) yield unit;
}

/** CPUs that are taken from one outer unit may lie in another here, so all are read beforehand. */
function sequenceCrossing(
  free: FreeCpus,
  outerUnits: Iterable<number>,
  outerKind: UnitKind,
  { within }: Nesting,
  kind: UnitKind,
): Iterable<number> {
  const outerOf = free.index[outerKind].unitOf;
  const cpusOf = free.index[kind].cpus;
  const sequence = new Set<number>();
  for (const outer of outerUnits) {
    const inside = within[outer]!.filter((unit) =>
      cpusOf[unit]!.some((cpu) => free.isFree[cpu] === 1 && outerOf[cpu] === outer),
    );
    for (const unit of orderUnits(free, kind, inside)) sequence.add(unit);
  }
  return sequence;
}

const everyUnit = oncePer(({ ids }: UnitIndex) => Array.from(ids, (_, unit) => unit));
