import { cpusOfNodes, takeByOptions, threadsPerCore, type AllocationStep } from '../allocation';
import { CpuSet } from '../cpuset';
import { alignRequest, type Alignment } from './align-request';
import { chooseWithinFloors, leaveForFollowers } from './floors';
import { chooseMemoryNodes } from './memory-nodes';
import type { Decision, PinRequest, Snapshot } from './policy';
import { refuseForLack, refuseSplitCores } from './refusals';
import { countCpus, type Terms } from './terms';
import { completeCores, keepWholeCores } from './whole-cores';

/**
 * Gives a container CPUs that it keeps.
 *
 * A container that comes back gets its own previous CPUs; else CPUs that lie idle in its pod go first, then free ones
 * of the node, unless that tears more cores. Reserved CPUs are never given out. Where the topology manager names NUMA nodes, their CPUs go before all
 * others. `chooseOf` chooses in another way out of what may be taken.
 */
export function giveCpus(
  snapshot: Snapshot,
  request: PinRequest,
  terms: Terms,
  chooseOf = (sources: readonly Source[]): Decision => chooseFrom(snapshot, request, terms, sources),
): Decision {
  const { topology, settings } = snapshot;
  const { fullPcpusOnly } = terms.options;
  if (fullPcpusOnly && request.count % threadsPerCore(topology) !== 0) return refuseSplitCores(snapshot, request.count);

  const grantable = topology.online.minus(settings.reserved);
  const own = snapshot.own.intersect(grantable);
  if (own.size === request.count && own.size === snapshot.own.size && (!fullPcpusOnly || isWhole(snapshot, own))) {
    return pin(snapshot, request, terms, { cpus: own, because: 'keeps the CPUs that it had before', steps: [] });
  }
  const idle = snapshot.idleInPod.intersect(grantable);
  const free = snapshot.free.minus(own).minus(idle);
  const choose = (reach: CpuSet): Decision =>
    chooseOf([
      { what: 'its own before', cpus: own },
      { what: 'idle in its pod', cpus: idle },
      { what: 'free on the node', cpus: reach },
    ]);
  return terms.alone ? chooseWithinFloors(snapshot, free, choose) : choose(free);
}

/** CPUs that may be taken, the ones to be preferred first. */
export interface Source {
  readonly what: string;
  readonly cpus: CpuSet;
}

function chooseFrom(snapshot: Snapshot, request: PinRequest, terms: Terms, sources: readonly Source[]): Decision {
  const { topology } = snapshot;
  const usable = CpuSet.unionOf(sources.map(({ cpus }) => cpus));
  const wholeCores = terms.options.fullPcpusOnly ? keepWholeCores(topology, usable) : usable;
  if (wholeCores.size < request.count) return refuseForLack(snapshot, terms, request.count, wholeCores.size);

  const alignment: Alignment = terms.alone
    ? alignRequest(snapshot, request, findAlignable(snapshot, terms, wholeCores))
    : ANYWHERE;
  if (alignment.kind === 'refuse') {
    const because = `asked for ${countCpus(terms, request.count)}; ${alignment.because}`;
    return { kind: 'refuse', code: 'RESOURCE_EXHAUSTED', because };
  }
  const { nodes } = alignment;
  const taken = takeBest(snapshot, terms, sources, { count: request.count, ...(nodes && { nodes }) });
  if (!taken.ok) return { kind: 'refuse', code: 'INTERNAL', because: taken.error };
  const where = nodes === undefined ? '' : `; ${alignment.because}`;
  const because = `${countCpus(terms, request.count)}, ${nameSources(taken.cpus, sources)}${where}`;
  return pin(snapshot, request, terms, { cpus: taken.cpus, because, steps: taken.steps });
}

/** With scope `pod` the nodes are chosen for all containers at once, so what the last one of them has to leave counts at the first. */
function findAlignable(snapshot: Snapshot, { options }: Terms, usable: CpuSet): CpuSet {
  if (snapshot.settings.topologyManager?.scope !== 'pod') return usable;
  const reach = leaveForFollowers(snapshot, usable);
  return options.fullPcpusOnly ? keepWholeCores(snapshot.topology, reach) : reach;
}

/** Takes CPUs in the order of the sources that puts them on the fewest cores; those of `nodes` before all others. */
export function takeBest(
  snapshot: Snapshot,
  terms: Terms,
  sources: readonly Source[],
  { count, nodes }: { readonly count: number; readonly nodes?: CpuSet },
): Taken {
  const ways = listOrders(snapshot, terms, sources).map((order) =>
    takeFrom(snapshot, terms, preferNodes(snapshot, terms, order, nodes), count),
  );
  return ways.reduce((best, way) => (isNarrower(snapshot, way, best) ? way : best));
}

const ANYWHERE: Alignment = { kind: 'accept', preferred: true, because: '' };

