import { join } from 'node:path';
import { CpuSet } from '../../core/cpuset';
import { HugePageAmounts, nameHugePages } from '../../core/huge-pages';
import type { MemoryNode } from '../../core/topology';
import type { Ignored } from './ignored';
import { readDeviceMemory } from './read-device-memory';
import { listNames, parseInteger, parseList, quote, readOptional, readText, SysfsError } from './read-file';

export interface Nodes {
  /** The NUMA node of each online CPU that has one. */
  readonly nodeOf: ReadonlyMap<number, number>;
  /** Nodes without CPUs and nodes without memory included; empty when the kernel has no NUMA support. */
  readonly memoryNodes: readonly MemoryNode[];
}

export interface NodesSource {
  /** The folder that stands for /sys. */
  readonly sysfsRoot: string;
  /** The folder that stands for /proc. */
  readonly procRoot: string;
  readonly online: CpuSet;
}

/**
 * Reads the NUMA nodes. A CPU that several nodes list is on the first of them: emulated nodes (`numa=fake`) have all
 * the same CPUs, and then count as one node with the memory of all. Throws SysfsError for a file that can't be read at
 * all.
 */
export function readNodes(source: NodesSource, ignored: Ignored): Nodes {
  const nodeRoot = join(source.sysfsRoot, 'devices/system/node');
  const onlinePath = join(nodeRoot, 'online');
  const ids = ignored.attempt(
    () => parseList(onlinePath, readOptional(onlinePath) ?? '').toArray(),
    [],
    'all CPUs are taken to be on one NUMA node',
  );
  const cpusOf = new Map(ids.map((id) => [id, readCpus(nodeRoot, id, source.online, ignored)]));
  const nodeOf = placeCpus(cpusOf, ignored);
  placeRest(nodeRoot, nodeOf, source.online, cpusOf, ignored);
  const withoutCpus = CpuSet.of(ids.filter((id) => cpusOf.get(id)!.isEmpty));
  const device = readDeviceMemory(source, withoutCpus, ignored);
  const memoryNodes = ids.map((id) => ({
    id,
    cpus: cpusOf.get(id)!,
    memoryBytes: readMemory(nodeRoot, id, ignored),
    ...readHugePages(join(nodeRoot, `node${id}/hugepages`), ignored),
    distances: readDistances(nodeRoot, id, ids, ignored),
    ...device.get(id),
  }));
  return { nodeOf, memoryNodes };
}

function readCpus(nodeRoot: string, id: number, online: CpuSet, ignored: Ignored): CpuSet {
  const path = join(nodeRoot, `node${id}/cpulist`);
  return ignored.attempt(
    () => parseList(path, readText(path)).intersect(online),
    CpuSet.empty,
    `node ${id} counts as one without CPUs`,
  );
}

/** The first node that lists a CPU has it. */
function placeCpus(cpusOf: ReadonlyMap<number, CpuSet>, ignored: Ignored): Map<number, number> {
  const nodeOf = new Map<number, number>();
  const sameAs = new Map<number, number[]>();
  for (const [id, cpus] of cpusOf) {
    const others = CpuSet.of([...cpus].flatMap((cpu) => nodeOf.get(cpu) ?? []));
    for (const cpu of cpus) if (!nodeOf.has(cpu)) nodeOf.set(cpu, id);
    const [other] = others;
    if (other === undefined) continue;
    if (cpusOf.get(other)!.equals(cpus)) sameAs.set(other, [...(sameAs.get(other) ?? []), id]);
    else {
      const taken = CpuSet.of([...cpus].filter((cpu) => nodeOf.get(cpu) !== id));
      ignored.add(
        `NUMA node ${id} lists CPUs ${taken.toString()}, which NUMA node ${others.toString()} has too`,
        `the node with the lowest number has them`,
      );
    }
  }
  for (const [id, same] of sameAs)
    ignored.add(
      `NUMA nodes ${CpuSet.of([id, ...same]).toString()} all list CPUs ${cpusOf.get(id)!.toString()}`,
      `they count as node ${id}, with the memory of all`,
    );
  return nodeOf;
}

/** CPUs that no node lists are on the first node with CPUs, so that none is on a node that does not exist. */
function placeRest(
  nodeRoot: string,
  nodeOf: Map<number, number>,
  online: CpuSet,
  cpusOf: ReadonlyMap<number, CpuSet>,
  ignored: Ignored,
): void {
  const rest = CpuSet.of([...online].filter((cpu) => !nodeOf.has(cpu)));
  const node = [...cpusOf.keys()].find((id) => !cpusOf.get(id)!.isEmpty) ?? [...cpusOf.keys()][0];
  if (rest.isEmpty || node === undefined) return;
  ignored.add(`${nodeRoot}: no NUMA node lists CPUs ${rest.toString()}`, `they are taken to be on node ${node}`);
  for (const cpu of rest) nodeOf.set(cpu, node);
}

/** `Node 0 MemTotal:  992092 kB` */
function readMemory(nodeRoot: string, id: number, ignored: Ignored): number {
  const path = join(nodeRoot, `node${id}/meminfo`);
  const read = (): number => {
    const text = readText(path);
    const match = /^Node \d+ MemTotal:\s+(\d{1,12}) kB$/m.exec(text);
    if (match) return Number(match[1]) * 1024;
    throw new SysfsError(path, { found: `read ${quote(text)}`, rule: 'a line "Node N MemTotal: ... kB" is expected' });
  };
  return ignored.attempt(read, 0, `node ${id} counts as one without memory`);
}

/** `hugepages-2048kB/nr_hugepages` has the number of pages that are set aside, in use or not. */
function readHugePages(directory: string, ignored: Ignored): Pick<MemoryNode, 'hugePages'> {
  const amounts = new HugePageAmounts();
  for (const name of listNames(directory)) {
    const pageKib = Number(/^hugepages-(\d{1,9})kB$/.exec(name)?.[1]);
    const path = join(directory, name, 'nr_hugepages');
    const count = ignored.attempt(
      () => parseInteger(path, readText(path), 0),
      0,
      'these pages are taken not to be there',
    );
    amounts.set(nameHugePages(pageKib), count * pageKib * 1024);
  }
  return amounts.all ? { hugePages: amounts.all } : {};
}

/** One number for each online node, in the order of their ids: `10 21`. */
function readDistances(nodeRoot: string, id: number, nodes: readonly number[], ignored: Ignored): Map<number, number> {
  const path = join(nodeRoot, `node${id}/distance`);
  const read = (): Map<number, number> => {
    const text = readText(path);
    const values = text.split(/\s+/);
    if (values.length !== nodes.length) {
      const rule = `one distance for each of the ${nodes.length} online nodes is expected`;
      throw new SysfsError(path, { found: `read ${quote(text)}`, rule });
    }
    return new Map(nodes.map((node, i) => [node, parseInteger(path, values[i]!, 1)]));
  };
  return ignored.attempt(read, new Map<number, number>(), `the distances of node ${id} are not known`);
}
