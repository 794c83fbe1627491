import { join } from 'node:path';
import type { CpuSet } from '../../core/cpuset';
import { parseInteger, parseList, readOptional, readText, SysfsError } from './read-file';

/** Most directories `index<n>`: L1 data, L1 instruction, L2, L3, and some more. */
const MAX_INDEXES = 10;

interface Group {
  readonly cpus: CpuSet;
  /** The kernel's id of the cache, or the socket's id; undefined when the kernel has none. */
  readonly id: number | undefined;
}

/**
 * The uncore cache of each CPU: the group that shares one L3, or what is left of the socket for CPUs without L3.
 *
 * CPUs that share a cache form a group; the kernel's cache id does not decide, since some virtual machines give every core its own
 * id for the same cache. The id of a group is the kernel's if that is different for all groups, so that it stays when a CPU goes
 * offline; else it is the lowest online CPU of the group.
 */
export function readUncoreCaches(
  cpuRoot: string,
  online: CpuSet,
  socketOf: ReadonlyMap<number, number>,
): Map<number, number> {
  const groups: Group[] = [];
  const grouped = new Set<number>();
  const withoutL3 = new Map<number, number[]>();
  let indexHint = 3;
  for (const cpu of online) {
    // The directory of one CPU lists all CPUs of its cache, so the others need not be read.
    if (grouped.has(cpu)) continue;
    const cacheDirectory = join(cpuRoot, `cpu${cpu}/cache`);
    const index = findL3(cacheDirectory, indexHint);
    if (index === undefined) {
      const socket = socketOf.get(cpu)!;
      const others = withoutL3.get(socket);
      if (others) others.push(cpu);
      else withoutL3.set(socket, [cpu]);
      continue;
    }
    indexHint = index;
    const group = readGroup(join(cacheDirectory, `index${index}`), cpu, online, grouped);
    groups.push(group);
    for (const member of group.cpus) grouped.add(member);
  }
  return numberGroups(groups, withoutL3);
}

/** The number of the directory that describes the CPU's L3. Tries first where the last CPU had it. */
function findL3(cacheDirectory: string, hint: number): number | undefined {
  if (isL3(cacheDirectory, hint)) return hint;
  for (let index = 0; index < MAX_INDEXES; index++) {
    const found = isL3(cacheDirectory, index);
    if (found === undefined) return undefined;
    if (found) return index;
  }
  return undefined;
}

/** Undefined when there is no such directory. */
function isL3(cacheDirectory: string, index: number): boolean | undefined {
  const path = join(cacheDirectory, `index${index}/level`);
  const text = readOptional(path);
  return text === undefined ? undefined : parseInteger(path, text, 0) === 3;
}

function readGroup(directory: string, cpu: number, online: CpuSet, grouped: ReadonlySet<number>): Group {
  const path = join(directory, 'shared_cpu_list');
  const text = readText(path);
  const cpus = parseList(path, text).intersect(online);
  if (!cpus.has(cpu)) {
    throw new SysfsError(path, { found: `read "${text}"`, rule: `the list must contain CPU ${cpu} itself` });
  }
  for (const member of cpus) {
    if (grouped.has(member)) {
      const rule = `CPU ${member} shares another L3 that CPU ${cpu} is not part of, and a CPU has one L3 only`;
      throw new SysfsError(path, { found: `read "${text}"`, rule });
    }
  }
  const idPath = join(directory, 'id');
  const idText = readOptional(idPath);
  return { cpus, id: idText === undefined ? undefined : parseInteger(idPath, idText, 0) };
}

function numberGroups(
  groups: readonly Group[],
  withoutL3: ReadonlyMap<number, readonly number[]>,
): Map<number, number> {
  const named: { readonly id: number | undefined; readonly cpus: readonly number[] }[] = [];
  for (const [id, cpus] of withoutL3) named.push({ id, cpus });
  for (const { id, cpus } of groups) named.push({ id, cpus: cpus.toArray() });
  const distinct = new Set(named.map(({ id }) => id));
  const useIds = distinct.size === named.length && !distinct.has(undefined);
  const cacheOf = new Map<number, number>();
  for (const { id, cpus } of named) for (const cpu of cpus) cacheOf.set(cpu, useIds ? id! : cpus[0]!);
  return cacheOf;
}
