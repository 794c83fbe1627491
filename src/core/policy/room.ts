import { CpuSet } from '../cpuset';
import { keepWholeCores, type Topology } from '../topology';
import { leaveToFollowers, listWaysToLeave, type LeftToFollowers } from './left-to-followers';
import type { Snapshot } from './policy';

const { clz32, floor, max, min } = Math;

/**
 * The CPUs that one request may take, and the floors that it has to keep: the shared pool keeps a number of CPUs,
 * wherever they are, and each follower of NUMA nodes keeps one on its nodes. No CPU is left out before the choice: a
 * choice is good when the pool can spare what it costs, and the CPUs that it does not need are the ones that stay.
 */
export interface Room extends LeftToFollowers {
  readonly topology: Topology;
  /** All CPUs that may be taken; in whole cores where only these are given. */
  readonly cpus: CpuSet;
  /** The number of CPUs that the shared pool can lose. */
  readonly spare: number;
  /** The CPUs by what they cost the pool, the cheapest first. */
  readonly lots: readonly Lot[];
}

/** CPUs in units that are taken as a whole: single CPUs, or cores. */
export interface Lot {
  readonly cpus: CpuSet;
  /** CPUs of a unit. */
  readonly size: number;
  /** CPUs of a unit that the shared pool loses. */
  readonly cost: number;
}

export interface RoomOptions {
  /** CPUs that the pod of the request has already: they cost the pool nothing. */
  readonly held: CpuSet;
  readonly free: CpuSet;
  readonly inWholeCores: boolean;
  /** False for CPUs that stay in the shared pool: no floor counts. */
  readonly leavesPool: boolean;
}

/** The part of a snapshot that has the floors. */
export type Floors = Pick<Snapshot, 'topology' | 'sharedPool' | 'settings'> & {
  readonly followers: Pick<Snapshot['followers'], 'sets'>;
};

/** Measures the CPUs that a request may take. */
export function createRoom(
  { topology, sharedPool, settings, followers }: Floors,
  { held, free, inWholeCores, leavesPool }: RoomOptions,
): Room {
  const all = held.union(free);
  const cpus = inWholeCores ? keepWholeCores(topology, all) : all;
  const spare = leavesPool ? Math.max(0, sharedPool.size - settings.minSharedCpus) : Infinity;
  // With a half of a core that nobody can take, a follower has its CPU.
  const canBeTaken = (set: CpuSet): boolean => !set.isEmpty && set.isSubsetOf(free) && set.isSubsetOf(cpus);
  const sets = leavesPool ? followers.sets.filter(canBeTaken) : [];
  const costs = sets.length > 0 || free.countIn(cpus) > spare;
  const lots = !costs
    ? [{ cpus, size: 1, cost: 0 }]
    : inWholeCores
      ? listCores(topology, cpus, free)
      : listCpus(held, free);
  const sizes = inWholeCores ? [...new Set(lots.map(({ size }) => size))].sort((a, b) => a - b) : [1];
  const toFollowers = leaveToFollowers(topology, sets, { cpus, free, inWholeCores, sizes });
  return { topology, cpus, spare, lots, ...toFollowers };
}

function listCpus(held: CpuSet, free: CpuSet): Lot[] {
  const lots = [
    { cpus: held, size: 1, cost: 0 },
    { cpus: free.minus(held), size: 1, cost: 1 },
  ];
  return lots.filter(({ cpus }) => !cpus.isEmpty);
}

/** Whole cores by their size and their free CPUs; of cores whose CPUs cost the same the large ones come first. */
function listCores(topology: Topology, usable: CpuSet, free: CpuSet): Lot[] {
  const lots = new Map<string, { readonly size: number; readonly cost: number; readonly cores: CpuSet[] }>();
  for (const { cpus } of topology.cores) {
    if (!cpus.overlaps(usable)) continue;
    const [size, cost] = [cpus.size, cpus.countIn(free)];
    const lot = lots.get(`${size} ${cost}`) ?? { size, cost, cores: [] };
    lots.set(`${size} ${cost}`, lot);
    lot.cores.push(cpus);
  }
  return [...lots.values()]
    .sort((a, b) => a.cost / a.size - b.cost / b.size || b.size - a.size)
    .map(({ size, cost, cores }) => ({ size, cost, cpus: CpuSet.unionOf(cores) }));
}

