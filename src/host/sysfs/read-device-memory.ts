import { join } from 'node:path';
import { CpuSet } from '../../core/cpuset';
import type { MemoryNode } from '../../core/topology';
import { readBounded } from '../../files/read-bounded';
import type { Ignored } from './ignored';
import { listNames, parseList, readText } from './read-file';

/** The access that CPUs have is class 1; class 0 may name an accelerator. Documentation/admin-guide/mm/numaperf.rst. */
const ACCESS_CLASSES = ['access1', 'access0'];
const MAX_STATUS_BYTES = 4096;

export type DeviceMemory = Pick<MemoryNode, 'initiators' | 'tier' | 'isOfGpu'>;

/**
 * The facts about memory nodes that have no CPUs, by node: which CPUs they are nearest to (HMAT), how fast they are
 * (memory tiers), and whether they are the memory of a GPU. Costs nothing on a machine without such nodes.
 */
export function readDeviceMemory(
  { sysfsRoot, procRoot }: { readonly sysfsRoot: string; readonly procRoot: string },
  nodes: CpuSet,
  ignored: Ignored,
): ReadonlyMap<number, DeviceMemory> {
  if (nodes.isEmpty) return new Map();
  const tierOf = readTiers(join(sysfsRoot, 'devices/virtual/memory_tiering'), ignored);
  const gpus = readGpuNodes(join(procRoot, 'driver/nvidia/gpus'));
  return new Map(
    [...nodes].map((id) => {
      const initiators = readInitiators(join(sysfsRoot, `devices/system/node/node${id}`));
      const tier = tierOf.get(id);
      return [
        id,
        {
          ...(initiators && { initiators }),
          ...(tier !== undefined && { tier }),
          ...(gpus.has(id) && { isOfGpu: true as const }),
        },
      ];
    }),
  );
}

/** Links `node0`, `node2` in `access1/initiators`. */
function readInitiators(directory: string): CpuSet | undefined {
  for (const access of ACCESS_CLASSES) {
    const nodes = listNames(join(directory, access, 'initiators')).flatMap((name) => {
      const match = /^node(\d{1,4})$/.exec(name);
      return match ? [Number(match[1])] : [];
    });
    if (nodes.length > 0) return CpuSet.of(nodes);
  }
  return undefined;
}

/** `memory_tier4/nodelist` has `0-1`. */
function readTiers(directory: string, ignored: Ignored): Map<number, number> {
  const tierOf = new Map<number, number>();
  for (const name of listNames(directory)) {
    const match = /^memory_tier(\d{1,6})$/.exec(name);
    if (!match) continue;
    const path = join(directory, name, 'nodelist');
    const nodes = ignored.attempt(() => parseList(path, readText(path)), CpuSet.empty, 'this memory tier is not known');
    for (const node of nodes) tierOf.set(node, Number(match[1]));
  }
  return tierOf;
}

/** NVIDIA's driver names the node of a GPU's memory: `Node:  255`. hwloc reads the same file. */
function readGpuNodes(directory: string): ReadonlySet<number> {
  return new Set(
    listNames(directory).flatMap((gpu) => {
      const read = readBounded(join(directory, gpu, 'numa_status'), MAX_STATUS_BYTES);
      const match = read.ok ? /^Node:\s*(\d{1,6})\s*$/m.exec(read.text) : null;
      return match ? [Number(match[1])] : [];
    }),
  );
}
