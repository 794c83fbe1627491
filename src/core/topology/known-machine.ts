import { buildTopology, type Topology } from './topology';
import type { CpuInfo } from './topology-index';

const UNITS = ['core', 'socket', 'numaNode', 'uncoreCache'] as const;

/**
 * The machine with every CPU that either reading has. A CPU that is offline has no units in sysfs, so what an earlier
 * reading knew of it counts. A unit may have another number while some of its CPUs are offline: a CPU that is new lies
 * in the same unit as the CPUs that both readings have.
 */
export function joinReadings(earlier: Topology, now: Topology): Topology {
  if (earlier.online.isSubsetOf(now.online)) return now;
  if (now.online.isSubsetOf(earlier.online)) return earlier;
  const known = new Map(earlier.cpus.map((cpu) => [cpu.id, cpu]));
  const names = UNITS.map((unit) => {
    const pairs = now.cpus.flatMap((cpu) => {
      const before = known.get(cpu.id);
      return before ? [[cpu[unit], before[unit]] as const] : [];
    });
    return [unit, new Map(pairs)] as const;
  });
  const rename = (cpu: CpuInfo): CpuInfo => ({
    ...cpu,
    ...Object.fromEntries(names.map(([unit, before]) => [unit, before.get(cpu[unit]) ?? cpu[unit]])),
  });
  const added = now.cpus.filter(({ id }) => !known.has(id)).map(rename);
  const levels = [...now.uncoreCaches, ...earlier.uncoreCaches].map(({ id, level }) => [id, level] as const);
  const kinds = now.coreKinds.length > earlier.coreKinds.length ? now.coreKinds : earlier.coreKinds;
  return buildTopology({
    ...now,
    cpus: [...earlier.cpus, ...added],
    isolated: earlier.isolated.union(now.isolated),
    cacheLevels: new Map(levels),
    coreKinds: kinds.map(({ name, cpus }) => {
      const others = [...earlier.coreKinds, ...now.coreKinds].filter((kind) => kind.name === name);
      return { name, cpus: others.reduce((all, kind) => all.union(kind.cpus), cpus) };
    }),
    ignored: [],
  });
}
