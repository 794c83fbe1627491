import { CPU, NO_AMOUNTS, type Amounts, type ZoneAmounts } from './amounts';
import type { NodeTopology, Zone } from './node-topology';

/** A zone with the amounts that are free in it; never negative. */
export interface FreeZone {
  readonly name: string;
  /** CPUs of the zone that can be given, in thousandths. */
  readonly allocatableCpu: number;
  /** CPUs in thousandths, whole ones or whole cores. */
  readonly cpu: number;
  /** The free amounts of all resources but CPU. */
  readonly others: Amounts;
}

/** The zones of a node, in its order, for pods that get whole CPUs there, and for those that get whole cores. */
export interface FreeZones {
  readonly byCpu: readonly FreeZone[];
  /** The same as `byCpu` on a node that gives any number of CPUs. */
  readonly byCore: readonly FreeZone[];
}

/** The amounts that are free in a node's zones while `used` is taken of them. */
export function listFreeZones({ zones, rules }: NodeTopology, used: ZoneAmounts): FreeZones {
  const byCpu = zones.map((zone) => subtract(zone, used.get(zone.name) ?? NO_AMOUNTS));
  const perCore = 1_000 * (rules?.cpusPerCore ?? 1);
  const byCore = perCore === 1_000 ? byCpu : byCpu.map((free) => ({ ...free, cpu: free.cpu - (free.cpu % perCore) }));
  return { byCpu, byCore };
}

/** The free amount of a resource. */
export function freeOf({ cpu, others }: FreeZone, resource: string): number {
  return resource === CPU ? cpu : (others.get(resource) ?? 0);
}

/** The sum of the free amounts of a resource. */
export function sumFree(zones: readonly FreeZone[], resource: string): number {
  let sum = 0;
  for (const zone of zones) sum += freeOf(zone, resource);
  return sum;
}

function subtract({ name, allocatable }: Zone, used: Amounts): FreeZone {
  const others = new Map<string, number>();
  for (const [resource, amount] of allocatable)
    if (resource !== CPU) others.set(resource, Math.max(0, amount - (used.get(resource) ?? 0)));
  const allocatableCpu = allocatable.get(CPU) ?? 0;
  const cpu = Math.max(0, allocatableCpu - (used.get(CPU) ?? 0));
  return { name, allocatableCpu, cpu: cpu - (cpu % 1_000), others };
}
