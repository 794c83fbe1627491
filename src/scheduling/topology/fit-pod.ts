import { compareTexts } from '../../core/text';
import type { WholeCpus } from '../policy/policy';
import { CPU, type Amounts, type ZoneAmounts } from './amounts';
import { freeOf, listFreeZones, sumFree, type FreeZone, type FreeZones } from './free-zones';
import type { NodeTopology } from './node-topology';
import type { PodRequest } from './pod-request';
import type { ZoneGrant } from './topology-result';

/** The answer for one pod and one node. */
export type Fit =
  /** The zones of the node do not matter for the pod. */
  | { readonly kind: 'skip'; readonly because: string }
  /** `grants`: sorted by the name of the zone, as text. */
  | { readonly kind: 'fit'; readonly grants: readonly ZoneGrant[]; readonly left: LeftCpus }
  | { readonly kind: 'no-fit'; readonly because: string; readonly shortage?: Shortage };

/** CPUs of the zones that were chosen, in thousandths. */
export interface LeftCpus {
  readonly allocatable: number;
  /** Free after the pod got its own. */
  readonly free: number;
}

/** The largest amount that the pod can get, and the one that it wants. */
export interface Shortage {
  readonly resource: string;
  readonly wanted: number;
  readonly available: number;
}

/** Messages of crane-scheduler. */
export const NO_TOPOLOGY = 'node(s) failed to get NRT';
export const INSUFFICIENT = 'node(s) had insufficient resource of NUMA node';
/** Messages for rules of cpusetd's nodes, which crane-scheduler does not know. */
export const OTHER_CONTAINERS = 'node(s) had insufficient CPUs for init containers and sidecars';
export const wholeCoresOnly = (cpus: number): string => `node(s) give whole cores of ${cpus} CPUs only`;

type Strategy = WholeCpus['strategy'];

/**
 * Fits a pod into the NUMA zones of a node, as the Filter of crane-scheduler's NodeResourceTopologyMatch does, without its faults: of zones
 * that are equal the first counts, an over-used zone has nothing free, and a pod that needs more than all zones have does not fit.
 *
 * Where the node has rules, the pod also fits by these, so that cpusetd refuses none of its containers.
 *
 * @param topology undefined: the node has published none
 * @param used the amounts that other pods have in each zone
 * @param strategy `MostAllocated` takes as few zones as possible, and of these the ones that are left with the fewest CPUs: so zones with many
 *   free CPUs stay whole for large pods. The default is upstream's: the zones with the most free CPUs, which is `LeastAllocated` too.
 */
export function fitPod(
  pod: PodRequest,
  topology: NodeTopology | undefined,
  used: ZoneAmounts,
  strategy?: Strategy,
): Fit {
  return fitPodInto(pod, topology, topology && listFreeZones(topology, used), strategy);
}

/** The same for zones whose free amounts are known already. */
export function fitPodInto(
  pod: PodRequest,
  topology: NodeTopology | undefined,
  free: FreeZones | undefined,
  strategy: Strategy = 'LeastAllocated',
): Fit {
  if (pod.isOfDaemonSet) return SKIPPED.daemonSet;
  if (pod.request.size === 0) return SKIPPED.noWholeCpus;
  if (!topology || !free) return MISSING;
  if (!topology.isStatic) return SKIPPED.notStatic;
  const hasOwn = pod.own.counts.length > 0;
  const cpusPerCore = topology.rules?.cpusPerCore ?? 1;
  if (hasOwn && cpusPerCore > 1 && pod.own.counts.some((count) => count % (1_000 * cpusPerCore) !== 0))
    return { kind: 'no-fit', because: wholeCoresOnly(cpusPerCore) };
  const zones = hasOwn ? free.byCore : free.byCpu;
  const cpu = cpuOf(pod.request);
  if (mustBeInOneZone(pod, topology)) return fitInOneZone(pod, zones, strategy, Math.max(pod.own.peak, cpu));
  const isTogether = pod.awareness ?? topology.isAware;
  const fit = isTogether ? fitInOneZone(pod, zones, strategy, cpu) : spreadOverZones(pod.request, zones, strategy);
  return fit.kind === 'fit' ? (refuseByRules(pod, topology, fit.grants.length, zones) ?? fit) : fit;
}

/**
 * True where the topology manager refuses containers that lie in more zones than they need: so few that it is only known of a pod in one
 * zone that none of its containers does. A pod of one container that is larger than any zone may lie in several under `restricted`.
 */
function mustBeInOneZone({ own, request }: PodRequest, { rules, zones }: NodeTopology): boolean {
  if (own.counts.length === 0 || rules?.topologyManager === undefined) return false;
  if (rules.topologyManager === 'single-numa-node' || own.counts.length > 1) return true;
  return zones.some(({ capacityCpu }) => capacityCpu >= cpuOf(request));
}

function refuseByRules(
  { own, request }: PodRequest,
  { rules, zones }: NodeTopology,
  zoneCount: number,
  free: readonly FreeZone[],
): Fit | undefined {
  if (!rules || own.counts.length === 0) return undefined;
  const available = sumFree(free, CPU);
  if (own.peak > available)
    return {
      kind: 'no-fit',
      because: OTHER_CONTAINERS,
      shortage: { resource: CPU, wanted: own.peak, available },
    };
  if (rules.topologyManager === undefined) return undefined;
  const fewest = countFewest(
    zones.map(({ capacityCpu }) => capacityCpu),
    cpuOf(request),
  );
  if (zoneCount <= fewest) return undefined;
  const most = free
    .map(({ cpu }) => cpu)
    .sort((a, b) => b - a)
    .slice(0, fewest);
  const cpuAlone = new Map([[CPU, cpuOf(request)]]);
  return insufficient(cpuAlone, () => most.reduce((sum, cpu) => sum + cpu, 0));
}

