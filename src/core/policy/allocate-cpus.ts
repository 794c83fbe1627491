import { composeCores, type AllocationStep } from '../allocation';
import { CpuSet } from '../cpuset';
import { coresBySize, hasUnlikeCores, keepWholeCores, threadsPerCore, type Topology } from '../topology';
import { alignRequest, alignToMemory, type Alignment } from './align-request';
import { countCpus, type GrantOptions } from './grant-options';
import { chooseMemoryNodes } from './memory-nodes';
import type { Decision, PinRequest, Snapshot } from './policy';
import { noWholeCores, refuseForLack, refuseSplitCores } from './refusals';
import { mostIn, type Room } from './room';
import { allocateOnNodes, preferredRegion, roomOf, splitByKind, type Source } from './allocate-on-nodes';

/**
 * Allocates CPUs that one container keeps.
 *
 * A container that comes back gets its own previous CPUs, also parts of cores that it had before full-pcpus-only was
 * set, as in the kubelet since 1.37; else CPUs that lie idle in its pod go first, then free ones of the node, unless
 * that tears more cores. Reserved CPUs are never allocated. Where the topology manager names NUMA nodes, their CPUs go
 * before all others. `chooseOf` replaces the choice among the CPUs that may be taken.
 */
export function allocateCpus(
  snapshot: Snapshot,
  request: PinRequest,
  grant: GrantOptions,
  chooseOf = (sources: readonly Source[]): Decision => chooseFrom(snapshot, request, grant, sources),
): Decision {
  const { topology, settings } = snapshot;
  const { fullPcpusOnly } = grant.options;
  const grantable = topology.online.minus(settings.reserved);
  const own = snapshot.own.intersect(grantable);
  if (own.size === request.count && own.size === snapshot.own.size) {
    return pin(snapshot, request, grant, { cpus: own, because: 'keeps the CPUs that it had before', steps: [] });
  }
  if (fullPcpusOnly && !canBeWholeCores(topology, grantable, request.count))
    return refuseSplitCores(snapshot, request.count);
  const idle = snapshot.idleInPod.intersect(grantable);
  return chooseOf([
    { what: 'its own before', cpus: own },
    { what: 'idle in its pod', cpus: idle },
    { what: 'free on the node', cpus: snapshot.free.minus(own).minus(idle) },
  ]);
}

/** Chooses among the CPUs that may be taken: aligned, on cores of one kind, and packed, as far as they allow. */
export function chooseFrom(
  snapshot: Snapshot,
  request: PinRequest,
  grant: GrantOptions,
  sources: readonly Source[],
): Decision {
  const room = roomOf(snapshot, grant, sources);
  const most = mostIn(room);
  if (most < request.count) return refuseForLack(snapshot, grant, request.count, { most, room });

  if (isUneven(snapshot, grant) && !composeCores(request.count, coresBySize(snapshot.topology, room.cpus)))
    return refuse(grant, request.count, noWholeCores(request.count));

  const all = align(snapshot, request, grant, { sources, room });
  for (const attempt of listOfOneKind(snapshot, request, grant, all)) {
    const decision = take(snapshot, request, grant, attempt);
    if (decision.kind === 'pin') return decision;
  }
  return take(snapshot, request, grant, all);
}

/** Sources to take from, and the NUMA nodes of theirs that the topology manager chose. */
interface Attempt {
  readonly sources: readonly Source[];
  readonly room: Room;
  readonly alignment: Alignment;
}

function align(
  snapshot: Snapshot,
  request: PinRequest,
  grant: GrantOptions,
  attempt: Pick<Attempt, 'sources' | 'room'>,
): Attempt {
  const ask = grant.leavesPool ? alignRequest : alignToMemory;
  return { ...attempt, alignment: ask(snapshot, request, attempt.room) };
}

/**
 * The attempts on the cores of one kind that are no worse aligned than the one on all, in the order in which to try
 * them.
 */
function listOfOneKind(snapshot: Snapshot, request: PinRequest, grant: GrantOptions, all: Attempt): readonly Attempt[] {
  return splitByKind(snapshot.topology, all.sources, request.count)
    .map((sources) => ({ sources, room: roomOf(snapshot, grant, sources) }))
    .filter(({ room }) => mostIn(room) >= request.count)
    .map((attempt) => align(snapshot, request, grant, attempt))
    .filter(({ alignment }) => isAsNarrow(alignment, all.alignment));
}

