import { CpuSet } from '../cpuset';
import type { NodeView } from '../model/node-view';
import { POLICY_TABLE } from '../model/policies';
import { rulesOfNode, type NodeRules } from '../fit';
import { canPin, type TopologyManagerPolicy } from '../model/settings';
import { createRoom, leastLeftIn } from '../policy';
import { sum } from '../sum';
import { keepWholeCores, threadsPerCore, type CoreKind, type Unit } from '../topology';
import { snapshotFor } from '../decision/snapshot';
import { listClaims } from './claims';
import { withhold } from './withhold';

/** The resources of the node, zone by zone, for schedulers. Counts are CPUs or bytes. */
export interface NodeResources {
  /** NUMA nodes, those without CPUs and those without memory included, ascending by id. */
  readonly zones: readonly Zone[];
  /** The policy that applies to a request that does not fit into one zone. */
  readonly topologyPolicy: TopologyManagerPolicy;
  readonly topologyScope: 'container' | 'pod';
  /** Some container can be given CPUs here. */
  readonly pins: boolean;
  /** The rules by which containers get CPUs here. */
  readonly rules: NodeRules;
  /** CPUs that all zones can give together: the shared pool keeps some, wherever they are. */
  readonly bound: Bound;
  readonly reserved: CpuSet;
  /** The fastest first; empty where all cores are of one kind. */
  readonly coreKinds: readonly CoreKind[];
}

export interface Zone {
  readonly id: number;
  readonly cpu: Amounts;
  /** CPUs that requests can get here now, as far as the bound of all zones lets them. */
  readonly room: ZoneCpus;
  /**
   * The same, as schedulers count it that subtract what results of pods say: it does not change when a pod is bound, or
   * gets the CPUs of its result.
   */
  readonly roomWithResults: ZoneCpus;
  /**
   * Absent when the memory of the machine is not known. When memory does not follow CPUs, no container takes memory of
   * a zone for itself, so all that is allocatable is available; the scheduler watches the node's total.
   */
  readonly memory?: Amounts;
  /** Memory of the zone; 0 when unknown. */
  readonly memoryBytes: number;
  readonly reservedCpus: number;
  /**
   * CPUs that pods hold here beyond what their topology-results name: crane-scheduler does not know of these, or counts
   * them in another zone. The sum over pods of max(0, held - announced), so that for each of them the larger number
   * counts.
   */
  readonly unannounced: number;
  /**
   * CPUs that can't be given to what a scheduler sends here: the floors keep them, or they are halves of torn cores.
   */
  readonly withheld: number;
  /** The kernel's distances, by id of the zone; empty when unknown. */
  readonly distances: ReadonlyMap<number, number>;
}

/** CPUs of a zone. */
export interface ZoneCpus {
  readonly cpus: number;
  /** The part of them in cores that are free as a whole. */
  readonly whole: number;
}

/** CPUs of all zones together. */
export interface Bound {
  readonly now: number;
  /** For schedulers that subtract what results of pods say. */
  readonly withResults: number;
}

export interface Amounts {
  readonly capacity: number;
  /** Without what is reserved. */
  readonly allocatable: number;
  /**
   * Amount that requests can get in this zone now. CPUs: a request of this amount is met, and requests to several zones
   * together are met as well. Sharing takes nothing away.
   */
  readonly available: number;
}

/**
 * Counts the resources of each zone, and what is left of them. Pure.
 *
 * Crane's scheduler counts by itself: what it takes for free in a zone is the number that is published less all that
 * pods announce there. Published is `allocatable - unannounced - withheld`, so it arrives at allocatable - withheld -
 * the sum over pods of max(held, announced), which is never more than can be given. An announcement that was not
 * followed blocks its zone all the same: nothing can take back what the scheduler counts.
 */