/** The smallest number of these amounts whose sum is enough. */
function countFewest(amounts: readonly number[], wanted: number): number {
  let [count, sum] = [0, 0];
  for (const amount of [...amounts].sort((a, b) => b - a)) {
    if (sum >= wanted) break;
    sum += amount;
    count++;
  }
  return count;
}

const SKIPPED = {
  daemonSet: { kind: 'skip', because: 'the pod is of a DaemonSet' },
  noWholeCpus: { kind: 'skip', because: 'no container of the pod wants whole CPUs' },
  notStatic: { kind: 'skip', because: 'the node chooses CPUs itself' },
} as const satisfies Record<string, Fit>;
const MISSING: Fit = { kind: 'no-fit', because: NO_TOPOLOGY };

/** @param cpu the CPUs that have to be free in the zone, at least those of the request */
function fitInOneZone(
  { request, others }: PodRequest,
  zones: readonly FreeZone[],
  strategy: Strategy,
  cpu: number,
): Fit {
  let best: FreeZone | undefined;
  for (const zone of zones) {
    if (zone.cpu < cpu || !covers(zone, others)) continue;
    const more = zone.cpu - (best?.cpu ?? 0);
    // Of zones that are equal the first counts.
    if (!best || (strategy === 'MostAllocated' ? more < 0 : more > 0)) best = zone;
  }
  if (best) return fitOf([{ zone: best.name, amounts: request }], [best]);
  const needed = new Map([...request, [CPU, cpu]]);
  return insufficient(needed, (resource) => Math.max(0, ...zones.map((zone) => freeOf(zone, resource))));
}

/** Takes zone after zone, those with the most free CPUs first. Packing leaves out all zones but the ones that it has chosen. */
function spreadOverZones(request: Amounts, zones: readonly FreeZone[], strategy: Strategy): Fit {
  const candidates = strategy === 'MostAllocated' ? chooseFewest(zones, request) : zones;
  const mostFirst = [...candidates].sort((a, b) => b.cpu - a.cpu);
  const rest = new Map(request);
  const grants: ZoneGrant[] = [];
  for (const free of mostFirst) {
    const amounts = new Map<string, number>();
    for (const [resource, wanted] of rest) {
      const given = Math.min(wanted, freeOf(free, resource));
      if (given === 0) continue;
      amounts.set(resource, given);
      rest.set(resource, wanted - given);
    }
    if (amounts.size > 0) grants.push({ zone: free.name, amounts });
  }
  if ([...rest.values()].some((amount) => amount > 0))
    return insufficient(request, (resource) => sumFree(zones, resource));
  return fitOf(
    grants.sort((a, b) => compareTexts(a.zone, b.zone)),
    zones,
  );
}

/** Most combinations of zones that are compared: enough for all of nine zones, and for pairs of thirty. */
const MAX_COMBINATIONS = 512;

/**
 * The fewest zones that have the request together, and of these the ones with the fewest free CPUs. All zones when too many combinations
 * would have to be compared, or none suffices.
 */
function chooseFewest(zones: readonly FreeZone[], request: Amounts): readonly FreeZone[] {
  let left = MAX_COMBINATIONS;
  for (let size = 1; size <= zones.length; size++) {
    left -= countCombinations(zones.length, size);
    if (left < 0) return zones;
    let best: readonly FreeZone[] | undefined;
    for (const some of combinationsOf(zones, size)) {
      const isEnough = [...request].every(([resource, wanted]) => sumFree(some, resource) >= wanted);
      if (isEnough && (!best || sumFree(some, CPU) < sumFree(best, CPU))) best = some;
    }
    if (best) return best;
  }
  return zones;
}

function countCombinations(of: number, size: number): number {
  let count = 1;
  for (let i = 1; i <= size; i++) count = (count * (of - size + i)) / i;
  return count;
}

/** In the order of their members. */
function* combinationsOf<T>(items: readonly T[], size: number, from = 0): Generator<readonly T[]> {
  if (size === 0) yield [];
  else
    for (let i = from; i <= items.length - size; i++)
      for (const rest of combinationsOf(items, size - 1, i + 1)) yield [items[i]!, ...rest];
}

const cpuOf = (amounts: Amounts): number => amounts.get(CPU) ?? 0;

function covers({ others }: FreeZone, wanted: PodRequest['others']): boolean {
  for (const [resource, amount] of wanted) if (amount > (others.get(resource) ?? 0)) return false;
  return true;
}

/** @param availableOf the largest amount of the resource that the pod can get */
function insufficient(request: Amounts, availableOf: (resource: string) => number): Fit {
  const shortages = [...request].map(([resource, wanted]) => ({ resource, wanted, available: availableOf(resource) }));
  // With two resources a zone may have enough of each and not of both.
  const shortage = shortages.find(({ wanted, available }) => wanted > available) ?? shortages[0]!;
  return { kind: 'no-fit', because: INSUFFICIENT, shortage };
}

function fitOf(grants: readonly ZoneGrant[], zones: readonly FreeZone[]): Fit {
  let [allocatable, free] = [0, 0];
  for (const { zone, amounts } of grants) {
    const chosen = zones.find(({ name }) => name === zone)!;
    allocatable += chosen.allocatableCpu;
    free += chosen.cpu - cpuOf(amounts);
  }
  return { kind: 'fit', grants, left: { allocatable, free } };
}