/** The most CPUs that a request can get within a region. */
export function mostIn(room: Room, region: CpuSet = room.cpus): number {
  const units = room.lots.map(({ cpus, size }) => floor(cpus.countIn(region) / size));
  return max(
    ...listWaysToLeave(room, region).map((left) =>
      fill(
        room,
        room.lots.map(({ cpus }, i) => units[i]! - cpus.countIn(left)),
      ),
    ),
  );
}

/** The CPUs in a number of units of each lot, as far as the pool can spare them. */
function fill({ lots, spare }: Room, units: readonly number[]): number {
  let [most, budget] = [0, spare];
  for (const [i, { size, cost }] of lots.entries()) {
    const taken = affordable(units[i]!, cost, budget);
    most += taken * size;
    budget -= taken * cost;
  }
  return most;
}

/** The part of these units that a budget suffices for. */
export function affordable(units: number, cost: number, budget: number): number {
  return cost === 0 ? units : min(units, floor(budget / cost));
}

/**
 * The most CPUs that a request can get on each combination of NUMA nodes: bit i of the index stands for
 * `topology.numaNodes[i]`. `more`: CPUs that count on their nodes whatever the floors. For up to 16 nodes.
 */
export function tabulateMost(room: Room, more: CpuSet): Float64Array {
  const { topology, lots, ways } = room;
  const nodes = topology.numaNodes;
  const size = 2 ** nodes.length;
  const most = new Float64Array(size);
  const moreOn = nodes.map(({ cpus }) => cpus.countIn(more));
  const unitsOn = lots.map((lot) => nodes.map(({ cpus }) => cpus.countIn(lot.cpus) / lot.size));
  const waysByLot = ways.map(({ leftOn, leastHits }) => ({
    leastHits,
    lotOf: leftOn.map((left) => (left ? lots.findIndex(({ cpus }) => cpus.has(left.cpu)) : -1)),
  }));
  const sums = lots.map(() => new Float64Array(size));
  const extra = new Float64Array(size);
  const units = new Array<number>(lots.length).fill(0);
  for (let mask = 1; mask < size; mask++) {
    const lowest = 31 - clz32(mask & -mask);
    const rest = mask & (mask - 1);
    extra[mask] = extra[rest]! + moreOn[lowest]!;
    for (let i = 0; i < lots.length; i++) units[i] = sums[i]![mask] = sums[i]![rest]! + unitsOn[i]![lowest]!;
    let filled = ways.length === 0 ? fill(room, units) : 0;
    for (const { lotOf, leastHits } of waysByLot) {
      const hits = leastHits?.within(mask) ?? 0;
      addAtHits(units, lotOf, hits, -1);
      filled = max(filled, fill(room, units));
      addAtHits(units, lotOf, hits, 1);
    }
    most[mask] = extra[mask]! + filled;
  }
  return most;
}

function addAtHits(units: number[], lotOf: readonly number[], hits: number, by: 1 | -1): void {
  for (let left = hits; left !== 0; left &= left - 1) units[lotOf[31 - clz32(left & -left)]!]! += by;
}

/** True where a floor can forbid a choice of these CPUs. */
export function isLimited({ lots, followed }: Room): boolean {
  return followed.length > 0 || lots.some(({ cost }) => cost > 0);
}

/** True for CPUs of the room that leave the pool and each follower enough. */
export function allows({ lots, spare, followed }: Room, taken: CpuSet): boolean {
  const cost = lots.reduce(
    (sum, lot) => (lot.cost === 0 ? sum : sum + (lot.cpus.countIn(taken) / lot.size) * lot.cost),
    0,
  );
  return cost <= spare && !followed.some(({ cpus }) => cpus.isSubsetOf(taken));
}
