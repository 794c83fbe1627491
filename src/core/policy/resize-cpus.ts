import { allocateByOptions, type AllocationStep } from '../allocation';
import { CpuSet } from '../cpuset';
import type { AssignmentKind } from '../model/assignment';
import { keepWholeCores, type Unit } from '../topology';
import { alignRequest, alignToMemory, type Alignment } from './align-request';
import {
  canBeWholeCores,
  chooseFrom,
  isAligned,
  isAsNarrow,
  isUneven,
  isWholeCores,
  nameSources,
  pin,
  refuse,
} from './allocate-cpus';
import { allocateOnNodes, preferredRegion, type Taken } from './allocate-on-nodes';
import { countCpus, grantOptionsOf, type GrantOptions } from './grant-options';
import type { Decision, PinRequest, Snapshot } from './policy';
import { noWholeCores, refuseForLack, refuseSplitCores } from './refusals';
import { allows, createRoom, mostIn, type Room } from './room';

const OWN = 'its own before';
const FREE = 'free on the node';
const NONE = { what: '', cpus: CpuSet.empty };

/**
 * Decides on a container that runs on CPUs that it keeps (`own`), and asks for another number. A smaller number is a
 * part of them, a larger one adds free CPUs to them, under any option and any policy of the topology manager. CPUs that
 * lie idle in its pod are left to the containers that had them.
 */
export function resizeCpus(snapshot: Snapshot, request: PinRequest, kind: AssignmentKind): Decision {
  const { topology, settings, own } = snapshot;
  const grant = grantOptionsOf(kind, settings);
  const usable = topology.online.minus(settings.reserved).union(own.intersect(topology.online));
  if (grant.options.fullPcpusOnly && !canBeWholeCores(topology, usable, request.count))
    return refuseSplitCores(snapshot, request.count);
  return request.count <= own.size ? keepSome(snapshot, request, grant) : addTo(snapshot, request, grant);
}

/** Keeps some of the CPUs. Those that were reserved since, and those that are offline, go first. */
function keepSome(snapshot: Snapshot, request: PinRequest, grant: GrantOptions): Decision {
  const { topology, settings, own } = snapshot;
  const { count } = request;
  const usable = own.intersect(topology.online).minus(settings.reserved);
  if (usable.size >= count) return chooseFrom(snapshot, request, grant, [{ what: OWN, cpus: usable }, NONE, NONE]);
  const others = own.minus(usable);
  const byUse = [...others.intersect(topology.online), ...others.minus(topology.online)];
  const cpus = usable.union(CpuSet.of(byUse.slice(0, count - usable.size)));
  if (grant.options.fullPcpusOnly && !isWholeCores(snapshot, cpus.intersect(topology.online)))
    return refuse(grant, count, noWholeCores(count));
  return pin(snapshot, request, grant, { cpus, because: `${countCpus(grant, count)}, ${OWN}`, steps: [] });
}

/** Free CPUs that may be added, and how they are aligned with those that are kept. */
interface Attempt {
  readonly free: CpuSet;
  readonly room: Room;
  readonly alignment: Alignment;
}

/** Adds free CPUs: of the same kind of cores where they suffice and are no worse aligned. */
function addTo(whole: Snapshot, request: PinRequest, grant: GrantOptions): Decision {
  const kept = whole.own.intersect(whole.topology.online);
  const snapshot = { ...whole, own: kept };
  const all = attemptOn(snapshot, request, grant, whole.free.minus(kept));
  const most = mostIn(all.room);
  if (most < request.count) return refuseForLack(snapshot, grant, request.count, { most, room: all.room });
  const ofItsKind = whole.topology.coreKinds
    .filter(({ cpus }) => kept.isSubsetOf(cpus))
    .map(({ cpus }) => attemptOn(snapshot, request, grant, all.free.intersect(cpus)))
    .filter(({ room, alignment }) => mostIn(room) >= request.count && isAsNarrow(alignment, all.alignment));
  for (const attempt of ofItsKind) {
    const decision = take(snapshot, request, grant, attempt);
    if (decision.kind === 'pin') return decision;
  }
  return take(snapshot, request, grant, all);
}

function attemptOn(snapshot: Snapshot, request: PinRequest, grant: GrantOptions, free: CpuSet): Attempt {
  const inWholeCores = grant.options.fullPcpusOnly;
  const room = createRoom(snapshot, { held: snapshot.own, free, inWholeCores, leavesPool: grant.leavesPool });
  const ask = grant.leavesPool ? alignRequest : alignToMemory;
  return { free, room, alignment: ask(snapshot, request, room) };
}

