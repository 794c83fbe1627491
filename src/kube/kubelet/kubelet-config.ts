import type { KubeletCgroups } from '../../core/inference/kubepods';
import { asArray, asObject, asString, type JsonObject } from '../json';
import { parseMilli, parseQuantity, parseWhole } from '../quantity';

/** Reservations beside CPU. Memory and ephemeral storage in bytes, pid as a count. */
export type ReservedAmounts = Readonly<Partial<Record<(typeof BESIDE_CPU)[number], number>>>;

/**
 * The part of the kubelet's configuration that concerns CPUs and cgroups, and the reservations that schedulers need.
 */
export interface KubeletConfig extends KubeletCgroups {
  readonly cpuManagerPolicy: 'none' | 'static';
  /** Absent for a policy that chooses no memory nodes. */
  readonly memoryManagerPolicy?: 'Static';
  /** Absent for `none`. */
  readonly topologyManagerPolicy?: (typeof ALIGNING)[number];
  /** The list as written; it replaces the counts. */
  readonly reservedSystemCpus?: string;
  /** CPU of kubeReserved and systemReserved together; 0 when nothing is reserved. */
  readonly reservedMilliCpu: number;
  /** The other resources of kubeReserved and systemReserved together; absent when they name none. */
  readonly reserved?: ReservedAmounts;
  /** The threshold `memory.available` of evictionHard, in bytes or like `5%`; absent = the kubelet's default. */
  readonly evictionMemory?: number | `${number}%`;
  /** The memory manager's reservation, in bytes by the id of the NUMA node. */
  readonly reservedMemory?: Readonly<Record<string, number>>;
}

const BESIDE_CPU = ['memory', 'ephemeral-storage', 'pid'] as const;
/** Policies of its topology manager that look at NUMA nodes. */
const ALIGNING = ['best-effort', 'restricted', 'single-numa-node'] as const;
const RESERVABLE: readonly string[] = ['cpu', ...BESIDE_CPU];

/**
 * Reads a KubeletConfiguration from a file or from configz; undefined for any other document. Throws Error for a
 * reservation that no kubelet would start with, in a sentence for the operator.
 */
export function readKubeletConfig(document: unknown): KubeletConfig | undefined {
  const outer = asObject(document);
  const config = asObject(outer['kubeletconfig'] ?? document);
  const isConfig = 'kubeletconfig' in outer || config['kind'] === 'KubeletConfiguration';
  if (!isConfig) return undefined;
  const list = asString(config['reservedSystemCPUs']).trim();
  const reservations = ['kubeReserved', 'systemReserved'].map((field) => readReservation(config, field));
  const reserved = addUp(reservations);
  const evictionMemory = readEviction(config);
  const reservedMemory = readReservedMemory(config);
  const topologyManagerPolicy = ALIGNING.find((policy) => policy === config['topologyManagerPolicy']);
  return {
    cpuManagerPolicy: asString(config['cpuManagerPolicy']) === 'static' ? 'static' : 'none',
    ...(config['memoryManagerPolicy'] === 'Static' && { memoryManagerPolicy: 'Static' }),
    ...(topologyManagerPolicy && { topologyManagerPolicy }),
    ...(list !== '' && { reservedSystemCpus: list }),
    reservedMilliCpu: reservations.reduce((sum, { milliCpu }) => sum + milliCpu, 0),
    ...(Object.keys(reserved).length > 0 && { reserved }),
    ...(evictionMemory !== undefined && { evictionMemory }),
    ...(reservedMemory && { reservedMemory }),
    ...readCgroups(config),
  };
}

function readCgroups({ cgroupRoot, cgroupDriver, cgroupsPerQOS }: JsonObject): KubeletCgroups {
  const root = asString(cgroupRoot).trim();
  return {
    ...(root !== '' && { cgroupRoot: root }),
    ...((cgroupDriver === 'systemd' || cgroupDriver === 'cgroupfs') && { cgroupDriver }),
    ...(cgroupsPerQOS === false && { cgroupsPerQos: false }),
  };
}

interface Reservation {
  readonly milliCpu: number;
  readonly amounts: ReservedAmounts;
}

function readReservation(config: JsonObject, field: string): Reservation {
  const reservation = asObject(config[field]);
  const unsupported = Object.keys(reservation).find((name) => !RESERVABLE.includes(name));
  if (unsupported !== undefined)
    throw new Error(
      `${field} names ${JSON.stringify(unsupported)}; the kubelet reserves only ${RESERVABLE.join(', ')}`,
    );
  const amounts: Partial<Record<keyof ReservedAmounts, number>> = {};
  for (const name of BESIDE_CPU)
    if (reservation[name] !== undefined) amounts[name] = readAmount(reservation[name], `${field}.${name}`, parseWhole);
  const { cpu } = reservation;
  return { milliCpu: cpu === undefined ? 0 : readAmount(cpu, `${field}.cpu`, parseMilli), amounts };
}

function readAmount(text: unknown, field: string, parse: (text: unknown) => number | undefined): number {
  const amount = parse(text);
  if (amount !== undefined) return amount;
  const isNegative = (parseQuantity(text) ?? 0n) < 0n;
  throw new Error(
    `${field} is ${JSON.stringify(text)}, ${isNegative ? 'which is negative' : 'which is no quantity'}; write it like 500m or 1Gi`,
  );
}

function addUp(reservations: readonly Reservation[]): ReservedAmounts {
  const sums: Partial<Record<keyof ReservedAmounts, number>> = {};
  for (const { amounts } of reservations)
    for (const name of BESIDE_CPU) {
      const amount = amounts[name];
      if (amount !== undefined) sums[name] = (sums[name] ?? 0) + amount;
    }
  return sums;
}

function readEviction({ evictionHard }: JsonObject): KubeletConfig['evictionMemory'] {
  if (evictionHard === undefined || evictionHard === null) return undefined;
  const threshold = asObject(evictionHard)['memory.available'];
  if (threshold === undefined) return 0;
  const [, percent] = /^(\d{1,3}(?:\.\d+)?)%$/.exec(asString(threshold)) ?? [];
  return percent === undefined
    ? readAmount(threshold, 'evictionHard["memory.available"]', parseWhole)
    : `${Number(percent)}%`;
}

function readReservedMemory({ reservedMemory }: JsonObject): Readonly<Record<string, number>> | undefined {
  const byNode: Record<string, number> = {};
  for (const [i, entry] of asArray(reservedMemory).map(asObject).entries()) {
    const { numaNode, limits } = entry;
    const { memory } = asObject(limits);
    if (typeof numaNode !== 'number' || memory === undefined) continue;
    const field = `reservedMemory[${i}].limits.memory`;
    byNode[numaNode] = (byNode[numaNode] ?? 0) + readAmount(memory, field, parseWhole);
  }
  return Object.keys(byNode).length > 0 ? byNode : undefined;
}