/**
 * The orders in which sources are worth trying, the one to be preferred first.
 *
 * Idle CPUs go before free ones, or they would lie blocked until the pod goes. But with halves of cores that would tear
 * more cores than the request needs, for as long as the container runs: so the second order takes cores that the pod has
 * a part in, completed from free CPUs, and loose halves last. With full-pcpus-only there are no halves to begin with, but
 * cores that only all sources together have; who wants CPUs of many cores does not mind.
 */
function listOrders({ topology }: Snapshot, { options }: Terms, sources: readonly Source[]): (readonly Source[])[] {
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

/** With NUMA nodes to go by, what each source has there comes before what any of them has elsewhere. */
function preferNodes(
  snapshot: Snapshot,
  terms: Terms,
  sources: readonly Source[],
  nodes: CpuSet | undefined,
): readonly Source[] {
  if (nodes === undefined) return preferWholeCores(snapshot, terms, sources);
  const preferred = cpusOfNodes(snapshot.topology, nodes, terms.options.alignBySocket);
  return [
    ...preferWholeCores(
      snapshot,
      terms,
      sources.map(({ what, cpus }) => ({ what, cpus: cpus.intersect(preferred) })),
    ),
    ...preferWholeCores(
      snapshot,
      terms,
      sources.map(({ what, cpus }) => ({ what, cpus: cpus.minus(preferred) })),
    ),
  ];
}

/**
 * With full-pcpus-only, cores of which a thread is offline come last: as a request is for so many whole cores, beginning with one
 * of them would tear another.
 */
function preferWholeCores({ topology }: Snapshot, { options }: Terms, sources: readonly Source[]): readonly Source[] {
  const { largest, smallest } = topology.index.core;
  if (!options.fullPcpusOnly || smallest === largest) return sources;
  const small = CpuSet.unionOf(topology.cores.flatMap(({ cpus }) => (cpus.size < largest ? [cpus] : [])));
  return [
    ...sources.map(({ what, cpus }) => ({ what, cpus: cpus.minus(small) })),
    ...sources.map(({ what, cpus }) => ({ what, cpus: cpus.intersect(small) })),
  ];
}

type Taken =
  | { readonly ok: true; readonly cpus: CpuSet; readonly steps: readonly AllocationStep[] }
  | { readonly ok: false; readonly error: string };

/** Takes from one source after the other; with full-pcpus-only whole cores of each. */
function takeFrom({ topology }: Snapshot, { options }: Terms, sources: readonly Source[], wanted: number): Taken {
  let cpus = CpuSet.empty;
  const steps: AllocationStep[] = [];
  for (const source of sources) {
    const missing = wanted - cpus.size;
    const left = source.cpus.minus(cpus);
    const candidates = options.fullPcpusOnly ? keepWholeCores(topology, left) : left;
    if (missing === 0 || candidates.isEmpty) continue;
    const result = takeByOptions(topology, options, candidates, Math.min(missing, candidates.size));
    if (!result.ok) return result;
    steps.push(...result.steps);
    cpus = cpus.union(result.cpus);
  }
  if (cpus.size !== wanted) return { ok: false, error: `only ${cpus.size} of ${wanted} CPUs could be put together` };
  return { ok: true, cpus, steps };
}

/** On fewer cores: the threads of fewer neighbours run beside it. */
function isNarrower({ topology }: Snapshot, way: Taken, than: Taken): boolean {
  if (!way.ok || !than.ok) return way.ok && !than.ok;
  const countCores = (of: CpuSet): number => topology.cores.filter(({ cpus }) => cpus.overlaps(of)).length;
  return countCores(way.cpus) < countCores(than.cpus);
}

/** `free on the node`, `1 idle in its pod and 1 free on the node` */
function nameSources(taken: CpuSet, sources: readonly Source[]): string {
  const parts = sources
    .map(({ what, cpus }) => ({ what, count: cpus.countIn(taken) }))
    .filter(({ count }) => count > 0);
  return parts.length === 1 ? parts[0]!.what : parts.map(({ count, what }) => `${count} ${what}`).join(' and ');
}

function isWhole({ topology }: Snapshot, cpus: CpuSet): boolean {
  return keepWholeCores(topology, cpus).equals(cpus);
}

/** The decision for these CPUs, with the memory nodes that go with them. */
export function pin(
  snapshot: Snapshot,
  { memoryBytes }: PinRequest,
  { kind }: Terms,
  {
    cpus,
    because,
    steps,
  }: { readonly cpus: CpuSet; readonly because: string; readonly steps: readonly AllocationStep[] },
): Decision {
  const memory = chooseMemoryNodes(snapshot, cpus, memoryBytes);
  const why = memory.because === '' ? because : `${because}; ${memory.because}`;
  return { kind: 'pin', assignmentKind: kind, cpus, mems: memory.mems, because: why, steps };
}
