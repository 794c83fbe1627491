import type { UsageStatus } from '../../../src/admin/model/qos-status';
import type {
  AssignmentStatus,
  ContainerStatus,
  Refused,
  Status,
  TopologyStatus,
} from '../../../src/admin/model/status';
import { CpuSet } from '../../../src/core/cpuset';
import { buildTopology, type Topology } from '../../../src/core/topology';
import { SampleBackend, sampleStatus } from '../../admin/sample-status';

/** The shape of a machine: each number is per unit of the one before. */
export interface Shape {
  readonly sockets: number;
  readonly nodes: number;
  readonly caches: number;
  readonly cores: number;
}

const at = '2026-11-24T10:00:00.000Z';
const rules = { policy: 'static', options: ['full-pcpus-only'], reserved: CpuSet.of([0]) };

/** A node that runs what the test lets run. Each core has two CPUs. */
export class NodeBackend extends SampleBackend {
  private readonly machine: Topology;
  private readonly running = new Map<string, ContainerStatus>();
  /** CPUs without an owner. */
  private pool: CpuSet;
  private refusals: Refused | undefined;
  private count = 0;

  constructor(shape: Shape) {
    super();
    this.machine = buildMachine(shape);
    this.pool = this.machine.online;
    this.update();
  }

  /** Starts a container; with CPUs of its own on whole cores, or in the shared pool. */
  start(pod: string, cores: number, more: Partial<ContainerStatus> = {}): ContainerStatus {
    const id = `${pod}-${this.count++}`.padEnd(20, '0');
    const isPinned = cores > 0;
    const cpus = isPinned ? this.takeCores(cores) : this.pool;
    const container: ContainerStatus = {
      id,
      podUid: `uid-${id}`,
      namespace: 'default',
      pod,
      container: 'main',
      placement: isPinned ? 'exclusive' : 'shared',
      promise: { cpus, mems: CpuSet.empty, since: at },
      observation: { cpus, effectiveCpus: cpus, mems: CpuSet.empty, at },
      verdict: { kind: 'kept', reason: '', since: at },
      because: isPinned ? `${cores * 2} exclusive CPUs: whole cores of one cache` : 'not a whole number of CPUs',
      since: at,
      requested: cores * 2,
      ...(isPinned && { kind: 'static' as const, rules }),
      ...more,
    };
    this.running.set(id, container);
    this.update();
    this.emit({ kind: 'container', container });
    return container;
  }

  /** Changes a container, as a verdict does. */
  change(id: string, more: Partial<ContainerStatus>): void {
    const container = { ...this.running.get(id)!, ...more };
    this.running.set(id, container);
    this.update();
    this.emit({ kind: 'container', container });
  }

  end(id: string): void {
    const { kind, promise } = this.running.get(id)!;
    if (kind) this.pool = this.pool.union(promise!.cpus);
    this.running.delete(id);
    this.update();
    this.emit({ kind: 'container-removed', id });
  }

  /** Shows this use of the node, or none, as a reading does. */
  measure(usage: UsageStatus | undefined): void {
    const { usage: _before, qos: _qos, lent: _lent, ...rest } = this.current.node;
    const node = { ...rest, ...(usage && { usage }) };
    this.current = { ...this.current, node };
    this.emit({ kind: 'node', node });
  }

  /** Shows these refusals, or none. */
  refuse(refused: Refused | undefined): void {
    this.refusals = refused;
    this.update();
    this.emit({ kind: 'node', node: this.current.node });
  }

  override assignments(): readonly AssignmentStatus[] {
    return [...this.running.values()].flatMap(({ id, kind, promise, ...rest }) =>
      kind ? [{ ...rest, rules, kind, containerId: id, cpus: promise!.cpus, mems: promise!.mems }] : [],
    );
  }

  override topology(): TopologyStatus {
    return { topology: this.machine, offline: CpuSet.empty, node: this.current.node, assignments: this.assignments() };
  }

  /** The first cores without an owner. */
  private takeCores(count: number): CpuSet {
    const unused = this.pool.minus(CpuSet.of([0, 1]));
    const taken: CpuSet[] = [];
    for (const { cpus } of this.machine.cores) if (taken.length < count && cpus.isSubsetOf(unused)) taken.push(cpus);
    if (taken.length < count) throw new Error('the machine of the test is too small');
    const cpus = CpuSet.unionOf(taken);
    this.pool = this.pool.minus(cpus);
    return cpus;
  }

  private update(): void {
    const { online } = this.machine;
    const reserved = CpuSet.of([0, 1]);
    const sharedPool = this.pool;
    const { gap: _gap, kube: _kube, refused: _refused, ...node } = sampleStatus.node;
    const ready = { state: 'ready' as const, since: at, reason: '' };
    const status: Status = {
      node: {
        ...node,
        online,
        reserved,
        sharedPool,
        allocatable: online.minus(reserved),
        free: sharedPool.minus(reserved),
        isolated: CpuSet.empty,
        cri: ready,
        alarms: [],
        ...(this.refusals && { refused: this.refusals }),
      },
      containers: [...this.running.values()],
      idle: [],
    };
    this.current = status;
  }
}

function buildMachine({ sockets, nodes, caches, cores }: Shape): Topology {
  const total = sockets * nodes * caches * cores;
  const cpus = Array.from({ length: 2 * total }, (_, id) => {
    const core = id % total;
    const cache = Math.floor(core / cores);
    const node = Math.floor(cache / caches);
    return { id, core, socket: Math.floor(node / nodes), numaNode: node, uncoreCache: cache };
  });
  const memoryNodes = Array.from({ length: sockets * nodes }, (_, id) => ({
    id,
    memoryBytes: 2 ** 36,
    distances: new Map<number, number>(),
  }));
  return buildTopology({ cpus, isolated: CpuSet.empty, memoryNodes });
}
