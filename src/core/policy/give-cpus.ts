import { cpusOfNodes, takeByOptions, threadsPerCore, type AllocationStep } from '../allocation';
import { CpuSet } from '../cpuset';
import { alignRequest, type Alignment } from './align-request';
import { chooseWithinFloors } from './floors';
import { chooseMemoryNodes } from './memory-nodes';
import type { Decision, PinRequest, Snapshot } from './policy';
import { refuseForLack, refuseSplitCores } from './refusals';
import { countCpus, type Terms } from './terms';
import { keepWholeCores } from './whole-cores';

/**
 * Gives a container CPUs that it keeps.
 *
 * A container that comes back gets its own previous CPUs; else CPUs that lie idle in its pod go first, then free ones
 * of the node. Reserved CPUs are never given out. Where the topology manager names NUMA nodes, their CPUs go before all
 * others.
 */
export function giveCpus(snapshot: Snapshot, request: PinRequest, terms: Terms): Decision {
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
    chooseFrom(snapshot, request, terms, [
      { what: 'its own before', cpus: own },
      { what: 'idle in its pod', cpus: idle },
      { what: 'free on the node', cpus: reach },
    ]);
  return terms.alone ? chooseWithinFloors(snapshot, free, choose) : choose(free);
}

/** CPUs that may be taken, the ones to be preferred first. */
interface Source {
  readonly what: string;
  readonly cpus: CpuSet;
}

function chooseFrom(snapshot: Snapshot, request: PinRequest, terms: Terms, sources: readonly Source[]): Decision {
  const { topology } = snapshot;
  const usable = CpuSet.unionOf(sources.map(({ cpus }) => cpus));
  const wholeCores = terms.options.fullPcpusOnly ? keepWholeCores(topology, usable) : usable;
  if (wholeCores.size < request.count) return refuseForLack(snapshot, terms, request.count, wholeCores.size);

  const alignment: Alignment = terms.alone ? alignRequest(snapshot, request, usable) : ANYWHERE;
  if (alignment.kind === 'refuse') {
    const because = `asked for ${request.count} ${terms.word} CPUs; ${alignment.because}`;
    return { kind: 'refuse', code: 'RESOURCE_EXHAUSTED', because };
  }
  const taken = takeFrom(snapshot, terms, orderSources(snapshot, terms, sources, alignment.nodes), request.count);
  if (!taken.ok) return { kind: 'refuse', code: 'INTERNAL', because: taken.error };
  const where = alignment.nodes === undefined ? '' : `; ${alignment.because}`;
  const because = `${countCpus(terms, request.count)}, ${taken.from}${where}`;
  return pin(snapshot, request, terms, { cpus: taken.cpus, because, steps: taken.steps });
}

const ANYWHERE: Alignment = { kind: 'accept', preferred: true, because: '' };

/** With NUMA nodes to go by, what each source has there comes before what any of them has elsewhere. */
function orderSources(
  { topology }: Snapshot,
  { options }: Terms,
  sources: readonly Source[],
  nodes: CpuSet | undefined,
): Source[] {
  if (nodes === undefined) return [...sources];
  const preferred = cpusOfNodes(topology, nodes, options.alignBySocket);
  return [
    ...sources.map(({ what, cpus }) => ({ what, cpus: cpus.intersect(preferred) })),
    ...sources.map(({ what, cpus }) => ({ what, cpus: cpus.minus(preferred) })),
  ];
}

type Taken =
  | { readonly ok: true; readonly cpus: CpuSet; readonly from: string; readonly steps: readonly AllocationStep[] }
  | { readonly ok: false; readonly error: string };

/** Takes from one source after the other; with full-pcpus-only whole cores of each, then cores that only all together have. */
function takeFrom({ topology }: Snapshot, { options }: Terms, sources: readonly Source[], wanted: number): Taken {
  const all = { what: 'together', cpus: CpuSet.unionOf(sources.map(({ cpus }) => cpus)) };
  let cpus = CpuSet.empty;
  const steps: AllocationStep[] = [];
  const from: string[] = [];
  for (const source of options.fullPcpusOnly ? [...sources, all] : sources) {
    const missing = wanted - cpus.size;
    const left = source.cpus.minus(cpus);
    const candidates = options.fullPcpusOnly ? keepWholeCores(topology, left) : left;
    if (missing === 0 || candidates.isEmpty) continue;
    const result = takeByOptions(topology, options, candidates, Math.min(missing, candidates.size));
    if (!result.ok) return result;
    steps.push(...result.steps);
    from.push(`${result.cpus.size} ${source.what}`);
    cpus = cpus.union(result.cpus);
  }
  if (cpus.size !== wanted) return { ok: false, error: `only ${cpus.size} of ${wanted} CPUs could be put together` };
  return { ok: true, cpus, from: from.length === 1 ? from[0]!.replace(/^\d+ /, '') : from.join(' and '), steps };
}

function isWhole({ topology }: Snapshot, cpus: CpuSet): boolean {
  return keepWholeCores(topology, cpus).equals(cpus);
}

function pin(
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
