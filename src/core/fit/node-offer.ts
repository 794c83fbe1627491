import { CPU, NO_AMOUNTS, type Amounts, type ZoneAmounts } from './amounts';
import type { NodeRules } from './node-rules';

/** All that a node publishes of its zones, as far as it decides whether a pod fits. */
export interface NodeOffer {
  /** CPUs are given by cpusetd, or by Crane's agent; else the kubelet chooses them. */
  readonly isStatic: boolean;
  /** Pods that do not say otherwise get all their CPUs in one zone. */
  readonly isAware: boolean;
  /**
   * A scheduler writes into each pod which zones it gets, and counts by that; else the node chooses alone, and says
   * what is free.
   */
  readonly byResults: boolean;
  readonly zones: readonly OfferedZone[];
  /**
   * CPU that all zones can give together, in thousandths: the shared pool keeps some wherever they are. Absent = their
   * sum.
   */
  readonly bound?: number;
  /** Absent for a node without cpusetd. `unreadable`: of a newer version, or damaged. */
  readonly rules?: NodeRules | 'unreadable';
}

/** A NUMA node. */
export interface OfferedZone {
  readonly name: string;
  /** CPU of the zone, in thousandths, also what can't be allocated. */
  readonly capacityCpu: number;
  readonly allocatable: Amounts;
  /** CPU in thousandths that can be given; absent = what is allocatable. */
  readonly room?: ZoneRoom;
}

export interface ZoneRoom {
  readonly cpu: number;
  /** The part of it in cores that are free as a whole. */
  readonly whole: number;
}

/** A zone with the amounts that are free in it; never negative. */
export interface FreeZone {
  readonly name: string;
  readonly capacityCpu: number;
  /** CPU of the zone that can be given, in thousandths, free or not. */
  readonly allocatableCpu: number;
  /** CPUs in thousandths, whole ones or whole cores. */
  readonly cpu: number;
  /** The free amounts of all resources but CPU. */
  readonly others: Amounts;
}

/** The zones of a node, in its order, for pods that get whole CPUs there, and for those that get whole cores. */
export interface FreeRoom {
  readonly byCpu: readonly FreeZone[];
  /** The same list where any number of CPUs is given. */
  readonly byCore: readonly FreeZone[];
  /** CPU that all zones can give together, in thousandths; Infinity = all that they have. */
  readonly bound: number;
}

/** The amounts that are free in a node's zones while `used` is taken of them. */
export function freeRoomOf({ zones, rules, bound }: NodeOffer, used: ZoneAmounts): FreeRoom {
  const byCpu = zones.map((zone) => subtract(zone, used.get(zone.name) ?? NO_AMOUNTS, 'cpu', 1_000));
  const perCore = 1_000 * (rules === undefined || rules === 'unreadable' ? 1 : rules.cpusPerCore);
  const byCore =
    perCore === 1_000
      ? byCpu
      : zones.map((zone) => subtract(zone, used.get(zone.name) ?? NO_AMOUNTS, 'whole', perCore));
  return { byCpu, byCore, bound: bound === undefined ? Infinity : Math.max(0, bound - sumUsed(zones, used)) };
}

/** True when these amounts are free in the zones while `used` is taken by others. */
export function hasRoomFor(offer: NodeOffer, used: ZoneAmounts, wanted: ZoneAmounts): boolean {
  const { byCpu, bound } = freeRoomOf(offer, used);
  let cpu = 0;
  for (const [name, amounts] of wanted) {
    const zone = byCpu.find((candidate) => candidate.name === name);
    for (const [resource, amount] of amounts) if (amount > (zone ? freeOf(zone, resource) : 0)) return false;
    cpu += amounts.get(CPU) ?? 0;
  }
  return cpu <= bound;
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

function sumUsed(zones: readonly OfferedZone[], used: ZoneAmounts): number {
  let sum = 0;
  for (const { name } of zones) sum += used.get(name)?.get(CPU) ?? 0;
  return sum;
}

/** The free amounts of all resources but CPU. */
function subtractOthers(allocatable: Amounts, used: Amounts): Amounts {
  const others = new Map<string, number>();
  for (const [resource, amount] of allocatable)
    if (resource !== CPU) others.set(resource, Math.max(0, amount - (used.get(resource) ?? 0)));
  return others.size === 0 ? NO_AMOUNTS : others;
}

function subtract(
  { name, capacityCpu, allocatable, room }: OfferedZone,
  used: Amounts,
  part: keyof ZoneRoom,
  unit: number,
): FreeZone {
  const others = subtractOthers(allocatable, used);
  const allocatableCpu = room ? room[part] : (allocatable.get(CPU) ?? 0);
  const cpu = Math.max(0, allocatableCpu - (used.get(CPU) ?? 0));
  return { name, capacityCpu, allocatableCpu, cpu: cpu - (cpu % unit), others };
}
