import { join } from 'node:path';
import { CpuSet } from '../../core/cpuset';
import { buildTopology, type CpuInfo, type Topology } from '../../core/topology';
import { parseInteger, parseList, readOptional, readText, SysfsError } from './read-file';
import { readNodes } from './read-nodes';
import { readOnline } from './online';
import { readUncoreCaches } from './read-uncore-caches';

const ATTEMPTS = 3;

/**
 * Reads the machine from sysfs.
 *
 * The id of a core is its lowest online CPU (the kernel's core_id repeats in every socket and die). Socket and node ids are the
 * kernel's; they are 0 when the socket is unknown, and without NUMA. Offline CPUs have no topology in sysfs and are left out.
 *
 * Throws SysfsError when a file is missing, malformed or contradicts another.
 */
export function readTopology({ sysfsRoot }: { readonly sysfsRoot: string }): Topology {
  for (let attempt = 1; ; attempt++) {
    const online = readOnline(sysfsRoot);
    try {
      const topology = readOnce(sysfsRoot, online);
      if (attempt === ATTEMPTS || readOnline(sysfsRoot).equals(online)) return topology;
    } catch (error) {
      // The files of a CPU disappear when it goes offline; then the next attempt reads without it.
      if (attempt === ATTEMPTS || readOnline(sysfsRoot).equals(online)) throw error;
    }
  }
}

function readOnce(sysfsRoot: string, online: CpuSet): Topology {
  const cpuRoot = join(sysfsRoot, 'devices/system/cpu');
  const nodes = readNodes(join(sysfsRoot, 'devices/system/node'));
  const coreOf = readCores(cpuRoot, online);
  const socketOf = readSockets(cpuRoot, online);
  const cacheOf = readUncoreCaches(cpuRoot, online, socketOf);
  const cpus: CpuInfo[] = [];
  for (const id of online) {
    cpus.push({
      id,
      core: coreOf.get(id)!,
      socket: socketOf.get(id)!,
      numaNode: nodes.nodeOf.get(id) ?? 0,
      uncoreCache: cacheOf.get(id)!,
    });
  }
  const isolatedPath = join(cpuRoot, 'isolated');
  return buildTopology({
    cpus,
    isolated: parseList(isolatedPath, readOptional(isolatedPath) ?? ''),
    memoryNodes: nodes.memoryNodes,
  });
}

/** The core of each CPU. Siblings must agree about each other. */
function readCores(cpuRoot: string, online: CpuSet): Map<number, number> {
  const coreOf = new Map<number, number>();
  const siblingsOf = new Map<number, CpuSet>();
  for (const cpu of online) {
    const { path, text } = readSiblings(join(cpuRoot, `cpu${cpu}/topology`));
    const siblings = parseList(path, text).intersect(online);
    if (!siblings.has(cpu)) {
      throw new SysfsError(path, { found: `read "${text}"`, rule: `the list must contain CPU ${cpu} itself` });
    }
    const core = siblings.first!;
    const first = siblingsOf.get(core);
    if (core !== cpu && !first?.equals(siblings)) {
      const rule = `CPU ${core} names "${first?.toString() ?? ''}" as the CPUs of its core, and siblings must agree`;
      throw new SysfsError(path, { found: `read "${text}"`, rule });
    }
    siblingsOf.set(cpu, siblings);
    coreOf.set(cpu, core);
  }
  return coreOf;
}

/** `thread_siblings_list` is the name of `core_cpus_list` before Linux 5.3. */
function readSiblings(directory: string): { readonly path: string; readonly text: string } {
  const path = join(directory, 'core_cpus_list');
  const text = readOptional(path);
  if (text !== undefined) return { path, text };
  const oldPath = join(directory, 'thread_siblings_list');
  return { path: oldPath, text: readText(oldPath) };
}

/** The package of each CPU. Some ARM machines and VMs have -1, "unknown": they get one socket with id 0. */
function readSockets(cpuRoot: string, online: CpuSet): Map<number, number> {
  const socketOf = new Map<number, number>();
  for (const cpu of online) {
    const path = join(cpuRoot, `cpu${cpu}/topology/physical_package_id`);
    socketOf.set(cpu, Math.max(0, parseInteger(path, readText(path), -1)));
  }
  return socketOf;
}
