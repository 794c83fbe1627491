import { take, type AllocationStep } from '../allocation';
import { CpuSet } from '../cpuset';
import type { Settings } from '../model/settings';
import type { Topology } from '../topology';
import type { Decision, Policy, Snapshot } from './policy';

/**
 * The kubelet's static policy: a container of a Guaranteed pod that asks for whole CPUs gets them alone.
 *
 * A container that comes back gets its own previous CPUs; else CPUs that lie idle in its pod go first, then free ones
 * of the node. Reserved CPUs are never given out, and the shared pool never falls below its floor.
 */
export const staticPolicy: Policy = (snapshot, { count }) => {
  const { settings, topology } = snapshot;
  const grantable = topology.online.minus(settings.reserved);
  const own = snapshot.own.intersect(grantable);
  const idle = snapshot.idleInPod.intersect(grantable);

  if (settings.options.fullPcpusOnly) {
    const refusal = refuseBrokenCores(topology, count);
    if (refusal) return refusal;
  }
  if (own.size === count && own.size === snapshot.own.size && isAligned(own, snapshot)) {
    return pinned(own, 'the container keeps the CPUs that it had before', []);
  }

  const tiers = [
    { what: 'its own CPUs', cpus: own },
    { what: 'idle CPUs of its pod', cpus: idle },
    { what: 'free CPUs of the node', cpus: withinFloor(snapshot, own.union(idle)) },
  ];
  const usable = CpuSet.unionOf(tiers.map(({ cpus }) => cpus));
  const wholeCores = settings.options.fullPcpusOnly ? keepWholeCores(topology, usable) : usable;
  if (wholeCores.size < count) return refuseForLack(snapshot, count, wholeCores.size);

  let taken = CpuSet.empty;
  const steps: AllocationStep[] = [];
  const sources: string[] = [];
  for (const { what, cpus } of tiers) {
    const missing = count - taken.size;
    const candidates = settings.options.fullPcpusOnly ? keepWholeCores(topology, cpus) : cpus;
    if (missing === 0 || candidates.isEmpty) continue;
    const result = takeBy(settings, topology, candidates, Math.min(missing, candidates.size));
    if (!result.ok) return { kind: 'refuse', code: 'INTERNAL', because: result.error };
    steps.push(...result.steps);
    sources.push(`${result.cpus.size} of ${what}`);
    taken = taken.union(result.cpus);
  }
  if (taken.size !== count) return refuseForLack(snapshot, count, taken.size);
  return pinned(taken, `${count} exclusive CPUs: ${sources.join(', ')}`, steps);
};

function pinned(cpus: CpuSet, because: string, steps: readonly AllocationStep[]): Decision {
  return { kind: 'pin', assignmentKind: 'static', cpus, because, steps };
}

function takeBy(settings: Settings, topology: Topology, available: CpuSet, count: number) {
  const { options } = settings;
  return take({
    topology,
    available,
    count,
    algorithm: options.distributeCpusAcrossNuma ? 'distributed' : 'packed',
    strategy: options.distributeCpusAcrossCores ? 'spread' : 'packed',
    preferAlignByUncoreCache: options.preferAlignCpusByUncorecache,
    cpuGroupSize: options.fullPcpusOnly ? threadsPerCore(topology) : 1,
  });
}

/** Free CPUs, unless taking as many as are asked for would leave the shared pool below its floor: then none too many. */
function withinFloor({ free, sharedPool, settings }: Snapshot, alreadyOwned: CpuSet): CpuSet {
  const fromPool = free.minus(alreadyOwned);
  const spare = sharedPool.size - settings.minSharedCpus;
  if (fromPool.countIn(sharedPool) <= spare) return fromPool;
  // The highest CPUs stay with the pool.
  return CpuSet.of(fromPool.toArray().slice(0, Math.max(0, spare)));
}

function isAligned(cpus: CpuSet, { settings, topology }: Snapshot): boolean {
  return !settings.options.fullPcpusOnly || keepWholeCores(topology, cpus).equals(cpus);
}

/** The CPUs whose core lies wholly in the set. */
function keepWholeCores(topology: Topology, cpus: CpuSet): CpuSet {
  return CpuSet.unionOf(topology.cores.filter((core) => core.cpus.isSubsetOf(cpus)).map((core) => core.cpus));
}

function threadsPerCore(topology: Topology): number {
  return topology.cores.reduce((most, { cpus }) => Math.max(most, cpus.size), 1);
}

function refuseBrokenCores(topology: Topology, count: number): Decision | undefined {
  const threads = threadsPerCore(topology);
  if (count % threads === 0) return undefined;
  return {
    kind: 'refuse',
    code: 'FAILED_PRECONDITION',
    because:
      `asked for ${count} exclusive CPUs; full-pcpus-only gives whole cores of ${threads} CPUs: ` +
      `ask for a multiple of ${threads}`,
  };
}

function refuseForLack({ topology, settings, free, sharedPool }: Snapshot, count: number, usable: number): Decision {
  const allocatable = topology.online.minus(settings.reserved).size;
  const reasons = [
    settings.options.fullPcpusOnly && usable < free.size ? 'full-pcpus-only counts whole free cores' : '',
    sharedPool.size - free.size < settings.minSharedCpus
      ? `the shared pool keeps at least ${settings.minSharedCpus}`
      : '',
  ].filter((reason) => reason !== '');
  return {
    kind: 'refuse',
    code: 'RESOURCE_EXHAUSTED',
    because:
      `asked for ${count} exclusive CPUs, ${usable} can be given now: ${free.size} of ${allocatable} allocatable CPUs ` +
      `are free, ${settings.reserved.size} of ${topology.online.size} online are reserved` +
      (reasons.length > 0 ? ` (${reasons.join('; ')})` : ''),
  };
}
