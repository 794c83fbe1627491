import { allocateByOptions, composeCores, listByKind, type AllocationStep } from '../allocation';
import { CpuSet } from '../cpuset';
import type { StaticPolicyOptions } from '../model/settings';
import {
  completeCores,
  completeSockets,
  coresBySize,
  hasUnlikeCores,
  cpusOfNodes,
  keepWholeCores,
  type Topology,
} from '../topology';
import type { GrantOptions } from './grant-options';
import type { Snapshot } from './policy';
import { noWholeCores } from './refusals';
import { affordable, allows, createRoom, isLimited, mostIn, type Room } from './room';
import { listWaysToLeave } from './left-to-followers';

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

/** The request of one container. */
export interface Wanted {
  readonly count: number;
  /** NUMA nodes whose CPUs come before all others; absent = none. */
  readonly nodes?: CpuSet;
  /** The room of the sources, where it was measured already. */
  readonly room?: Room;
}

/**
 * Takes CPUs in the order of the sources that puts them on the fewest cores; those of `nodes` before all others. All
 * are on cores of one kind unless only several kinds together have enough; that the nodes have enough comes first.
 */
export function allocateOnNodes(
  snapshot: Snapshot,
  grant: GrantOptions,
  sources: readonly Source[],
  wanted: Wanted,
): Taken {
  const reaches = listReaches(snapshot, grant, sources, wanted);
  const { room, ...among } = wanted;
  let taken: Taken | undefined;
  for (const reach of reaches) {
    const inReach = within(sources, reach);
    taken = allocateWithin(snapshot, grant, inReach, { ...among, room: roomOf(snapshot, grant, inReach) });
    if (taken.ok) return taken;
  }
  return allocateWithin(snapshot, grant, sources, { ...among, room: room ?? roomOf(snapshot, grant, sources) });
}

/**
 * The parts of sources that lie in each kind of cores with `count` CPUs of them, in the order in which to try. Empty
 * where all are alike.
 */
export function splitByKind(
  topology: Topology,
  sources: readonly Source[],
  count: number,
): readonly (readonly Source[])[] {
  const all = CpuSet.unionOf(sources.map(({ cpus }) => cpus));
  const held = CpuSet.unionOf(sources.slice(0, -1).map(({ cpus }) => cpus));
  const kinds = listByKind(topology, all, count, held).slice(0, -1);
  return kinds.map((kind) => within(sources, kind));
}

/** The parts of sources that lie in a region. */
export function within(sources: readonly Source[], region: CpuSet): readonly Source[] {
  return sources.map(({ what, cpus }) => ({ what, cpus: cpus.intersect(region) }));
}

/**
 * CPUs to which the choice is confined, in the order in which that is tried. Empty on a machine whose cores are alike.
 */
function listReaches(
  snapshot: Snapshot,
  { options }: GrantOptions,
  sources: readonly Source[],
  { count, nodes }: Wanted,
): readonly CpuSet[] {
  const { topology } = snapshot;
  if (topology.coreKinds.length === 0 && !(options.fullPcpusOnly && hasUnlikeCores(topology))) return [];
  const all = CpuSet.unionOf(sources.map(({ cpus }) => cpus));
  const usable = options.fullPcpusOnly ? keepWholeCores(topology, all) : all;
  const held = CpuSet.unionOf(sources.slice(0, -1).map(({ cpus }) => cpus));
  const region = preferredRegion(topology, options, nodes)?.intersect(usable);
  return [region, usable].flatMap((cpus) =>
    cpus !== undefined && cpus.size >= count ? listByKind(topology, cpus, count, held) : [],
  );
}

