import { CpuSet } from '../cpuset';
import type { AssignmentKind } from '../model/assignment';
import type { NodeView } from '../model/node-view';
import type { PolicyName } from '../model/policies';
import { KINDS } from '../model/pool-view';
import { canPin } from '../model/settings';
import {
  alignRequest,
  createRoom,
  grantOptionsOf,
  listWaysToLeave,
  mostIn,
  type GrantOptions,
  type Room,
  type Snapshot,
} from '../policy';
import {
  hasUnlikeCores,
  keepWholeCores,
  knownCaches,
  machineOf,
  threadsPerCore,
  type AlignmentBoundary,
  type Topology,
} from '../topology';
import { snapshotFor } from '../decision/snapshot';

/**
 * The CPUs of the largest request that a new pod of one container can make, by the boundary that its CPUs can be
 * aligned to; 0 when none can.
 *
 * The node's policy and options count: whole cores, the floor of the shared pool, the last CPU of each follower of NUMA
 * nodes, a topology manager that refuses. A larger request can't be aligned to the boundary now. One of this size is
 * granted, and is aligned where an option requires it: `full-pcpus-only` for cores, a topology manager for NUMA nodes.
 * The static policy only prefers caches, so it may find less than this in one.
 */
export function findLargestAligned(view: NodeView): Readonly<Record<AlignmentBoundary, number>> {
  const kind = kindOfNewPod(view);
  if (kind === undefined) return { physical_cpu: 0, uncore_cache: 0, numa_node: 0 };
  const { topology } = view;
  const snapshot = snapshotFor(view, { uid: '' }, '', kind);
  const grant = grantOptionsOf(kind, view.settings);
  const search = { snapshot, grant, wholeCores: keepWholeCores(topology, snapshot.free) };
  const nodes = topology.numaNodes.map(({ cpus }) => cpus);
  const caches = knownCaches(topology).map(({ cpus }) => cpus);
  const { topologyManager } = view.settings;
  const cachesByNode =
    topologyManager && topology.index.cachesOfNode.crosses
      ? caches.flatMap((cache) => nodes.map((node) => node.intersect(cache)))
      : [];
  return {
    physical_cpu: findLargest(search, [topology.online, ...(topologyManager ? nodes : [])], true),
    uncore_cache: findLargest(search, [...caches, ...cachesByNode], false),
    numa_node: findLargest(search, nodes, false),
  };
}

/** The policy of a pod that chooses none; where that gives no CPUs, the first that a pod may choose and that does. */
function kindOfNewPod({ settings }: NodeView): AssignmentKind | undefined {
  if (!canPin(settings)) return undefined;
  const givesCpus = (policy: PolicyName): policy is AssignmentKind =>
    policy !== 'none' && KINDS[policy].claim !== 'numa-nodes';
  return [settings.cpuManagerPolicy, ...(settings.podPolicies ?? [])].find(givesCpus);
}

interface Search {
  readonly snapshot: Snapshot;
  readonly grant: GrantOptions;
  /** The free CPUs in cores that are free as a whole. */
  readonly wholeCores: CpuSet;
}

/** The largest request whose CPUs lie in one of these regions. */
function findLargest(search: Search, regions: readonly CpuSet[], inWholeCores: boolean): number {
  return regions.reduce((most, region) => Math.max(most, findLargestIn(search, region, { inWholeCores, most })), 0);
}

/** The largest request above `most` whose CPUs lie in this region; 0 when there is none. */
function findLargestIn(
  { snapshot, grant, wholeCores }: Search,
  region: CpuSet,
  { inWholeCores, most }: { readonly inWholeCores: boolean; readonly most: number },
): number {
  const { topology, free } = snapshot;
  const { fullPcpusOnly } = grant.options;
  const asCores = inWholeCores || fullPcpusOnly;
  if ((asCores ? wholeCores : free).countIn(region) <= most) return 0;
  const within = { held: CpuSet.empty, free: free.intersect(region), leavesPool: grant.leavesPool };
  const room = createRoom(snapshot, { ...within, inWholeCores: asCores });
  const sizeWithin = (cpus: CpuSet): number => {
    if (asCores && (!fullPcpusOnly || hasUnlikeCores(topology))) return fillWithCores(snapshot, room, cpus);
    const size = mostIn(room, cpus);
    return fullPcpusOnly ? size - (size % threadsPerCore(topology)) : size;
  };
  // A strict topology manager refuses nodes that a smaller request would not need: the most of one node, of two nodes,
  // and so on.
  const byNode = topology.numaNodes.map(({ cpus }) => cpus.intersect(room.cpus)).sort((a, b) => b.size - a.size);
  for (let nodes = byNode.length; nodes > 0; nodes--) {
    const count = sizeWithin(CpuSet.unionOf(byNode.slice(0, nodes)));
    if (count <= most) break;
    if (!grant.leavesPool) return count;
    const request = { count, podCount: count, memoryBytes: 0 };
    if (alignRequest(snapshot, request, room).kind === 'accept') return count;
  }
  return 0;
}

/** The largest number of CPUs that some of these cores have together, and that the pool can spare. */
function fillWithCores({ topology }: Snapshot, room: Room, cpus: CpuSet): number {
  const rests = listWaysToLeave(room, cpus).map((left) => keepWholeCores(topology, cpus.minus(left)));
  return Math.max(...rests.map((rest) => sumOfCores(topology, rest, room.spare)));
}

/** The largest number of CPUs up to a limit that some cores of a set have together. */
function sumOfCores(topology: Topology, rest: CpuSet, limit: number): number {
  if (rest.size <= limit) return rest.size;
  if (!hasUnlikeCores(topology)) return limit - (limit % threadsPerCore(topology));
  // Bit n is set when some cores have n CPUs together.
  let sums = 1n;
  for (const core of machineOf(topology).cores) if (core.cpus.overlaps(rest)) sums |= sums << BigInt(core.cpus.size);
  return (sums & ((1n << BigInt(limit + 1)) - 1n)).toString(2).length - 1;
}
