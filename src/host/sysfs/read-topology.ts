import { join } from 'node:path';
import { CpuSet } from '../../core/cpuset';
import { buildTopology, type CpuInfo, type Topology } from '../../core/topology';
import { Ignored } from './ignored';
import { parseList, readOptional, readText, SysfsError } from './read-file';
import { readCaches } from './read-caches';
import { readCoreKinds } from './read-core-kinds';
import { readNodes } from './read-nodes';
import { readOnline } from './online';
import { readSockets } from './read-sockets';

const ATTEMPTS = 3;

export interface TopologySource {
  /** The folder that stands for /sys. */
  readonly sysfsRoot: string;
  /** The folder that stands for /proc, of which only the list of GPUs is read. */
  readonly procRoot?: string;
}

/**
 * Reads the machine from sysfs.
 *
 * The id of a core is its lowest online CPU (the kernel's core_id repeats in every socket and die). Offline CPUs have
 * no topology in sysfs and are left out. Pinning needs the online CPUs and their cores: SysfsError is thrown when these
 * can't be read. Everything else that is missing, malformed or contradictory is left out, and named in `ignored`.
 */
export function readTopology(source: TopologySource): Topology {
  const { sysfsRoot } = source;
  for (let attempt = 1; ; attempt++) {
    const online = readOnline(sysfsRoot);
    try {
      const topology = readOnce(source, online);
      if (attempt === ATTEMPTS || readOnline(sysfsRoot).equals(online)) return topology;
    } catch (error) {
      // The files of a CPU disappear when it goes offline; then the next attempt reads without it.
      if (attempt === ATTEMPTS || readOnline(sysfsRoot).equals(online)) throw error;
    }
  }
}

function readOnce({ sysfsRoot, procRoot = '/proc' }: TopologySource, online: CpuSet): Topology {
  const ignored = new Ignored();
  const cpuRoot = join(sysfsRoot, 'devices/system/cpu');
  const nodes = readNodes({ sysfsRoot, procRoot, online }, ignored);
  const cores = readCores(cpuRoot, online, ignored);
  const coreOf = new Map(cores.flatMap((cpus) => [...cpus].map((cpu) => [cpu, cpus.first!] as const)));
  const socketOf = readSockets(cpuRoot, online, ignored);
  const caches = readCaches(cpuRoot, online, { coreOf, socketOf }, ignored);
  const cpus: CpuInfo[] = [];
  for (const id of online) {
    cpus.push({
      id,
      core: coreOf.get(id)!,
      socket: socketOf.get(id)!,
      numaNode: nodes.nodeOf.get(id) ?? 0,
      uncoreCache: caches.cacheOf.get(id)!,
    });
  }
  const isolatedPath = join(cpuRoot, 'isolated');
  const isolated = ignored.attempt(
    () => parseList(isolatedPath, readOptional(isolatedPath) ?? ''),
    CpuSet.empty,
    'no CPU is taken to be isolated',
  );
  return buildTopology({
    cpus,
    isolated,
    memoryNodes: nodes.memoryNodes,
    cacheLevels: caches.levels,
    coreKinds: readCoreKinds(sysfsRoot, cores, ignored),
    ignored: ignored.list(),
  });
}

/** The online CPUs of each core. Where siblings contradict each other, the list of the lowest CPU counts. */
function readCores(cpuRoot: string, online: CpuSet, ignored: Ignored): readonly CpuSet[] {
  const cores: CpuSet[] = [];
  const coreOf = new Map<number, CpuSet>();
  for (const cpu of online) {
    const { path, text } = readSiblings(join(cpuRoot, `cpu${cpu}/topology`));
    const siblings = parseList(path, text).intersect(online);
    if (!siblings.has(cpu)) {
      throw new SysfsError(path, { found: `read "${text}"`, rule: `the list must contain CPU ${cpu} itself` });
    }
    const known = coreOf.get(cpu) ?? CpuSet.of([...siblings].filter((sibling) => !coreOf.has(sibling)));
    if (!known.equals(siblings))
      ignored.add(
        `${path}: read "${text}"; siblings must agree about the CPUs of their core`,
        `CPUs ${known.toString()} are taken to be one core`,
      );
    if (coreOf.has(cpu)) continue;
    cores.push(known);
    for (const sibling of known) coreOf.set(sibling, known);
  }
  return cores;
}

/** `thread_siblings_list` is the name of `core_cpus_list` before Linux 5.3. */
function readSiblings(directory: string): { readonly path: string; readonly text: string } {
  const path = join(directory, 'core_cpus_list');
  const text = readOptional(path);
  if (text !== undefined) return { path, text };
  const oldPath = join(directory, 'thread_siblings_list');
  return { path: oldPath, text: readText(oldPath) };
}