/** Takes the narrowest way that the floors allow, and at last the CPUs that cost the shared pool least. */
function allocateWithin(
  snapshot: Snapshot,
  grant: GrantOptions,
  sources: readonly Source[],
  { count, nodes, room }: Wanted & { readonly room: Room },
): Taken {
  const orders = listOrders(snapshot, grant, sources);
  const narrowest = (left: CpuSet): Taken =>
    orders
      .map((order) => takeFrom(snapshot, grant, preferNodes(snapshot, grant, leaveOut(order, left), nodes), count))
      .map((way) => (way.ok && !allows(room, way.cpus) ? FORBIDDEN : way))
      .reduce((best, way) => (isNarrower(snapshot, way, best) ? way : best));
  const best = narrowest(CpuSet.empty);
  if (best.ok || !isLimited(room)) return best;
  const region = preferredRegion(snapshot.topology, grant.options, nodes);
  const ways = [
    ...listWaysToLeave(room, region?.intersect(room.cpus)).map((left) => () => narrowest(left)),
    ...listWaysToLeave(room).map((left) => () => narrowest(left)),
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
 * Takes CPUs that cost the shared pool as little as possible: so a request is met whenever the room has enough. Those
 * of the region come first.
 */
export function takeSparingly(
  snapshot: Snapshot,
  grant: GrantOptions,
  room: Room,
  { count, region = room.cpus }: { readonly count: number; readonly region?: CpuSet },
): Taken {
  const ways = listWaysToLeave(room, mostIn(room, region) < count ? room.cpus : region.intersect(room.cpus));
  const [first, ...others] = ways.map((left) => () => takeCheapest(snapshot, grant, room, { count, region, left }));
  return others.reduce((taken, next) => (taken.ok ? taken : next()), first!());
}

function takeCheapest(
  { topology }: Snapshot,
  { options }: GrantOptions,
  room: Room,
  { count, region, left }: { readonly count: number; readonly region: CpuSet; readonly left: CpuSet },
): Taken {
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
 * more cores than the request needs, for as long as the container runs: so the second order takes cores that the pod
 * has a part in, completed from free CPUs, and loose halves last. With full-pcpus-only there are no halves to begin
 * with, but cores that only all sources together have; distribute-cpus-across-cores tears cores on purpose.
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
  { topology }: Snapshot,
  { options }: GrantOptions,
  sources: readonly Source[],
  nodes: CpuSet | undefined,
): readonly Source[] {
  const preferred = preferredRegion(topology, options, nodes);
  if (preferred === undefined) return sources;
  return [...within(sources, preferred), ...sources.map(({ what, cpus }) => ({ what, cpus: cpus.minus(preferred) }))];
}

/** The CPUs of the chosen nodes, or with align-by-socket of their sockets; undefined when none are chosen. */
export function preferredRegion(
  topology: Topology,
  { alignBySocket }: StaticPolicyOptions,
  nodes: CpuSet | undefined,
): CpuSet | undefined {
  if (nodes === undefined) return undefined;
  const onNodes = cpusOfNodes(topology, nodes);
  return alignBySocket ? completeSockets(topology, onNodes) : onNodes;
}

export type Taken =
  | { readonly ok: true; readonly cpus: CpuSet; readonly steps: readonly AllocationStep[] }
  | { readonly ok: false; readonly error: string };

/**
 * Takes from one source after the other; with full-pcpus-only whole cores that have exactly this number of CPUs
 * together.
 */
function takeFrom(snapshot: Snapshot, grant: GrantOptions, sources: readonly Source[], wanted: number): Taken {
  const { topology } = snapshot;
  if (!grant.options.fullPcpusOnly || !hasUnlikeCores(topology)) return takeInOrder(snapshot, grant, sources, wanted);
  const sizes = coresBySize(topology, CpuSet.unionOf(sources.map(({ cpus }) => cpus)));
  const cores = composeCores(wanted, sizes);
  if (!cores) return { ok: false, error: noWholeCores(wanted) };
  let taken: Taken = { ok: true, cpus: CpuSet.empty, steps: [] };
  for (const [i, { size, cpus }] of sizes.entries()) {
    const ofSize = sources.map((source) => ({ what: source.what, cpus: source.cpus.intersect(cpus) }));
    const more = takeInOrder(snapshot, grant, ofSize, cores[i]! * size);
    if (!more.ok) return more;
    taken = { ok: true, cpus: taken.cpus.union(more.cpus), steps: [...taken.steps, ...more.steps] };
  }
  return taken;
}

function takeInOrder(
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
  const countCores = (set: CpuSet): number => topology.cores.filter(({ cpus }) => cpus.overlaps(set)).length;
  return countCores(way.cpus) < countCores(than.cpus);
}