export function countNodeResources(view: NodeView): NodeResources {
  const { topology, settings } = view;
  const { policy, scope } = settings.topologyManager ?? { policy: 'none', scope: 'container' };
  const nodes = listNodes(view);
  const available = countAvailable(view, nodes);
  const announced = countAnnounced(view, nodes);
  const room = measureRoom(view, nodes);
  const memory = countMemory(view);
  return {
    zones: nodes.map(({ id, cpus }, i): Zone => {
      const reservedCpus = cpus.countIn(settings.reserved);
      const ofNode = memory.get(id);
      return {
        id,
        cpu: { capacity: cpus.size, allocatable: cpus.size - reservedCpus, available: available[i]! },
        ...(ofNode && { memory: ofNode }),
        memoryBytes: ofNode?.capacity ?? 0,
        reservedCpus,
        ...announced[i]!,
        ...room.zones[i]!,
        distances: topology.memoryNodes.find((node) => node.id === id)?.distances ?? new Map<number, number>(),
      };
    }),
    topologyPolicy: effectivePolicy(view, policy),
    topologyScope: scope,
    pins: canPin(settings),
    rules: rulesOfNode(settings, topology),
    bound: room.bound,
    reserved: settings.reserved,
    coreKinds: topology.coreKinds,
  };
}

/** Every NUMA node that has CPUs or memory, ascending by id: schedulers take an id for an index. */
function listNodes({ topology: { numaNodes, memoryNodes } }: NodeView): Unit[] {
  const withoutCpus = memoryNodes.filter(({ id }) => !numaNodes.some((node) => node.id === id));
  return [...numaNodes, ...withoutCpus.map(({ id }) => ({ id, cpus: CpuSet.empty }))].sort((a, b) => a.id - b.id);
}

/**
 * As many as allocations would get: torn cores do not count where only whole ones are given, nor what the floors keep.
 */
function countAvailable(view: NodeView, nodes: readonly Unit[]): number[] {
  const { fullPcpusOnly } = view.settings.options;
  const { usable, spare } = measureOffer(view, fullPcpusOnly);
  const available = nodes.map(({ cpus }) => cpus.countIn(usable));
  return withhold(available, sum(available) - spare, fullPcpusOnly ? threadsPerCore(view.topology) : 1);
}

/** CPUs that can be promised in all zones together. */
interface Offer {
  /** The free CPUs without those that followers of NUMA nodes keep; in whole cores where only these are given. */
  readonly usable: CpuSet;
  /** Number of them that the pool can lose: its floor is the node's and not that of a zone. */
  readonly spare: number;
}

/**
 * Measures the room of a new pod as its decision does. The CPUs for followers are those that are left when all others
 * are taken.
 */
function measureOffer(view: NodeView, inWholeCores: boolean): Offer {
  const { topology, free } = view;
  const snapshot = snapshotFor(view, { uid: '' }, '');
  const room = createRoom(snapshot, { held: CpuSet.empty, free, inWholeCores, leavesPool: true });
  const rest = room.cpus.minus(leastLeftIn(room));
  return { usable: inWholeCores ? keepWholeCores(topology, rest) : rest, spare: room.spare };
}

/**
 * The room of each zone, and of all together.
 *
 * Schedulers subtract of a zone the sum of what pods announce there, so they arrive at free - the sum over pods of
 * max(0, announced - held). Of all zones together they arrive at what the pool can lose, less the same.
 */
function measureRoom(
  view: NodeView,
  nodes: readonly Unit[],
): { readonly zones: readonly Pick<Zone, 'room' | 'roomWithResults'>[]; readonly bound: Bound } {
  const { settings } = view;
  const offer = measureOffer(view, false);
  const ofCores = settings.options.fullPcpusOnly ? measureOffer(view, true) : offer;
  const claims = listClaims(view);
  let followed = 0;
  const zones = nodes.map(({ id, cpus }) => {
    const grantable = cpus.minus(settings.reserved);
    const room = { cpus: grantable.countIn(offer.usable), whole: grantable.countIn(ofCores.usable) };
    let counted = 0;
    for (const { held, announced } of claims) counted += Math.min(announced.get(id) ?? 0, grantable.countIn(held));
    followed += counted;
    return { room, roomWithResults: { cpus: room.cpus + counted, whole: room.whole + counted } };
  });
  return { zones, bound: { now: offer.spare, withResults: offer.spare + followed } };
}