/** True for an alignment that is no worse than another. */
export function isAsNarrow(alignment: Alignment, than: Alignment): boolean {
  if (alignment.kind === 'refuse' || than.kind === 'refuse') return false;
  return alignment.preferred || (!than.preferred && (alignment.nodes?.size ?? 0) <= (than.nodes?.size ?? 0));
}

function take(snapshot: Snapshot, request: PinRequest, grant: GrantOptions, attempt: Attempt): Decision {
  const { count } = request;
  const { sources, room, alignment } = attempt;
  if (alignment.kind === 'refuse') return refuse(grant, count, alignment.because);
  const { nodes } = alignment;
  const taken = allocateOnNodes(snapshot, grant, sources, { count, room, ...(nodes && { nodes }) });
  if (!taken.ok)
    return isUneven(snapshot, grant)
      ? refuse(grant, count, taken.error)
      : { kind: 'refuse', code: 'INTERNAL', because: taken.error };
  if (!isAligned(snapshot, grant, taken.cpus, nodes))
    return refuse(grant, count, `${noWholeCores(count)} on NUMA nodes ${nodes!.toString()}`);
  const where = nodes === undefined ? '' : `; ${alignment.because}`;
  const because = `${countCpus(grant, count)}, ${nameSources(taken.cpus, sources)}${where}`;
  return pin(snapshot, request, grant, { cpus: taken.cpus, because, steps: taken.steps });
}

/** Cores of some sizes that this node can give have exactly this number of CPUs together, if they were free. */
export function canBeWholeCores(topology: Topology, grantable: CpuSet, count: number): boolean {
  if (!hasUnlikeCores(topology)) return count % threadsPerCore(topology) === 0;
  const sizes = coresBySize(topology, grantable).map(({ size }) => ({ size, cores: count }));
  return composeCores(count, sizes) !== undefined;
}

/** Whole cores are given, and not all have as many CPUs. */
export function isUneven({ topology }: Snapshot, { options }: GrantOptions): boolean {
  return options.fullPcpusOnly && hasUnlikeCores(topology);
}

/** False where a strict topology manager chose nodes, and whole cores of unlike sizes did not fit there. */
export function isAligned(snapshot: Snapshot, grant: GrantOptions, cpus: CpuSet, nodes: CpuSet | undefined): boolean {
  const { topology, settings } = snapshot;
  const { policy } = settings.topologyManager ?? {};
  const isStrict = policy === 'restricted' || policy === 'single-numa-node';
  if (!isStrict || !isUneven(snapshot, grant)) return true;
  const region = preferredRegion(topology, grant.options, nodes);
  return region === undefined || cpus.isSubsetOf(region);
}

/** A refusal for lack of CPUs that suit. */
export function refuse(grant: GrantOptions, count: number, why: string): Decision {
  return { kind: 'refuse', code: 'RESOURCE_EXHAUSTED', because: `asked for ${countCpus(grant, count)}; ${why}` };
}

/** `free on the node`, `1 idle in its pod and 1 free on the node` */
export function nameSources(taken: CpuSet, sources: readonly Source[]): string {
  const parts = sources
    .map(({ what, cpus }) => ({ what, count: cpus.countIn(taken) }))
    .filter(({ count }) => count > 0);
  return parts.length === 1 ? parts[0]!.what : parts.map(({ count, what }) => `${count} ${what}`).join(' and ');
}

/** True for CPUs that are whole cores. */
export function isWholeCores({ topology }: Snapshot, cpus: CpuSet): boolean {
  return keepWholeCores(topology, cpus).equals(cpus);
}

/** The decision for these CPUs, with the memory nodes that go with them. */
export function pin(
  snapshot: Snapshot,
  request: PinRequest,
  { kind }: GrantOptions,
  {
    cpus,
    because,
    steps,
  }: { readonly cpus: CpuSet; readonly because: string; readonly steps: readonly AllocationStep[] },
): Extract<Decision, { readonly kind: 'pin' }> {
  const { mems, because: besides } = chooseMemoryNodes(snapshot, cpus, request);
  return { kind: 'pin', assignmentKind: kind, cpus, mems, because, besides, steps };
}
