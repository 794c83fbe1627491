import { allocateByOptions, type AllocationStep } from '../allocation';
import { CpuSet } from '../cpuset';
import { completeCores, completeSockets, cpusOfNodes, keepWholeCores } from '../topology';
import type { GrantOptions } from './grant-options';
import type { Snapshot } from './policy';
import { affordable, allows, createRoom, isLimited, leaveIn, mostIn, type Room } from './room';

/** CPUs that may be taken, the ones to be preferred first. */
export interface Source {
  readonly what: string;
  readonly cpus: CpuSet;
}

/** The room that sources give: the last one has the free CPUs. */
export function roomOf(snapshot: Snapshot, { options, leavesPool }: GrantOptions, sources: readonly Source[]): Room {
  const held = CpuSet.unionOf(sources.slice(0, -1).map(({ cpus }) => cpus));
  return createRoom(snapshot, { held, free: sources.at(-1)!.cpus, inWholeCores: options.fullPcpusOnly, leavesPool });
}

/**
 * Takes CPUs in the order of the sources that puts them on the fewest cores; those of `nodes` before all others. Where the floors
 * forbid that, it takes others, and at last those that cost the shared pool least.
 */
export function allocateOnNodes(
  snapshot: Snapshot,
  grant: GrantOptions,
  sources: readonly Source[],
  {
    count,
    nodes,
    room = roomOf(snapshot, grant, sources),
  }: { readonly count: number; readonly nodes?: CpuSet; readonly room?: Room },
): Taken {
  const orders = listOrders(snapshot, grant, sources);
  const narrowest = (left: CpuSet): Taken =>
    orders
      .map((order) => takeFrom(snapshot, grant, preferNodes(snapshot, grant, leaveOut(order, left), nodes), count))
      .map((way) => (way.ok && !allows(room, way.cpus) ? FORBIDDEN : way))
      .reduce((best, way) => (isNarrower(snapshot, way, best) ? way : best));
  const best = narrowest(CpuSet.empty);
  if (best.ok || !isLimited(room)) return best;
  const region = preferredRegion(snapshot, grant, nodes);
  const ways = [
    () => narrowest(leaveIn(room, region?.intersect(room.cpus))),
    () => narrowest(leaveIn(room)),
    () => takeSparingly(snapshot, grant, room, { count, ...(region && { region }) }),
    () => takeSparingly(snapshot, grant, room, { count }),
  ];
  for (const way of ways) {
    const taken = way();
    if (taken.ok) return taken;
  }
  return best;
}

const FORBIDDEN: Taken = { ok: false, error: 'the shared pool and the followers of NUMA nodes would keep too few' };

function leaveOut(sources: readonly Source[], left: CpuSet): readonly Source[] {
  return left.isEmpty ? sources : sources.map(({ what, cpus }) => ({ what, cpus: cpus.minus(left) }));
}

/**
 * Takes CPUs that cost the shared pool as little as possible: so a request is met whenever the room has enough. Those of the region come
 * first.
 */
export function takeSparingly(
  { topology }: Snapshot,
  { options }: GrantOptions,
  room: Room,
  { count, region = room.cpus }: { readonly count: number; readonly region?: CpuSet },
): Taken {
  const left = leaveIn(room, mostIn(room, region) < count ? room.cpus : region.intersect(room.cpus));
  const parts = [
    ...room.lots.map((lot) => ({ ...lot, cpus: lot.cpus.intersect(region) })),
    ...room.lots.map((lot) => ({ ...lot, cpus: lot.cpus.minus(region) })),
  ];
  let [cpus, budget] = [CpuSet.empty, room.spare];
  const steps: AllocationStep[] = [];
  for (const lot of parts) {
    const rest = lot.cpus.minus(left);
    const candidates = lot.size > 1 ? keepWholeCores(topology, rest) : rest;
    const units = affordable(Math.floor(candidates.size / lot.size), lot.cost, budget);
    const wanted = Math.min(units, Math.floor((count - cpus.size) / lot.size));
    if (wanted === 0) continue;
    const result = allocateByOptions(topology, options, candidates, wanted * lot.size);
    if (!result.ok) return result;
    steps.push(...result.steps);
    cpus = cpus.union(result.cpus);
    budget -= wanted * lot.cost;
  }
  return checkTaken(cpus, steps, count);
}

/**
 * The orders in which sources are worth trying, the one to be preferred first.
 *
 * Idle CPUs go before free ones, or they would lie blocked until the pod goes. But with halves of cores that would tear
 * more cores than the request needs, for as long as the container runs: so the second order takes cores that the pod has
 * a part in, completed from free CPUs, and loose halves last. With full-pcpus-only there are no halves to begin with, but
 * cores that only all sources together have; distribute-cpus-across-cores tears cores on purpose.
 */
