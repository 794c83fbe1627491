import { CpuSet } from '../../src/core/cpuset';
import type { PodInfo, RuntimeAnswer, RuntimeEvent } from '../../src/core/model/events';
import { NO_OPTIONS, type Settings } from '../../src/core/model/settings';
import { buildTopology, type Topology } from '../../src/core/topology';
import { findBrokenInvariants } from '../support/invariants';
import { resourcesFor, SimulatedNode } from '../support/simulated-node';

/** A node that can also die between two messages: before one has reached it, and before its answer is seen. */
class CuttableNode extends SimulatedNode {
  override send(event: RuntimeEvent, live?: ReadonlyMap<string, CpuSet>): RuntimeAnswer | undefined {
    if (this.diesHere()) return undefined;
    const answer = super.send(event, live);
    return this.diesHere() ? undefined : answer;
  }

  private diesHere(): boolean {
    if (this.daemon && --this.effectsUntilCut < 0) this.kill();
    return this.daemon === undefined;
  }
}

const topologyOf = (cpus: readonly number[]): Topology =>
  buildTopology({ cpus: cpus.map((id) => ({ id, core: id % 4, numaNode: 0, socket: 0, uncoreCache: 0 })) });
const EIGHT_CPUS = topologyOf([0, 1, 2, 3, 4, 5, 6, 7]);

const SETTINGS: Settings = {
  cpuManagerPolicy: 'static',
  options: NO_OPTIONS,
  reserved: CpuSet.of([0]),
  minSharedCpus: 1,
  onInsufficientCpu: 'refuse',
  liftCpuQuota: true,
};

/** What a history remembers: pods and containers by the names it gave them. */
class Story {
  readonly node = new CuttableNode(EIGHT_CPUS, SETTINGS);
  private readonly pods = new Map<string, PodInfo>();
  private readonly ids = new Map<string, string>();

  addPod(name: string, { guaranteed = true } = {}): void {
    this.pods.set(name, this.node.addPod(guaranteed));
  }

  create(pod: string, name: string, cpus: number): void {
    const id = this.node.create(this.pods.get(pod)!, name, cpus);
    if (id !== undefined) this.ids.set(name, id);
  }

  /** Containers that were refused are not there: then nothing happens, as with a kubelet. */
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

  removePod(name: string, told = true): void {
    const pod = this.pods.get(name);
    if (pod) this.node.removePod(pod.sandboxId, { told });
    this.pods.delete(name);
  }

  reconnect(): void {
    if (this.node.daemon) this.node.synchronize();
  }

  removeEverything(): void {
    for (const name of [...this.pods.keys()]) this.removePod(name);
  }
}

const HISTORY: readonly (readonly [name: string, act: (story: Story) => void])[] = [
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
  ['somebody gives it all CPUs through the runtime', (s) => s.with('web', (id) => s.node.update(id, { cpus: '0-7' }))],
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

/** Far more than any history has, so that what is left over tells how many there were. */
const NEVER = 1_000_000;

interface Run {
  readonly cutsPassed: number;
  /** Steps after which the daemon was started again. */
  readonly restarts: number;
}

/**
 * Tells the history with a death at cut point `cut`. The daemon is started again after the step, or `away` steps later;
 * that start dies at its own cut point `cutOfRestart`, and is followed by one that lives.
 */
function tell(cut: number, { away = 0, cutOfRestart = NEVER } = {}): Run {
  const story = new Story();
  const { node } = story;
  const done: string[] = [];
  let promised = new Map<string, CpuSet>();
  let restarts = 0;
  let downFor = 0;
  const check = (): void => {
    const broken = [...findBrokenInvariants(node), ...findTakenAway(node, promised)];
    if (broken.length > 0) {
      throw new Error(
        `cut ${cut}, away ${away}, restart cut ${cutOfRestart}, after:\n  ${done.join('\n  ')}\n${broken.join('\n')}`,
      );
    }
    if (node.daemon) promised = exclusiveOf(node);
  };
  const restart = (untilCut: number): void => {
    node.effectsUntilCut = untilCut;
    node.start();
    if (node.daemon) node.effectsUntilCut = NEVER;
    done.push(node.daemon ? '(restart)' : '(restart, dies)');
    restarts++;
  };

  node.effectsUntilCut = cut;
  node.start();
  for (const [name, act] of HISTORY) {
    if (!node.daemon && downFor++ >= away) {
      if (restarts === 0 && cutOfRestart !== NEVER) restart(cutOfRestart);
      if (!node.daemon) restart(NEVER);
      check();
    }
    act(story);
    done.push(name);
    check();
  }
  const cutsPassed = cut - node.effectsUntilCut;
  if (!node.daemon) restart(NEVER);
  check();
  expect(node.daemon!.model.assignments.size).toBe(0);
  expect(node.daemon!.model.sharedPool.toString()).toBe('0-7');
  return { cutsPassed, restarts };
}

const exclusiveOf = ({ daemon }: SimulatedNode): Map<string, CpuSet> =>
  new Map(
    [...daemon!.model.assignments.values()].flatMap(({ containerId, cpus }) =>
      containerId === null ? [] : [[containerId, cpus] as const],
    ),
  );

/**
 * Whoever was answered CPUs of his own before the death, and still runs, has them afterwards; more of them where he was
 * resized meanwhile, and without those that went offline.
 */
function findTakenAway(node: SimulatedNode, promised: ReadonlyMap<string, CpuSet>): string[] {
  if (!node.daemon) return [];
  const now = exclusiveOf(node);
  return [...promised]
    .filter(
      ([id, cpus]) =>
        node.kernel.has(id) && !cpus.intersect(node.topology.online).isSubsetOf(now.get(id) ?? CpuSet.empty),
    )
    .map(([id, cpus]) => `answered: ${id} had ${cpus.toString()}, has ${now.get(id)?.toString() ?? 'none'}`);
}

const POINTS = tell(NEVER).cutsPassed;
const allPoints = Array.from({ length: POINTS }, (_, cut) => cut);

describe(`a history of ${HISTORY.length} steps with ${POINTS} cut points: around each message, save and cgroup write`, () => {
  test('it does what it is about', () => {
    expect(POINTS).toBeGreaterThan(150);
    expect(tell(NEVER).restarts).toBe(0);
  });

  test.each([0, 1, 4])('dies at each of them, and is started again %i steps later', (away) => {
    for (const cut of allPoints) expect(tell(cut, { away }).restarts).toBe(1);
  });

  test('dies at each of them, and once more at each of the cut points of the restart', () => {
    let deaths = 0;
    for (const cut of allPoints) {
      for (let cutOfRestart = 0; tell(cut, { cutOfRestart }).restarts === 2; cutOfRestart++) deaths++;
    }
    expect(deaths).toBeGreaterThan(POINTS * 2);
  });
});
