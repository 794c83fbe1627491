import { resultOf } from '../annotations';
import { CpuSet } from '../cpuset';
import { KINDS } from '../model/kinds';
import type { NodeView } from '../model/node-model';
import type { TopologyManagerPolicy } from '../model/settings';
import { keepWholeCores } from '../policy/whole-cores';
import type { Unit } from '../topology';

/** What the node has, zone by zone, as schedulers want to know it. Counts are CPUs or bytes. */
export interface NodeResources {
  /** NUMA nodes that have CPUs, ascending by id. */
  readonly zones: readonly Zone[];
  /** What really becomes of a request that does not lie in one zone. */
  readonly topologyPolicy: TopologyManagerPolicy;
  readonly topologyScope: 'container' | 'pod';
  /** Somebody can be given CPUs here. */
  readonly pins: boolean;
  readonly reserved: CpuSet;
}

export interface Zone {
  readonly id: number;
  readonly cpu: Amounts;
  /** Absent when memory does not follow CPUs: then it is nothing that is decided here. */
  readonly memory?: Amounts;
  /** What the zone has in memory, whether it is decided here or not; 0 when unknown. */
  readonly memoryBytes: number;
  readonly reservedCpus: number;
  /** CPUs that are held by pods for which no scheduler left a topology-result: it does not know of them. */
  readonly unannounced: number;
  /** The kernel's distances, by id of the zone; empty when unknown. */
  readonly distances: ReadonlyMap<number, number>;
}

export interface Amounts {
  readonly capacity: number;
  /** Without what is reserved. */
  readonly allocatable: number;
  /** What one more request can get in this zone now, alone. Sharing takes nothing away. */
  readonly available: number;
}

/** Counts what is there and what is left. Pure. */
export function countNodeResources(view: NodeView): NodeResources {
  const { topology, settings } = view;
  const { policy, scope } = settings.topologyManager ?? { policy: 'none', scope: 'container' };
  const unannounced = findUnannounced(view);
  const promised = settings.memoryNodes === 'follow' ? sumPromisedMemory(view) : undefined;
  return {
    zones: topology.numaNodes.map((node) => countZone(view, node, { unannounced, promised })),
    topologyPolicy: effectivePolicy(view, policy),
    topologyScope: scope,
    pins: settings.cpuManagerPolicy !== 'none' || (settings.podPolicies ?? []).some((name) => name !== 'none'),
    reserved: settings.reserved,
  };
}

interface Known {
  readonly unannounced: CpuSet;
  readonly promised: ReadonlyMap<number, number> | undefined;
}

function countZone(view: NodeView, { id, cpus }: Unit, { unannounced, promised }: Known): Zone {
  const { topology, settings } = view;
  const memoryNode = topology.memoryNodes.find((node) => node.id === id);
  const memoryBytes = memoryNode?.memoryBytes ?? 0;
  const reservedCpus = cpus.countIn(settings.reserved);
  return {
    id,
    cpu: { capacity: cpus.size, allocatable: cpus.size - reservedCpus, available: countAvailable(view, cpus) },
    ...(promised &&
      memoryNode && {
        memory: {
          capacity: memoryBytes,
          allocatable: memoryBytes,
          available: Math.max(0, Math.floor(memoryBytes - (promised.get(id) ?? 0))),
        },
      }),
    memoryBytes,
    reservedCpus,
    unannounced: cpus.countIn(unannounced),
    distances: memoryNode?.distances ?? new Map<number, number>(),
  };
}

/** As many as an allocation would get: torn cores do not count where only whole ones are given, nor does the pool's floor. */
function countAvailable({ free, sharedPool, settings, topology }: NodeView, cpus: CpuSet): number {
  const there = cpus.intersect(free);
  const usable = settings.options.fullPcpusOnly ? keepWholeCores(topology, there) : there;
  return Math.min(usable.size, Math.max(0, sharedPool.size - settings.minSharedCpus));
}

/** The policy's word only where a request that breaks it is refused; otherwise what it comes to. */
function effectivePolicy({ settings }: NodeView, policy: TopologyManagerPolicy): TopologyManagerPolicy {
  if (settings.cpuManagerPolicy === 'none') return 'none';
  const isStrict = policy === 'single-numa-node' || policy === 'restricted';
  return isStrict && settings.onInsufficientCpu === 'share' ? 'best-effort' : policy;
}

function findUnannounced({ assignments, pods, podSpecs }: NodeView): CpuSet {
  const announced = new Set<string>();
  for (const { uid, annotations } of pods.values()) {
    if (resultOf(annotations)?.ok) announced.add(uid);
  }
  // What was planned for a pod is before its sandbox.
  for (const { uid, annotations } of podSpecs.values()) if (resultOf(annotations)?.ok) announced.add(uid);
  return CpuSet.unionOf(
    [...assignments.values()]
      .filter(({ kind, podUid }) => KINDS[kind].holds !== 'nodes' && !announced.has(podUid))
      .map(({ cpus }) => cpus),
  );
}

/** A limit counts in equal parts on the memory nodes that it was promised. */
function sumPromisedMemory({ containers }: NodeView): Map<number, number> {
  const promised = new Map<number, number>();
  for (const { promise, resources } of containers.values()) {
    for (const node of promise?.mems ?? CpuSet.empty)
      promised.set(node, (promised.get(node) ?? 0) + (resources.memoryLimitBytes ?? 0) / promise!.mems.size);
  }
  return promised;
}
