import type { AssignmentStatus, TopologyStatus } from '../../../src/admin/model/status';
import { CpuSet, parseCpuList } from '../../../src/core/cpuset';
import type { AssignmentKind } from '../../../src/core/model/assignment';
import { buildTopology, type CpuInfo, type Topology } from '../../../src/core/topology';
import { readTopology } from '../../../src/host';
import { loadMachine, withSysfs } from '../../support/sysfs-tree';
import { sampleStatus } from '../../admin/sample-status';

const GIBIBYTE = 2 ** 30;

/**
 * A machine with this many sockets, NUMA nodes per socket, caches per node, cores per cache and threads per core. The
 * numbers of siblings are far apart.
 */
export function build(
  sockets: number,
  nodes: number,
  caches: number,
  cores: number,
  threads: number,
  gibibytes = 64,
): Topology {
  const all = sockets * nodes * caches * cores;
  const cpus = Array.from({ length: all * threads }, (_, id): CpuInfo => {
    const core = id % all;
    const uncoreCache = Math.floor(core / cores);
    const numaNode = Math.floor(uncoreCache / caches);
    return { id, core, socket: Math.floor(numaNode / nodes), numaNode, uncoreCache };
  });
  return buildTopology({
    cpus,
    memoryNodes: Array.from({ length: sockets * nodes }, (_, id) => {
      return { id, memoryBytes: gibibytes * GIBIBYTE, distances: new Map<number, number>() };
    }),
  });
}

/** A machine of the fixtures. */
export function recorded(name: string): Topology {
  return withSysfs(loadMachine(name), (sysfsRoot) => readTopology({ sysfsRoot }));
}

/** The machine without these CPUs. The ids of caches and nodes stay. */
export function without(topology: Topology, offline: string): Topology {
  const gone = parseCpuList(offline);
  const cpus = topology.cpus.filter(({ id }) => !gone.has(id));
  const lowestOf = new Map<number, number>();
  for (const { id, core } of cpus) lowestOf.set(core, Math.min(id, lowestOf.get(core) ?? Infinity));
  return buildTopology({
    cpus: cpus.map((cpu) => ({ ...cpu, core: lowestOf.get(cpu.core)! })), // a core has the id of its lowest CPU, as in the sysfs reader
    memoryNodes: topology.memoryNodes,
  });
}

/**
 * `db/postgres 1-2` runs, `db/init 3 idle` has exited; a third word may be the kind, and `exclusive pod` is a set
 * shared by the pod.
 */
function assignmentOf(text: string): AssignmentStatus {
  const [name = '', list = '', word = 'static', scope] = text.split(' ');
  const [pod = '', container = ''] = name.split('/');
  const kind = (word === 'idle' ? 'static' : word) as AssignmentKind;
  return {
    podUid: `uid-${pod}`,
    namespace: 'default',
    pod,
    container,
    containerId: word === 'idle' ? '' : `id-${name}`,
    kind,
    cpus: kind === 'numa' ? CpuSet.empty : parseCpuList(list),
    ...(kind === 'numa' && { nodes: parseCpuList(list) }),
    ...(scope === 'pod' && { scope: 'pod' as const }),
    mems: CpuSet.empty,
    requested: 1,
    because: '',
    since: '2026-01-01T00:00:00Z',
    rules: { policy: kind, options: [], reserved: CpuSet.empty },
  };
}

export interface Scene {
  readonly topology: Topology;
  readonly reserved?: string;
  readonly strict?: boolean;
  readonly offline?: string;
  /** See assignmentOf. */
  readonly owners?: readonly string[];
}

/** The topology status of a daemon on this machine. */
export function statusOf({
  topology,
  reserved = '',
  strict = false,
  offline = '',
  owners = [],
}: Scene): TopologyStatus {
  const assignments = owners.map(assignmentOf);
  const alone = assignments.filter(({ kind }) => kind === 'static' || kind === 'exclusive');
  const shared = topology.online.minus(CpuSet.unionOf(alone.map(({ cpus }) => cpus)));
  const sharedPool = strict ? shared.minus(parseCpuList(reserved)) : shared;
  const held = CpuSet.unionOf(assignments.map(({ cpus }) => cpus));
  return {
    topology,
    offline: parseCpuList(offline),
    node: {
      ...sampleStatus.node,
      online: topology.online,
      reserved: parseCpuList(reserved),
      allocatable: topology.online.minus(parseCpuList(reserved)),
      sharedPool,
      free: shared.minus(held).minus(parseCpuList(reserved)),
      isolated: topology.isolated,
    },
    assignments,
  };
}
