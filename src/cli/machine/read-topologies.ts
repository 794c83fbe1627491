import * as z from 'zod/mini';

import { buildTopology, type Topology } from '../../core/topology';
import { readBounded } from '../../files/read-bounded';
import { UsageError } from '../context';
import { explainSchemaFault } from '../format/schema-fault';

const id = z.int().check(z.minimum(0));

/** Largest number of CPUs that Linux can be built for. */
const MAX_CPUS = 8192;

/** A machine: its online CPUs as `[cpu, core, socket, NUMA node, uncore cache]`. */
const topologyLine = z.object({
  name: z.string(),
  cpus: z.array(z.tuple([id, id, id, id, id])).check(z.minLength(1), z.maxLength(MAX_CPUS)),
});

/** A machine of 1,024 CPUs has some 30 KB. */
const MAX_BYTES = 16 * 1024 * 1024;

/** Machines by name from a file of JSON lines. Throws UsageError that names the option and the line at fault. */
export function readTopologies(path: string, option = '--topologies'): ReadonlyMap<string, Topology> {
  const topologies = new Map<string, Topology>();
  for (const [index, line] of readText(path, option).split('\n').entries()) {
    if (line.trim() === '') continue;
    try {
      const parsed = topologyLine.safeParse(JSON.parse(line));
      if (!parsed.success) throw new Error(explainSchemaFault(parsed.error));
      const { name, cpus } = parsed.data;
      if (topologies.has(name)) throw new Error(`the name ${name} is taken by an earlier line`);
      topologies.set(
        name,
        buildTopology({
          cpus: cpus.map(([cpu, core, socket, numaNode, uncoreCache]) => ({
            id: cpu,
            core,
            socket,
            numaNode,
            uncoreCache,
          })),
        }),
      );
    } catch (error) {
      throw new UsageError(`${option} ${path}:${index + 1}: ${(error as Error).message}; correct the line`);
    }
  }
  return topologies;
}

function readText(path: string, option: string): string {
  const read = readBounded(path, MAX_BYTES);
  if (read.ok) return read.text;
  throw new UsageError(`${option} ${path}: ${read.because}; check the path`);
}
