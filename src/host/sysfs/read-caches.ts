import { dirname, join } from 'node:path';
import { CpuSet } from '../../core/cpuset';
import type { CacheLevel } from '../../core/topology';
import { groupByList } from './group-by-list';
import type { Ignored } from './ignored';
import { numberGroups, type Group } from './number-groups';
import { parseInteger, readOptional } from './read-file';

/** Most directories `index<n>`: L1 data, L1 instruction, L2, L3, and some more. */
const MAX_INDEXES = 10;

export interface Caches {
  /** The uncore cache of each CPU. */
  readonly cacheOf: ReadonlyMap<number, number>;
  /** The level of each cache that is no L3. */
  readonly levels: ReadonlyMap<number, CacheLevel>;
}

export interface Units {
  readonly coreOf: ReadonlyMap<number, number>;
  readonly socketOf: ReadonlyMap<number, number>;
}

interface CacheGroup extends Group {
  readonly level: CacheLevel;
}

/**
 * The uncore cache of each CPU: the CPUs that share one L3. Where there is none: those that share an L2 across cores,
 * else those of one cluster, else what is left of the socket, of which nothing is known.
 *
 * The kernel's lists decide; its number of a cache is only the name, since some virtual machines give every core its
 * own number for the same cache.
 */
export function readCaches(cpuRoot: string, online: CpuSet, units: Units, ignored: Ignored): Caches {
  const groups: CacheGroup[] = [];
  const left = (): CpuSet => online.minus(CpuSet.unionOf(groups.map(({ cpus }) => cpus)));
  groups.push(...groupByLevel(cpuRoot, left(), 3, ignored));
  const spansCores = ({ cpus }: Group): boolean => new Set([...cpus].map((cpu) => units.coreOf.get(cpu))).size > 1;
  if (!left().isEmpty) groups.push(...groupByLevel(cpuRoot, left(), 2, ignored).filter(spansCores));
  if (!left().isEmpty) groups.push(...groupByCluster(cpuRoot, left(), ignored).filter(spansCores));
  groups.push(...groupBySocket(left(), units));
  const numbers = numberGroups(groups);
  return {
    cacheOf: new Map(groups.flatMap(({ cpus }, i) => [...cpus].map((cpu) => [cpu, numbers[i]!] as const))),
    levels: new Map(groups.flatMap(({ level }, i) => (level === 'L3' ? [] : [[numbers[i]!, level] as const]))),
  };
}

function groupByLevel(cpuRoot: string, cpus: CpuSet, level: 2 | 3, ignored: Ignored): CacheGroup[] {
  let hint = 3;
  const pathsOf = (cpu: number): readonly string[] => {
    const cache = join(cpuRoot, `cpu${cpu}/cache`);
    const index = findLevel(cache, level, hint, ignored);
    if (index === undefined) return [];
    hint = index;
    return [join(cache, `index${index}/shared_cpu_list`)];
  };
  return groupByList(cpus, { what: `L${level}`, pathsOf }, ignored).map((group) => ({
    cpus: group.cpus,
    id: readId(dirname(group.path), ignored),
    level: `L${level}`,
  }));
}

/** The number of the directory that describes a CPU's cache of this level. Tries first where the last CPU had it. */
function findLevel(cache: string, level: number, hint: number, ignored: Ignored): number | undefined {
  if (readLevel(cache, hint, ignored) === level) return hint;
  for (let index = 0; index < MAX_INDEXES; index++) {
    const found = readLevel(cache, index, ignored);
    if (found === undefined) return undefined;
    if (found === level) return index;
  }
  return undefined;
}

/** Undefined when there is no such directory. */
function readLevel(cache: string, index: number, ignored: Ignored): number | undefined {
  const path = join(cache, `index${index}/level`);
  const read = (): number | undefined => {
    const text = readOptional(path);
    return text === undefined ? undefined : parseInteger(path, text, 0);
  };
  return ignored.attempt(read, 0, 'this cache is left out');
}

function readId(directory: string, ignored: Ignored): number | undefined {
  const path = join(directory, 'id');
  const read = (): number | undefined => {
    const text = readOptional(path);
    return text === undefined ? undefined : parseInteger(path, text, 0);
  };
  return ignored.attempt(read, undefined, 'the number of this cache is not known');
}

function groupByCluster(cpuRoot: string, cpus: CpuSet, ignored: Ignored): CacheGroup[] {
  const pathsOf = (cpu: number): readonly string[] => [join(cpuRoot, `cpu${cpu}/topology/cluster_cpus_list`)];
  return groupByList(cpus, { what: 'cluster', pathsOf }, ignored).map((group) => ({
    cpus: group.cpus,
    id: undefined,
    level: 'cluster',
  }));
}

function groupBySocket(cpus: CpuSet, { socketOf }: Units): CacheGroup[] {
  const groups = new Map<number, number[]>();
  for (const cpu of cpus) {
    const socket = socketOf.get(cpu)!;
    groups.set(socket, [...(groups.get(socket) ?? []), cpu]);
  }
  return [...groups].map(([id, ids]) => ({ cpus: CpuSet.of(ids), id, level: 'none' }));
}