function take(snapshot: Snapshot, request: PinRequest, grant: GrantOptions, attempt: Attempt): Decision {
  const { own: kept } = snapshot;
  const { count } = request;
  const { free, room, alignment } = attempt;
  if (alignment.kind === 'refuse') return refuse(grant, count, alignment.because);
  const { nodes } = alignment;
  const more = { free, count: count - kept.size, ...(nodes && { nodes }) };
  const near = takeMore(snapshot, grant, more, listNear(snapshot, grant));
  const isAllowed = near.ok && allows(room, kept.union(near.cpus));
  const taken = isAllowed ? near : takeMore(snapshot, grant, more, []);
  if (!taken.ok) return refuse(grant, count, taken.error);
  const cpus = kept.union(taken.cpus);
  if (!allows(room, cpus)) return refuseForLack(snapshot, grant, count, { most: mostIn(room), room });
  if (!isAligned(snapshot, grant, cpus, nodes))
    return refuse(grant, count, `${noWholeCores(count)} on NUMA nodes ${nodes!.toString()}`);
  const sources = [
    { what: OWN, cpus: kept },
    { what: FREE, cpus: free },
  ];
  const where = nodes === undefined ? '' : `; ${alignment.because}`;
  const because = `${countCpus(grant, count)}, ${nameSources(cpus, sources)}${where}`;
  return pin(snapshot, request, grant, { cpus, because, steps: taken.steps });
}

/**
 * Regions around the CPUs that are kept, in the order in which to take from them, as far as the options do not spread
 * CPUs.
 */
function listNear({ topology, own }: Snapshot, { options }: GrantOptions): readonly CpuSet[] {
  if (options.distributeCpusAcrossCores) return [];
  const around = (units: readonly Unit[]): CpuSet =>
    CpuSet.unionOf(units.filter(({ cpus }) => cpus.overlaps(own)).map(({ cpus }) => cpus));
  return [
    around(topology.cores),
    ...(options.preferAlignCpusByUncorecache ? [around(topology.uncoreCaches)] : []),
    ...(options.distributeCpusAcrossNuma ? [] : [around(topology.numaNodes)]),
  ];
}

interface More {
  readonly count: number;
  readonly free: CpuSet;
  /** NUMA nodes whose CPUs come before all others; those that are kept are on these. */
  readonly nodes?: CpuSet;
}

/**
 * Takes more CPUs: those that complete begun cores where only whole ones are given, then near ones, then the others.
 */
function takeMore(
  snapshot: Snapshot,
  grant: GrantOptions,
  { count, free, nodes }: More,
  near: readonly CpuSet[],
): Taken {
  const { topology, own } = snapshot;
  const { options } = grant;
  const { fullPcpusOnly } = options;
  let cpus = fullPcpusOnly ? missingOfCores(snapshot) : CpuSet.empty;
  if (!cpus.isSubsetOf(free) || cpus.size > count) return { ok: false, error: noWholeCores(own.size + count) };
  const steps: AllocationStep[] = [];
  const region = preferredRegion(topology, options, nodes) ?? free;
  // Cores of unlike sizes have to be composed as a whole.
  for (const each of isUneven(snapshot, grant) ? [] : near) {
    const there = free.intersect(each).intersect(region).minus(cpus);
    const candidates = fullPcpusOnly ? keepWholeCores(topology, there) : there;
    const taken = allocateByOptions(topology, options, candidates, Math.min(count - cpus.size, candidates.size));
    if (!taken.ok) return taken;
    cpus = cpus.union(taken.cpus);
    steps.push(...taken.steps);
  }
  if (cpus.size === count) return { ok: true, cpus, steps };
  const rest = [NONE, NONE, { what: FREE, cpus: free.minus(cpus) }];
  const others = allocateOnNodes(snapshot, grant, rest, { count: count - cpus.size, ...(nodes && { nodes }) });
  return others.ok ? { ok: true, cpus: cpus.union(others.cpus), steps: [...steps, ...others.steps] } : others;
}

/** CPUs of cores of which the container has a part. It got those before only whole cores were given. */
function missingOfCores({ topology, own }: Snapshot): CpuSet {
  const begun = own.minus(keepWholeCores(topology, own));
  const cores = topology.cores.filter(({ cpus }) => cpus.overlaps(begun)).map(({ cpus }) => cpus);
  return CpuSet.unionOf(cores).minus(own);
}
