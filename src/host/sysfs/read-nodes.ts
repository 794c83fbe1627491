import { join } from 'node:path';
import type { MemoryNode } from '../../core/topology';
import { parseInteger, parseList, quote, readOptional, readText, SysfsError } from './read-file';

export interface Nodes {
  /** The NUMA node of each CPU that has one. */
  readonly nodeOf: ReadonlyMap<number, number>;
  /** Nodes without CPUs and nodes without memory included; empty when the kernel has no NUMA support. */
  readonly memoryNodes: readonly MemoryNode[];
}

/** Reads the directory `node` of sysfs. Throws SysfsError. */
export function readNodes(nodeRoot: string): Nodes {
  const nodeOf = new Map<number, number>();
  const memoryNodes: MemoryNode[] = [];
  const onlinePath = join(nodeRoot, 'online');
  const online = parseList(onlinePath, readOptional(onlinePath) ?? '').toArray();
  for (const id of online) {
    const directory = join(nodeRoot, `node${id}`);
    const cpuListPath = join(directory, 'cpulist');
    for (const cpu of parseList(cpuListPath, readText(cpuListPath))) {
      const other = nodeOf.get(cpu);
      if (other !== undefined) {
        const rule = 'a CPU is on one node only';
        throw new SysfsError(cpuListPath, { found: `CPU ${cpu} is listed, and on node ${other} too`, rule });
      }
      nodeOf.set(cpu, id);
    }
    memoryNodes.push({
      id,
      memoryBytes: readMemory(join(directory, 'meminfo')),
      distances: readDistances(directory, online),
    });
  }
  return { nodeOf, memoryNodes };
}

/** `Node 0 MemTotal:  992092 kB` */
function readMemory(path: string): number {
  const text = readText(path);
  const match = /^Node \d+ MemTotal:\s+(\d{1,12}) kB$/m.exec(text);
  if (!match)
    throw new SysfsError(path, { found: `read ${quote(text)}`, rule: 'a line "Node N MemTotal: ... kB" is expected' });
  return Number(match[1]) * 1024;
}

/** One number for each online node, in the order of their ids: `10 21`. */
function readDistances(directory: string, onlineNodes: readonly number[]): Map<number, number> {
  const path = join(directory, 'distance');
  const text = readText(path);
  const values = text.split(/\s+/);
  if (values.length !== onlineNodes.length) {
    const rule = `one distance for each of the ${onlineNodes.length} online nodes is expected`;
    throw new SysfsError(path, { found: `read ${quote(text)}`, rule });
  }
  return new Map(onlineNodes.map((node, i) => [node, parseInteger(path, values[i]!, 1)]));
}
