import type { WholeCpus } from '../policy/policy';
import { CPU, type Amounts, type ZoneAmounts } from './amounts';
import type { NodeTopology, Zone } from './node-topology';
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

/** A zone with what is free in it; never negative. */
interface FreeZone {
  readonly zone: Zone;
  readonly free: Amounts;
}

type Strategy = WholeCpus['strategy'];

/**
 * Fits a pod into the NUMA zones of a node, as the Filter of crane-scheduler's NodeResourceTopologyMatch does, without its faults: of zones
 * that are equal the first counts, an over-used zone has nothing free, and a pod that needs more than all zones have does not fit.
 *
 * @param topology undefined: the node has published none
 * @param used the amounts that other pods have in each zone
 * @param strategy `MostAllocated` takes the zones that are left with the fewest CPUs, so that zones with many free CPUs stay whole for
 *   large pods. The default is upstream's: the zones with the most free CPUs, which is `LeastAllocated` too.
 */
export function fitPod(
  pod: PodRequest,
  topology: NodeTopology | undefined,
  used: ZoneAmounts,
  strategy: Strategy = 'LeastAllocated',
): Fit {
  if (pod.isOfDaemonSet) return SKIPPED.daemonSet;
  if (pod.request.size === 0) return SKIPPED.noWholeCpus;
  if (!topology) return MISSING;
  if (!topology.isStatic) return SKIPPED.notStatic;
  const { cpusPerCore } = topology;
  if (cpusPerCore > 1 && pod.cpuCounts.some((count) => count % cpusPerCore !== 0)) {
    const because = `node(s) give whole cores of ${cpusPerCore} CPUs only`;
    return { kind: 'no-fit', because };
  }
  const zones = topology.zones.map((zone) => ({ zone, free: freeOf(zone, used.get(zone.name), pod.request) }));
  return (pod.awareness ?? topology.isAware)
    ? fitInOneZone(pod.request, zones, strategy)
    : spreadOverZones(pod.request, zones, strategy);
}

const SKIPPED = {
  daemonSet: { kind: 'skip', because: 'the pod is of a DaemonSet' },
  noWholeCpus: { kind: 'skip', because: 'no container of the pod wants whole CPUs' },
  notStatic: { kind: 'skip', because: 'the node chooses CPUs itself' },
} as const satisfies Record<string, Fit>;
const MISSING: Fit = { kind: 'no-fit', because: NO_TOPOLOGY };

function fitInOneZone(request: Amounts, zones: readonly FreeZone[], strategy: Strategy): Fit {
  const chosen = chooseBest(
    zones.filter(({ free }) => covers(free, request)),
    strategy,
  );
  if (!chosen)
    return insufficient(request, (resource) => Math.max(0, ...zones.map(({ free }) => free.get(resource) ?? 0)));
  return fitOf([{ zone: chosen.zone.name, amounts: request }], zones);
}

/**
 * Takes zone after zone. Without packing these are the ones with the most free CPUs. With it a single zone that has all of the rest ends the
 * search, the one with the fewest CPUs left; so there are as few zones as possible.
 */
function spreadOverZones(request: Amounts, zones: readonly FreeZone[], strategy: Strategy): Fit {
  const rest = new Map(request);
  const grants: ZoneGrant[] = [];
  let others = zones;
  while (others.length > 0 && [...rest.values()].some((amount) => amount > 0)) {
    const last =
      strategy === 'MostAllocated'
        ? chooseBest(
            others.filter(({ free }) => covers(free, rest)),
            strategy,
          )
        : undefined;
    const next = last ?? chooseBest(others, 'LeastAllocated')!;
    others = others.filter((zone) => zone !== next);
    const amounts = new Map<string, number>();
    for (const [resource, wanted] of rest) {
      const given = Math.min(wanted, next.free.get(resource) ?? 0);
      if (given === 0) continue;
      amounts.set(resource, given);
      rest.set(resource, wanted - given);
    }
    if (amounts.size > 0) grants.push({ zone: next.zone.name, amounts });
  }
  if ([...rest.values()].some((amount) => amount > 0))
    return insufficient(request, (resource) => zones.reduce((sum, { free }) => sum + (free.get(resource) ?? 0), 0));
  return fitOf(
    grants.sort((a, b) => (a.zone < b.zone ? -1 : 1)),
    zones,
  );
}

/** The first of the zones with the most free CPUs, or with the fewest. */
function chooseBest(zones: readonly FreeZone[], strategy: Strategy): FreeZone | undefined {
  let best: FreeZone | undefined;
  for (const zone of zones) {
    const more = (zone.free.get(CPU) ?? 0) - (best?.free.get(CPU) ?? 0);
    if (!best || (strategy === 'MostAllocated' ? more < 0 : more > 0)) best = zone;
  }
  return best;
}

/** Free amounts of the requested resources; CPUs are whole ones. */
function freeOf({ allocatable }: Zone, used: Amounts | undefined, request: Amounts): Amounts {
  const free = new Map<string, number>();
  for (const resource of request.keys()) {
    const all = allocatable.get(resource) ?? 0;
    const whole = resource === CPU ? all - (all % 1_000) : all;
    free.set(resource, Math.max(0, whole - (used?.get(resource) ?? 0)));
  }
  return free;
}

function covers(free: Amounts, request: Amounts): boolean {
  for (const [resource, wanted] of request) if (wanted > (free.get(resource) ?? 0)) return false;
  return true;
}

function insufficient(request: Amounts, availableOf: (resource: string) => number): Fit {
  const shortages = [...request].map(([resource, wanted]) => ({ resource, wanted, available: availableOf(resource) }));
  // With two resources a zone may have enough of each and not of both.
  const shortage = shortages.find(({ wanted, available }) => wanted > available) ?? shortages[0]!;
  return { kind: 'no-fit', because: INSUFFICIENT, shortage };
}

function fitOf(grants: readonly ZoneGrant[], zones: readonly FreeZone[]): Fit {
  let [allocatable, free] = [0, 0];
  for (const { zone, amounts } of grants) {
    const chosen = zones.find((of) => of.zone.name === zone)!;
    allocatable += chosen.zone.allocatable.get(CPU) ?? 0;
    free += (chosen.free.get(CPU) ?? 0) - (amounts.get(CPU) ?? 0);
  }
  return { kind: 'fit', grants, left: { allocatable, free } };
}
