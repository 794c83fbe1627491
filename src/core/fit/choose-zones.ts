import { compareTexts } from '../text';
import { CPU, type Amounts } from './amounts';
import { freeOf, sumFree, type FreeZone } from './node-offer';
import type { Obstacle } from './obstacle';

/** The resources that a pod gets in one zone. */
export interface ZoneGrant {
  readonly zone: string;
  readonly amounts: Amounts;
}

/**
 * `MostAllocated` takes as few zones as possible, and of these the ones that are left with the fewest CPUs: so zones
 * with many free CPUs stay whole for large pods. `LeastAllocated` takes the zones with the most free CPUs, as
 * crane-scheduler does.
 */
export type Strategy = 'MostAllocated' | 'LeastAllocated';

/** The zones, or what is missing. Grants are sorted by the name of the zone, as text. */
export type Choice = { readonly grants: readonly ZoneGrant[] } | { readonly obstacle: Obstacle };

/** The amounts that a pod wants; `others` is the same without CPU. */
export interface Wanted {
  readonly request: Amounts;
  /** Its CPU, in thousandths. */
  readonly cpu: number;
  readonly others: readonly (readonly [resource: string, amount: number])[];
}

/** Of zones that are equal the first counts. */
export function chooseOneZone(wanted: Wanted, zones: readonly FreeZone[], strategy: Strategy): Choice {
  const { request, cpu, others } = wanted;
  let best: FreeZone | undefined;
  for (const zone of zones) {
    if (zone.cpu < cpu || !covers(zone, others)) continue;
    const more = best ? zone.cpu - best.cpu : 0;
    if (!best || (strategy === 'MostAllocated' ? more < 0 : more > 0)) best = zone;
  }
  if (best) return { grants: [{ zone: best.name, amounts: request }] };
  return insufficient(request, (resource) => Math.max(0, ...zones.map((zone) => freeOf(zone, resource))), 1);
}

/**
 * Takes zone after zone, those with the most free CPUs first. Packing leaves out all zones but the ones that it has
 * chosen.
 */
export function spreadOverZones({ request }: Wanted, zones: readonly FreeZone[], strategy: Strategy): Choice {
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
  return { grants: grants.sort((a, b) => compareTexts(a.zone, b.zone)) };
}

/** Most combinations of zones that are compared: enough for all of nine zones, and for pairs of thirty. */
const MAX_COMBINATIONS = 512;

/**
 * The fewest zones that have the request together, and of these the ones with the fewest free CPUs. All zones when too
 * many combinations would have to be compared, or none suffices.
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

function countCombinations(all: number, size: number): number {
  let count = 1;
  for (let i = 1; i <= size; i++) count = (count * (all - size + i)) / i;
  return count;
}

/** In the order of their members. */
function* combinationsOf<T>(items: readonly T[], size: number, from = 0): Generator<readonly T[]> {
  if (size === 0) yield [];
  else
    for (let i = from; i <= items.length - size; i++)
      for (const rest of combinationsOf(items, size - 1, i + 1)) yield [items[i]!, ...rest];
}

/** The CPU of a request, in thousandths. */
export const cpuOf = (amounts: Amounts): number => amounts.get(CPU) ?? 0;

function covers({ others }: FreeZone, wanted: Wanted['others']): boolean {
  for (const [resource, amount] of wanted) if (amount > (others.get(resource) ?? 0)) return false;
  return true;
}

/** @param availableOf the largest amount of the resource that the pod can get */
function insufficient(request: Amounts, availableOf: (resource: string) => number, zones?: number): Choice {
  const shortages = [...request].map(([resource, wanted]) => ({ resource, wanted, available: availableOf(resource) }));
  // With two resources a zone may have enough of each and not of both.
  const shortage = shortages.find(({ wanted, available }) => wanted > available) ?? shortages[0]!;
  return { obstacle: { kind: 'too-little', container: '', ...shortage, ...(zones !== undefined && { zones }) } };
}
