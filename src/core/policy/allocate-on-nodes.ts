import { allocateByOptions, type AllocationStep } from '../allocation';
import { CpuSet } from '../cpuset';
import { completeCores, completeSockets, cpusOfNodes, keepWholeCores } from '../topology';
import type { GrantOptions } from './grant-options';
import type { Snapshot } from './policy';

/** CPUs that may be taken, the ones to be preferred first. */
export interface Source {
  readonly what: string;
  readonly cpus: CpuSet;
}

/** Takes CPUs in the order of the sources that puts them on the fewest cores; those of `nodes` before all others. */
export function allocateOnNodes(
  snapshot: Snapshot,
  grant: GrantOptions,
  sources: readonly Source[],
  { count, nodes }: { readonly count: number; readonly nodes?: CpuSet },
): Taken {
  const ways = listOrders(snapshot, grant, sources).map((order) =>
    takeFrom(snapshot, grant, preferNodes(snapshot, grant, order, nodes), count),
  );
  return ways.reduce((best, way) => (isNarrower(snapshot, way, best) ? way : best));
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
  if (nodes === undefined) return preferWholeCores(snapshot, grant, sources);
  const { topology } = snapshot;
  const onNodes = cpusOfNodes(topology, nodes);
  const preferred = grant.options.alignBySocket ? completeSockets(topology, onNodes) : onNodes;
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

type Taken =
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
  if (cpus.size !== wanted) return { ok: false, error: `only ${cpus.size} of ${wanted} CPUs could be put together` };
  return { ok: true, cpus, steps };
}

/** Fewer cores are better: fewer other containers run on their sibling threads. */
function isNarrower({ topology }: Snapshot, way: Taken, than: Taken): boolean {
  if (!way.ok || !than.ok) return way.ok && !than.ok;
  const countCores = (of: CpuSet): number => topology.cores.filter(({ cpus }) => cpus.overlaps(of)).length;
  return countCores(way.cpus) < countCores(than.cpus);
}
