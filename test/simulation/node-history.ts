import { CpuSet } from '../../src/core/cpuset';
import type { PodInfo } from '../../src/core/model/events';
import { NO_OPTIONS, type Settings } from '../../src/core/model/settings';
import { buildTopology, type Topology } from '../../src/core/topology';
import { resourcesFor, type SimulatedNode } from './simulated-node';

const topologyOf = (cpus: readonly number[]): Topology =>
  buildTopology({ cpus: cpus.map((id) => ({ id, core: id % 4, numaNode: 0, socket: 0, uncoreCache: 0 })) });
export const EIGHT_CPUS = topologyOf([0, 1, 2, 3, 4, 5, 6, 7]);

export const SETTINGS: Settings = {
  cpuManagerPolicy: 'static',
  options: NO_OPTIONS,
  reserved: CpuSet.of([0]),
  minSharedCpus: 1,
  onInsufficientCpu: 'refuse',
  liftCpuQuota: true,
};

/** The pods and containers of a history, by their names in it. */
export class HistoryContext {
  private readonly pods = new Map<string, PodInfo>();
  private readonly ids = new Map<string, string>();

  /** `node` has `EIGHT_CPUS` and `SETTINGS`, and is not started. */
  constructor(readonly node: SimulatedNode) {}

  addPod(name: string, { guaranteed = true } = {}): void {
    this.pods.set(name, this.node.addPod(guaranteed));
  }

  create(pod: string, name: string, cpus: number): void {
    const id = this.node.create(this.pods.get(pod)!, name, cpus);
    if (id !== undefined) this.ids.set(name, id);
  }

  /** Acts on a container. Does nothing for one that was refused, as a kubelet. */
  with(name: string, act: (id: string) => void): void {
    const id = this.ids.get(name);
    if (id !== undefined && this.node.containers.has(id)) act(id);
  }

  start(name: string): void {
    this.with(name, (id) => this.node.startContainer(id));
  }

  end(name: string): void {
    this.with(name, (id) => this.node.end(id));
  }

  tamper(name: string, cpu: number): void {
    this.with(name, (id) => this.node.kernel.has(id) && this.node.kernel.set(id, CpuSet.of([cpu])));
    this.node.sweep();
  }

  failCreation(pod: string, cpus: number): void {
    const id = this.node.nextId('f-');
    const { node } = this;
    const sandbox = this.pods.get(pod)!;
    const info = { id, sandboxId: sandbox.sandboxId, name: 'failing', phase: 'creating' as const, cgroupsPath: '' };
    node.send({ kind: 'create-container', pod: sandbox, container: { ...info, resources: resourcesFor(cpus) } });
    node.send({ kind: 'container-stopped', containerId: id });
    node.send({ kind: 'container-removed', containerId: id });
  }

  removePod(name: string, isAnnounced = true): void {
    const pod = this.pods.get(name);
    if (pod) this.node.removePod(pod.sandboxId, { isAnnounced });
    this.pods.delete(name);
  }

  reconnect(): void {
    if (this.node.daemon) this.node.synchronize();
  }

  removeEverything(): void {
    for (const name of [...this.pods.keys()]) this.removePod(name);
  }
}

/** A history with every kind of event, as named steps. */
export const HISTORY: readonly (readonly [name: string, act: (context: HistoryContext) => void])[] = [
  ['a Guaranteed pod', (s) => s.addPod('a')],
  ['a Burstable pod', (s) => s.addPod('b', { guaranteed: false })],
  ['a shared container is created', (s) => s.create('b', 'web', 0)],
  ['and started', (s) => s.start('web')],
  ['an exclusive one is created', (s) => s.create('a', 'db', 2)],
  ['and started', (s) => s.start('db')],
  [
    'a second shared one',
    (s) => {
      s.create('b', 'log', 0);
      s.start('log');
    },
  ],
  [
    'a pod with an init container',
    (s) => {
      s.addPod('c');
      s.create('c', 'init', 2);
      s.start('init');
    },
  ],
  ['which ends', (s) => s.end('init')],
  [
    'and leaves its CPUs to the app container',
    (s) => {
      s.create('c', 'app', 2);
      s.start('app');
    },
  ],
  ['a creation that the runtime fails after the answer', (s) => s.failCreation('a', 1)],
  ['one that does not fit', (s) => s.create('a', 'giant', 7)],
  ['the exclusive one is resized', (s) => s.with('db', (id) => s.node.update(id, resourcesFor(3)))],
  ['the shared one is resized', (s) => s.with('web', (id) => s.node.update(id, { shares: 512 }))],
  [
    'another client gives it all CPUs through the runtime',
    (s) => s.with('web', (id) => s.node.update(id, { cpus: '0-7' })),
  ],
  ['drift of an exclusive one, and a round', (s) => s.tamper('db', 0)],
  ['drift of a shared one, and a round', (s) => s.tamper('web', 7)],
  ['the runtime reconnects', (s) => s.reconnect()],
  ['CPUs go offline', (s) => s.node.changeTopology(topologyOf([0, 1, 2, 4, 6]))],
  ['and come back', (s) => s.node.changeTopology(EIGHT_CPUS)],
  ['the app container ends', (s) => s.end('app')],
  [
    'and is created again',
    (s) => {
      s.create('c', 'app', 2);
      s.start('app');
    },
  ],
  ['a pod is removed', (s) => s.removePod('a')],
  [
    'another takes its place',
    (s) => {
      s.addPod('d');
      s.create('d', 'big', 3);
      s.start('big');
    },
  ],
  [
    'the disk is full, and a creation is refused',
    (s) => {
      s.node.diskIsFull = true;
      s.create('d', 'more', 1);
    },
  ],
  ['and an exclusive one ends meanwhile', (s) => s.end('big')],
  [
    'there is space again',
    (s) => {
      s.node.diskIsFull = false;
      s.create('d', 'more', 1);
      s.start('more');
      s.reconnect();
    },
  ],
  [
    'a pod goes while the runtime is away',
    (s) => {
      s.removePod('c', false);
      s.reconnect();
    },
  ],
  ['the rest is removed', (s) => s.removeEverything()],
];
