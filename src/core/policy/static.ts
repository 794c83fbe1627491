import { cpusOfNodes, takeByOptions, threadsPerCore, type AllocationStep } from '../allocation';
import { CpuSet } from '../cpuset';
import { alignRequest } from './align-request';
import { chooseMemoryNodes } from './memory-nodes';
import type { Decision, PinRequest, Policy, Snapshot } from './policy';
import { refuseForLack, refuseSplitCores } from './refusals';
import { keepWholeCores } from './whole-cores';

/**
 * The kubelet's static policy: a container of a Guaranteed pod that asks for whole CPUs gets them alone.
 *
 * A container that comes back gets its own previous CPUs; else CPUs that lie idle in its pod go first, then free ones
 * of the node. Reserved CPUs are never given out, and the shared pool never falls below its floor. Where the topology
 * manager names NUMA nodes, their CPUs go before all others.
 */
export const staticPolicy: Policy = (snapshot, request) => {
  const { settings, topology } = snapshot;
  const { fullPcpusOnly } = settings.options;
  if (fullPcpusOnly && request.count % threadsPerCore(topology) !== 0) return refuseSplitCores(snapshot, request.count);

  const grantable = topology.online.minus(settings.reserved);
  const own = snapshot.own.intersect(grantable);
  if (own.size === request.count && own.size === snapshot.own.size && (!fullPcpusOnly || isWhole(snapshot, own))) {
    return pin(snapshot, request, own, 'keeps the CPUs that it had before', []);
  }

  const idle = snapshot.idleInPod.intersect(grantable);
  const sources: readonly Source[] = [
    { what: 'its own before', cpus: own },
    { what: 'idle in its pod', cpus: idle },
    { what: 'free on the node', cpus: withinFloor(snapshot, own.union(idle)) },
  ];
  const usable = CpuSet.unionOf(sources.map(({ cpus }) => cpus));
  const wholeCores = fullPcpusOnly ? keepWholeCores(topology, usable) : usable;
  if (wholeCores.size < request.count) return refuseForLack(snapshot, request.count, wholeCores.size);

  const alignment = alignRequest(snapshot, request, usable);
  if (alignment.kind === 'refuse') {
    return {
      kind: 'refuse',
      code: 'RESOURCE_EXHAUSTED',
      because: `asked for ${request.count} exclusive CPUs; ${alignment.because}`,
    };
  }
  const taken = takeFrom(snapshot, orderSources(snapshot, sources, alignment.nodes), request.count);
  if (!taken.ok) return { kind: 'refuse', code: 'INTERNAL', because: taken.error };
  const where = alignment.nodes === undefined ? '' : `; ${alignment.because}`;
  return pin(snapshot, request, taken.cpus, `${count(request.count)}, ${taken.from}${where}`, taken.steps);
};

/** CPUs that may be taken, the ones to be preferred first. */
interface Source {
  readonly what: string;
  readonly cpus: CpuSet;
}

/** With NUMA nodes to go by, what each source has there comes before what any of them has elsewhere. */
function orderSources(
  { topology, settings }: Snapshot,
  sources: readonly Source[],
  nodes: CpuSet | undefined,
): Source[] {
  if (nodes === undefined) return [...sources];
  const preferred = cpusOfNodes(topology, nodes, settings.options.alignBySocket);
  return [
    ...sources.map(({ what, cpus }) => ({ what, cpus: cpus.intersect(preferred) })),
    ...sources.map(({ what, cpus }) => ({ what, cpus: cpus.minus(preferred) })),
  ];
}

type Taken =
  | { readonly ok: true; readonly cpus: CpuSet; readonly from: string; readonly steps: readonly AllocationStep[] }
  | { readonly ok: false; readonly error: string };

/** Takes from one source after the other; with full-pcpus-only whole cores of each, then cores that only all together have. */
function takeFrom({ topology, settings }: Snapshot, sources: readonly Source[], wanted: number): Taken {
  const { options } = settings;
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

/** Free CPUs; where taking them all would leave the shared pool below its floor, the highest ones stay out of reach. */
function withinFloor({ free, sharedPool, settings }: Snapshot, alreadyOwned: CpuSet): CpuSet {
  const fromPool = free.minus(alreadyOwned);
  const spare = sharedPool.size - settings.minSharedCpus;
  if (fromPool.countIn(sharedPool) <= spare) return fromPool;
  return CpuSet.of(fromPool.toArray().slice(0, Math.max(0, spare)));
}

function isWhole({ topology }: Snapshot, cpus: CpuSet): boolean {
  return keepWholeCores(topology, cpus).equals(cpus);
}

function pin(
  snapshot: Snapshot,
  { memoryBytes }: PinRequest,
  cpus: CpuSet,
  because: string,
  steps: readonly AllocationStep[],
): Decision {
  const memory = chooseMemoryNodes(snapshot, cpus, memoryBytes);
  const why = memory.because === '' ? because : `${because}; ${memory.because}`;
  return { kind: 'pin', assignmentKind: 'static', cpus, mems: memory.mems, because: why, steps };
}

function count(cpus: number): string {
  return `${cpus} exclusive CPU${cpus === 1 ? '' : 's'}`;
}
