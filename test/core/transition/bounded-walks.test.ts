import { CpuSet } from '../../../src/core/cpuset';
import type { Assignment } from '../../../src/core/model/assignment';
import type { Container, Pod } from '../../../src/core/model/container';
import type { ContainerInfo, NodeEvent, PodInfo } from '../../../src/core/model/events';
import { NodeModel } from '../../../src/core/model/node-model';
import type { Settings } from '../../../src/core/model/settings';
import { buildTopology, type Topology } from '../../../src/core/topology';
import { compareListing, Draft, handle, type LiveCpusets, planChanges } from '../../../src/core/transition';
import { captureBaseline } from '../../../src/core/transition/compare-listing';
import { leastCpuMsOf } from '../../support/cpu-time';
import { specOf } from '../../support/spec-of';
import { podOf, resourcesOf, settingsWith, type Rules } from './node-driver';

/** Four NUMA nodes of 16 CPUs. */
const topology = buildTopology({
  cpus: Array.from({ length: 64 }, (_, id) => {
    const numaNode = Math.floor((id % 32) / 8);
    return { id, core: id % 32, numaNode, socket: numaNode >> 1, uncoreCache: numaNode };
  }),
  memoryNodes: [0, 1, 2, 3].map((id) => ({ id, memoryBytes: 2 ** 40, distances: new Map([[id, 10]]) })),
});

/** A model that counts the reads of its assignments, pods and containers. */
class CountingModel extends NodeModel {
  visits = 0;

  constructor(topology: Topology, settings: Settings) {
    super(topology, settings);
    for (const name of ['assignments', 'pods', 'containers', 'allContainers', 'waiting', 'unswitched'] as const) {
      const counted = this.counted(this[name]);
      Object.defineProperty(this, name, { value: counted });
    }
  }

  override assignmentsOf(podUid: string): Assignment[] {
    return this.counting(super.assignmentsOf(podUid));
  }

  override containersOf(podUid: string): Container[] {
    return this.counting(super.containersOf(podUid));
  }

  override podsOf(podUid: string): Pod[] {
    return this.counting(super.podsOf(podUid));
  }

  private counting<T>(found: T[]): T[] {
    this.visits += found.length;
    return found;
  }

  /** A lookup counts one read, an iteration as many as there are entries. */
  private counted<T extends ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>>(all: T): T {
    return new Proxy(all, {
      get: (target, name) => {
        const part: unknown = Reflect.get(target, name, target);
        if (typeof part !== 'function') return part;
        this.visits += name === 'get' || name === 'has' ? 1 : target.size;
        return (part as (...args: unknown[]) => unknown).bind(target);
      },
    });
  }
}

class CountedNode {
  readonly model: CountingModel;
  private clock = 0;

  constructor(rules: Rules = {}) {
    this.model = new CountingModel(
      topology,
      settingsWith({ podPolicies: ['none', 'static', 'numa', 'immovable', 'exclusive'], ...rules }),
    );
  }

  change(work: (draft: Draft) => void): void {
    work(new Draft(this.model, new Date(++this.clock * 1000).toISOString()));
  }

  send(event: NodeEvent, live?: LiveCpusets): void {
    this.change((draft) => handle(draft, event, live));
  }
}

interface Crowd {
  readonly pods: PodInfo[];
  readonly containers: ContainerInfo[];
  readonly live: Map<string, CpuSet>;
}

/** Unknown running containers, each in a pod of its own by default. */
function crowdOf(
  count: number,
  { policy = 'numa', cpus = 1, podUid }: { policy?: string; cpus?: number; podUid?: string } = {},
): Crowd {
  const names = Array.from({ length: count }, (_, i) => ({ uid: podUid ?? `p${i}`, name: `c${i}` }));
  const pods = new Map(
    names.map(({ uid }) => [uid, { ...podOf(uid), annotations: { 'cpusetd.io/policy': policy } }] as const),
  );
  const containers = names.map(({ uid, name }): ContainerInfo => {
    const cgroupsPath = `/kubepods/pod${uid}/${name}`;
    return { id: `${uid}/${name}`, sandboxId: `sandbox-${uid}`, name, phase: 'running', cgroupsPath, resources: resourcesOf(cpus) };
  }); // prettier-ignore
  const live = new Map(containers.map(({ id }) => [id, topology.online]));
  return { pods: [...pods.values()], containers, live };
}

function synchronize(node: CountedNode, { pods, containers, live }: Crowd): void {
  node.send({ kind: 'synchronize', pods, containers }, live);
}

type Case = readonly [name: string, prepare: (count: number) => { node: CountedNode; work: () => void }];

const meet = (podFields: Parameters<typeof crowdOf>[1], rules?: Rules) => (count: number) => {
  const node = new CountedNode(rules);
  const crowd = crowdOf(count, podFields);
  return { node, work: () => synchronize(node, crowd) };
};

const known = (count: number, podFields?: Parameters<typeof crowdOf>[1], rules?: Rules) => {
  const node = new CountedNode(rules);
  const crowd = crowdOf(count, podFields);
  synchronize(node, crowd);
  return { node, crowd };
};

const list = (node: CountedNode, { pods, containers }: Pick<Crowd, 'pods' | 'containers'>) => {
  const listing = {
    pods: pods.map(({ sandboxId, uid }) => ({ sandboxId, uid, ready: true })),
    containers: containers.map(({ id, sandboxId }) => ({ id, sandboxId, exited: false, running: true })),
  };
  node.change((draft) => {
    compareListing(draft, listing, captureBaseline(node.model));
    planChanges(draft);
  });
};