function listOrders(
  { topology }: Snapshot,
  { options }: GrantOptions,
  sources: readonly Source[],
): (readonly Source[])[] {
  const all = { what: 'together', cpus: CpuSet.unionOf(sources.map(({ cpus }) => cpus)) };
  if (options.fullPcpusOnly) return [[...sources, all]];
  const [own, idle, free] = sources as [Source, Source, Source];
  const held = own.cpus.union(idle.cpus);
  if (held.isEmpty || options.distributeCpusAcrossCores) return [sources];
  const byCore = [
    { what: 'idle cores', cpus: keepWholeCores(topology, idle.cpus) },
    { what: 'completed cores', cpus: completeCores(topology, held, all.cpus) },
  ];
  return [sources, [own, ...byCore, free, idle]];
}

/** When NUMA nodes are chosen, the CPUs of all sources there come before those elsewhere. */
function preferNodes(
  snapshot: Snapshot,
  grant: GrantOptions,
  sources: readonly Source[],
  nodes: CpuSet | undefined,
): readonly Source[] {
  const preferred = preferredRegion(snapshot, grant, nodes);
  if (preferred === undefined) return preferWholeCores(snapshot, grant, sources);
  return [
    ...preferWholeCores(
      snapshot,
      grant,
      sources.map(({ what, cpus }) => ({ what, cpus: cpus.intersect(preferred) })),
    ),
    ...preferWholeCores(
      snapshot,
      grant,
      sources.map(({ what, cpus }) => ({ what, cpus: cpus.minus(preferred) })),
    ),
  ];
}

/** The CPUs of the chosen nodes, or of their sockets; undefined when none are chosen. */
function preferredRegion(
  { topology }: Snapshot,
  { options }: GrantOptions,
  nodes: CpuSet | undefined,
): CpuSet | undefined {
  if (nodes === undefined) return undefined;
  const onNodes = cpusOfNodes(topology, nodes);
  return options.alignBySocket ? completeSockets(topology, onNodes) : onNodes;
}

/**
 * With full-pcpus-only, cores of which a thread is offline come last: as a request is for so many whole cores, beginning with one
 * of them would tear another.
 */
function preferWholeCores(
  { topology }: Snapshot,
  { options }: GrantOptions,
  sources: readonly Source[],
): readonly Source[] {
  const { largest, smallest } = topology.index.core;
  if (!options.fullPcpusOnly || smallest === largest) return sources;
  const small = CpuSet.unionOf(topology.cores.flatMap(({ cpus }) => (cpus.size < largest ? [cpus] : [])));
  return [
    ...sources.map(({ what, cpus }) => ({ what, cpus: cpus.minus(small) })),
    ...sources.map(({ what, cpus }) => ({ what, cpus: cpus.intersect(small) })),
  ];
}

export type Taken =
  | { readonly ok: true; readonly cpus: CpuSet; readonly steps: readonly AllocationStep[] }
  | { readonly ok: false; readonly error: string };

/** Takes from one source after the other; with full-pcpus-only whole cores of each. */
function takeFrom(
  { topology }: Snapshot,
  { options }: GrantOptions,
  sources: readonly Source[],
  wanted: number,
): Taken {
  let cpus = CpuSet.empty;
  const steps: AllocationStep[] = [];
  for (const source of sources) {
    const missing = wanted - cpus.size;
    const left = source.cpus.minus(cpus);
    const candidates = options.fullPcpusOnly ? keepWholeCores(topology, left) : left;
    if (missing === 0 || candidates.isEmpty) continue;
    const result = allocateByOptions(topology, options, candidates, Math.min(missing, candidates.size));
    if (!result.ok) return result;
    steps.push(...result.steps);
    cpus = cpus.union(result.cpus);
  }
  return checkTaken(cpus, steps, wanted);
}

function checkTaken(cpus: CpuSet, steps: readonly AllocationStep[], wanted: number): Taken {
  if (cpus.size !== wanted) return { ok: false, error: `only ${cpus.size} of ${wanted} CPUs could be put together` };
  return { ok: true, cpus, steps };
}

/** Fewer cores are better: fewer other containers run on their sibling threads. */
function isNarrower({ topology }: Snapshot, way: Taken, than: Taken): boolean {
  if (!way.ok || !than.ok) return way.ok && !than.ok;
  const countCores = (of: CpuSet): number => topology.cores.filter(({ cpus }) => cpus.overlaps(of)).length;
  return countCores(way.cpus) < countCores(than.cpus);
}