/**
 * The counts that are published for Crane's scheduler beside capacity and reservation, for each node.
 *
 * CPUs that are announced and not held yet will be taken: they are left out of what a zone can give, and of what the
 * pool can lose, as far as they are there at all.
 */
function countAnnounced(view: NodeView, nodes: readonly Unit[]): Pick<Zone, 'unannounced' | 'withheld'>[] {
  const { settings, topology, free } = view;
  const claims = listClaims(view);
  const onlyWholeCores = givesWholeCores(view);
  const { usable, spare } = measureOffer(view, onlyWholeCores);
  const counts = nodes.map(({ id, cpus }) => {
    const grantable = cpus.minus(settings.reserved);
    const usableCount = grantable.countIn(usable);
    let [unannounced, pending] = [0, 0];
    for (const { held, announced } of claims) {
      const more = grantable.countIn(held) - (announced.get(id) ?? 0);
      if (more > 0) unannounced += more;
      else pending -= more;
    }
    return {
      unannounced,
      unusable: grantable.countIn(free) - usableCount,
      pending: Math.min(pending, usableCount),
      usableCount,
    };
  });
  const available = counts.map(({ usableCount, pending }) => usableCount - pending);
  const rest = Math.max(0, spare - sum(counts.map(({ pending }) => pending)));
  const left = withhold(available, sum(available) - rest, onlyWholeCores ? threadsPerCore(topology) : 1);
  return counts.map(({ unannounced, unusable }, i) => {
    return { unannounced, withheld: unusable + available[i]! - left[i]! };
  });
}

/** Results are packed whatever the options; only a policy that gives each container its own CPUs obeys these. */
function givesWholeCores({ settings }: NodeView): boolean {
  return settings.options.fullPcpusOnly && POLICY_TABLE[settings.cpuManagerPolicy].scheduledFor === 'container';
}

/**
 * By id of the node; empty when the machine does not say. A node has the memory that is local to its CPUs, and an equal
 * part of memory that is local to several; a node without CPUs has what is local to nobody. The node's reservation of
 * memory is the kubelet's, and not known here.
 */
function countMemory(view: NodeView): ReadonlyMap<number, Amounts> {
  const { topology, settings } = view;
  const { memoryNodes, localMemory } = topology;
  const promised = settings.memoryNodes === 'follow' ? view.promisedMemory() : new Map<number, number>();
  const amounts = new Map(memoryNodes.map(({ id }) => [id, { capacity: 0, available: 0 }]));
  for (const { id, memoryBytes, isOfGpu } of memoryNodes) {
    const near = [...localMemory].filter(([, ids]) => ids.includes(id)).map(([node]) => node);
    const zones = near.length > 0 ? near : [id];
    for (const zone of isOfGpu ? [] : zones) {
      const ofZone = amounts.get(zone) ?? { capacity: 0, available: 0 };
      const available = Math.max(0, Math.floor((memoryBytes - (promised.get(id) ?? 0)) / zones.length));
      amounts.set(zone, {
        capacity: ofZone.capacity + Math.floor(memoryBytes / zones.length),
        available: ofZone.available + available,
      });
    }
  }
  return new Map(
    [...amounts].map(([id, { capacity, available }]) => [id, { capacity, allocatable: capacity, available }]),
  );
}

/**
 * The name of the topology manager policy when a request that breaks it is refused; otherwise the policy that this
 * amounts to. The topology manager decides only on CPUs that one container gets alone, and the node's own policy on
 * most containers.
 */
function effectivePolicy({ settings }: NodeView, policy: TopologyManagerPolicy): TopologyManagerPolicy {
  if (POLICY_TABLE[settings.cpuManagerPolicy].claim !== 'exclusive') return 'none';
  const isStrict = policy === 'single-numa-node' || policy === 'restricted';
  return isStrict && settings.onInsufficientCpu === 'share' ? 'best-effort' : policy;
}