/** Work on all containers may read each of them several times, but not all of them for each. */
const OVER_ALL: readonly Case[] = [
  ['unknown containers that follow NUMA nodes are synchronized', meet({})],
  ['the same, and their memory is promised too', meet({}, { memoryNodes: 'follow' })],
  ['the same in one pod', meet({ podUid: 'p' })],
  ['unknown containers that share are synchronized', meet({ policy: 'none' })],
  ['the same in one pod', meet({ policy: 'none', podUid: 'p' })],
  ['unknown containers entitled to CPUs are synchronized, and few fit', meet({ policy: 'static' })],
  ['the same in one pod', meet({ policy: 'static', podUid: 'p' })],
  ['unknown containers that can not be moved are synchronized, and few fit', meet({ policy: 'immovable' })],
  [
    'known containers are synchronized again',
    (count) => {
      const { node, crowd } = known(count);
      return { node, work: () => synchronize(node, crowd) };
    },
  ],
  [
    'a synchronization lists none of the known containers',
    (count) => {
      const { node } = known(count);
      return { node, work: () => node.send({ kind: 'synchronize', pods: [], containers: [] }) };
    },
  ],
  [
    'the list of the runtime has all containers',
    (count) => {
      const { node, crowd } = known(count);
      return { node, work: () => list(node, crowd) };
    },
  ],
  [
    'the list of the runtime has no container',
    (count) => {
      const { node } = known(count);
      return { node, work: () => list(node, { pods: [], containers: [] }) };
    },
  ],
  [
    'the API server lists all their pods',
    (count) => {
      const { node, crowd } = known(count, { policy: 'none' });
      const annotations = { 'cpusetd.io/policy': 'numa' };
      const specs = crowd.containers.map(({ name }, i) => specOf(`p${i}`, `${name} 1`, { annotations }));
      return { node, work: () => node.send({ kind: 'pod-specs', specs }) };
    },
  ],
];

test.each(OVER_ALL)(
  '%s: four times as many containers cost at most five times as many reads of the model',
  (_name, prepare) => {
    const [few, many] = [100, 400].map((count) => {
      const { node, work } = prepare(count);
      const before = node.model.visits;
      work();
      return node.model.visits - before;
    }) as [number, number];
    expect(few).toBeGreaterThan(100);
    expect(many).toBeLessThan(5 * few);
  },
);

const create = (node: CountedNode, uid: string, policy: string, cpus: number) => (): void => {
  const { pods, containers } = crowdOf(1, { podUid: uid, policy, cpus });
  const container = { ...containers[0]!, id: 'new', name: 'new', phase: 'creating' } as const;
  node.send({ kind: 'create-container', pod: pods[0]!, container });
};

/** Work on one container reads that one, however many others there are. */
const OF_ONE: readonly Case[] = [
  [
    'a container that follows NUMA nodes is created beside others that do',
    (count) => {
      const { node } = known(count);
      return { node, work: create(node, 'x', 'numa', 1) };
    },
  ],
  [
    'the same where memory is promised too',
    (count) => {
      const { node } = known(count, {}, { memoryNodes: 'follow' });
      return { node, work: create(node, 'x', 'numa', 1) };
    },
  ],
  [
    'a container that shares is created beside others that do',
    (count) => {
      const { node } = known(count, { policy: 'none' });
      return { node, work: create(node, 'x', 'none', 0) };
    },
  ],
  [
    'a container that does not fit is created',
    (count) => {
      const { node } = known(count);
      return { node, work: create(node, 'x', 'static', 64) };
    },
  ],
  [
    'a container with CPUs of its own ends and is created again',
    (count) => {
      const { node } = known(count);
      create(node, 'x', 'static', 2)();
      return {
        node,
        work: () => {
          node.send({ kind: 'container-started', ...startedOf(node) });
          node.send({ kind: 'container-stopped', containerId: 'new' });
          create(node, 'x', 'static', 2)();
        },
      };
    },
  ],
  [
    'a container in a pod of many that follow NUMA nodes is created',
    (count) => {
      const { node } = known(count, { podUid: 'p' });
      return { node, work: create(node, 'p', 'numa', 1) };
    },
  ],
];

function startedOf({ model }: CountedNode): { pod: PodInfo; container: ContainerInfo } {
  const { id, sandboxId, name, cgroupsPath, resources } = model.containers.get('new')!;
  const container = { id, sandboxId, name, cgroupsPath, resources, phase: 'running' } as const;
  return { pod: model.pods.get(sandboxId)!, container };
}

test.each(OF_ONE)('%s: it costs as many reads of the model beside four times as many containers', (_name, prepare) => {
  const [few, many] = [100, 400].map((count) => {
    const { node, work } = prepare(count);
    const before = node.model.visits;
    work();
    return node.model.visits - before;
  }) as [number, number];
  expect(few).toBeGreaterThan(0);
  expect(many).toBe(few);
});

test('given three times as many containers that follow NUMA nodes, then they cost about three times the processor time', () => {
  const costOf = (count: number): number =>
    leastCpuMsOf(
      () => {
        const model = new NodeModel(topology, settingsWith({ podPolicies: ['numa'], memoryNodes: 'follow' }));
        return { model, crowd: crowdOf(count) };
      },
      ({ model, crowd: { pods, containers, live } }) =>
        handle(new Draft(model, '2026-11-22T00:00:00Z'), { kind: 'synchronize', pods, containers }, live),
      { tries: 3 },
    );
  const [few, many] = [costOf(1_100), costOf(3_300)];
  expect(many).toBeLessThan(6 * few); // nine times if each decision read all of them
});
