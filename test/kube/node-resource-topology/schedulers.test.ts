import { parseCpuList } from '../../../src/core/cpuset';
import { NodeModel } from '../../../src/core/model/node-model';
import { countNodeResources, type NodeResources } from '../../../src/core/node-resources/node-resources';
import { buildTopology, type Topology } from '../../../src/core/topology';
import { readTopology } from '../../../src/host';
import { communityTopology } from '../../../src/kube/node-resource-topology/community-topology';
import { craneTopology } from '../../../src/kube/node-resource-topology/crane-topology';
import { settingsWith, type Rules } from '../../core/transition/node-driver';
import { createRandom, type Random } from '../../support/random';
import { creationsOf, guaranteed, sendAll, specOfPod, tryAll } from '../../support/kube/scheduled-pods';
import {
  countCraneZones,
  filterCrane,
  filterTopologyMatch,
  placeScores,
  qosOf,
  readZones,
  type ContainerModel,
  type PodModel,
} from '../../support/kube/scheduler-model';
import { loadMachine, withSysfs, type SysfsTree } from '../../support/sysfs-tree';

const MIB = 2 ** 20;
const RESULT = 'topology.crane.io/topology-result';

function readMachine(tree: SysfsTree): Topology {
  return withSysfs(tree, (sysfsRoot) => readTopology({ sysfsRoot }));
}

function machineNamed(name: string): Topology {
  return readMachine(loadMachine(name));
}

/**
 * The recorded machine whose node 2 has no CPUs and whose node 1 has no memory, with the ids of these two exchanged.
 */
function cpulessInTheMiddle(): Topology {
  const swap = (path: string): string =>
    path.replace(/\/node([12])(?=\/|$)/g, (_all, id) => `/node${id === '1' ? '2' : '1'}`);
  return readMachine(
    Object.fromEntries(
      Object.entries(loadMachine('2x4x1-memless-cpuless')).map(([path, text]) => [
        swap(path),
        text.replace(/^Node ([12]) /gm, (_all, id) => `Node ${id === '1' ? '2' : '1'} `),
      ]),
    ),
  );
}

const strict = (scope: 'container' | 'pod'): Rules => ({
  topologyManager: {
    policy: 'single-numa-node',
    scope,
    options: { preferClosestNumaNodes: false, maxAllowableNumaNodes: 8 },
  },
});

function publish(model: NodeModel) {
  const resources = countNodeResources(model);
  const report = { node: { name: 'n', uid: '', labels: {} }, resources, kubeletIsStatic: false };
  return { resources, community: communityTopology.build(report), crane: craneTopology.build(report) };
}

/** Amounts of the whole node that the kubelet reports to the scheduler. */
function allocatableOf({ zones }: NodeResources) {
  const sum = (read: (zone: NodeResources['zones'][number]) => number) =>
    zones.reduce((all, zone) => all + read(zone), 0);
  return {
    cpu: sum(({ cpu }) => cpu.allocatable) * 1000,
    memory: sum(({ memory }) => memory?.allocatable ?? 0),
    'ephemeral-storage': 2 ** 40,
    pods: 110,
  };
}

function podOf(name: string, ...containers: ContainerModel[]): PodModel {
  return { name, containers };
}

describe('with the documented options, without --memory-nodes', () => {
  const model = (topology = machineNamed('2x4x2-2numa')) =>
    new NodeModel(topology, settingsWith({ ...strict('container'), reserved: '0,4' }));
  const burstable = { name: 'a', requests: { cpu: 500, memory: 64 * MIB }, limits: {} };
  const bestEffort = { name: 'a', requests: {}, limits: {} };

  test.each<[string, ContainerModel, boolean]>([
    ['Guaranteed, whole CPUs and memory', guaranteed('a', 4), true],
    ['Guaranteed, a fraction', guaranteed('a', 1.5), true],
    ['Burstable, with memory', burstable, true],
    ['BestEffort', bestEffort, true],
    ['more CPUs than a zone has', guaranteed('a', 9), false],
    ['more memory than a zone has', guaranteed('a', 1, 1500), false],
    ['ephemeral storage, which no zone has', { ...burstable, requests: { ...burstable.requests, 'ephemeral-storage': 1 } }, true],
    ['huge pages, which no zone has', { ...burstable, requests: { memory: MIB, 'hugepages-2Mi': 2 * MIB } }, false],
    ['a device that the node does not have', { ...burstable, requests: { 'example.com/gpu': 1 } }, false],
  ])('%s', (_name, container, passes) => {
    const { community, resources } = publish(model());
    const verdict = filterTopologyMatch(podOf('p', container), {
      object: community,
      allocatable: allocatableOf(resources),
    });
    expect(verdict.ok).toBe(passes);
  }); // prettier-ignore

  test("without the machine's memory in the object, Guaranteed pods with memory stay pending", () => {
    const blind = publish(model(buildTopology({ cpus: machineNamed('2x4x2-2numa').cpus })));
    const node = { object: blind.community, allocatable: { cpu: 14_000, memory: 2 ** 31 } };
    expect(filterTopologyMatch(podOf('p', guaranteed('a', 1)), node)).toEqual({
      ok: false,
      because: 'cannot align container',
    });
  });

  test.each(['none', 'best-effort', 'restricted'] as const)('policy %s: every pod passes', (policy) => {
    const tm = { ...strict('pod').topologyManager!, policy };
    const { community, resources } = publish(
      new NodeModel(machineNamed('2x4x2-2numa'), settingsWith({ topologyManager: tm })),
    );
    const node = { object: community, allocatable: allocatableOf(resources) };
    expect(filterTopologyMatch(podOf('p', guaranteed('a', 12)), node)).toEqual({ ok: true });
  });
});

describe('a NUMA node without CPUs in the middle', () => {
  const topology = cpulessInTheMiddle();

  test('is a zone in both kinds, with the costs to it, and its memory counts where the CPUs near it are', () => {
    const { community, crane, resources } = publish(new NodeModel(topology, settingsWith(strict('container'))));
    expect(resources.zones.map(({ id, cpu, memoryBytes }) => [id, cpu.capacity, memoryBytes > 0])).toEqual([
      [0, 4, true],
      [1, 0, false],
      [2, 4, true],
    ]);
    expect(readZones(community).map((zone) => [zone.id, zone.resources['cpu']])).toEqual([
      [0, 3000],
      [1, 0],
      [2, 4000],
    ]);
    expect(
      (crane['zones'] as { name: string; costs: object[] }[]).map(({ name, costs }) => [name, costs.length]),
    ).toEqual([
      ['node0', 3],
      ['node1', 3],
      ['node2', 3],
    ]);
  });

  test('no id is beyond the number of zones, where the scheduler would panic', () => {
    const { community } = publish(new NodeModel(topology, settingsWith(strict('container'))));
    expect(() => placeScores(community)).not.toThrow();
    const zones = (community['zones'] as { name: string }[]).filter(({ name }) => name !== 'node-1');
    expect(() => placeScores({ ...community, zones })).toThrow('index 2 of 2 scores');
  });
});

const MACHINES = ['2x4x2-2numa', '2x4x2-2numa-interleaved', '2x4x2-2numa-offline', '2x8x2-4numa-snc'] as const;

interface Situation {
  readonly model: NodeModel;
  readonly threads: number;
  readonly scope: 'container' | 'pod';
  readonly hasFloor: boolean;
}

/** A machine and rules; the reservation is on one node or on several. */
function situationOf(random: Random, machines: ReadonlyMap<string, Topology>): Situation {
  const topology = machines.get(random.pick(MACHINES))!;
  const scope = random.pick(['container', 'pod'] as const);
  const fullPcpusOnly = random.chance(0.3);
  const minSharedCpus = random.pick([1, 1, 3, 5]);
  const hasFollowers = random.chance(0.3);
  const options = { fullPcpusOnly, strictCpuReservation: random.chance(0.3) };
  const rules: Rules = {
    ...strict(scope),
    options,
    minSharedCpus,
    podPolicies: hasFollowers ? ['numa'] : [],
    ...(random.chance(0.3) && { memoryNodes: 'follow' }),
  };
  const settings = settingsWith(rules);
  const reserved = parseCpuList(random.pick(['0', '0-1', '1,9', '0,4,12']));
  return {
    model: synchronized(new NodeModel(topology, { ...settings, reserved: reserved.intersect(topology.online) })),
    threads: fullPcpusOnly ? 2 : 1,
    scope,
    hasFloor: minSharedCpus > 1 || options.strictCpuReservation || hasFollowers,
  };
}

/** The first Synchronize is complete. */
function synchronized(model: NodeModel): NodeModel {
  model.apply({ kind: 'set-synchronized', synchronized: true });
  return model;
}

function exclusivePod(random: Random, name: string, threads: number): PodModel {
  const containers = Array.from({ length: random.pick([1, 1, 2, 3]) }, (_, i) =>
    guaranteed(`c${i}`, threads * random.int(1, random.pick([2, 4, 8])), random.int(4, 64)),
  );
  return podOf(name, ...containers);
}

/** A pod that shares the CPUs of a NUMA node; one CPU has to stay there for it. */
function followerPod(name: string): PodModel {
  const container = { name: 'c0', requests: { cpu: 1000, memory: 16 * MIB }, limits: { cpu: 1000 } };
  return { ...podOf(name, container), annotations: { 'cpusetd.io/policy': 'numa' } };
}

function anyPod(random: Random, name: string, threads: number): PodModel {
  const memory = 16 * MIB;
  switch (random.int(0, 6)) {
    case 0:
      return podOf(name, { name: 'c0', requests: { cpu: 500, memory }, limits: {} });
    case 1:
      return podOf(name, guaranteed('c0', random.pick([0.5, 1.5])));
    case 2:
      return followerPod(name);
    case 3:
      return podOf(name, guaranteed('c0', threads), guaranteed('c1', 0.5));
    default:
      return exclusivePod(random, name, threads);
  }
}

function bind(model: NodeModel, pod: PodModel): void {
  expect(sendAll(model, [{ kind: 'pod-spec', spec: specOfPod(pod) }])).toBeUndefined();
}

function removePod(model: NodeModel, { name, containers }: PodModel): void {
  const ended = containers.map((container) => {
    return { kind: 'container-removed', containerId: `${name}/${container.name}` } as const;
  });
  sendAll(model, [
    ...ended,
    { kind: 'pod-stopped', sandboxId: `sandbox-${name}` },
    { kind: 'pod-removed', sandboxId: `sandbox-${name}` },
    { kind: 'pod-spec-gone', uid: name },
  ]);
}

/**
 * The plugin does not count the shared CPUs of pods that are not Guaranteed, so a node may have none left for a numa
 * pod.
 */
function hasNothingToShare(pod: PodModel, refused: string): boolean {
  return qosOf(pod) !== 'Guaranteed' && /all nodes together share \d+/.test(refused);
}

describe('scheduler-plugins, over random histories', () => {
  const machines = new Map(MACHINES.map((name) => [name as string, machineNamed(name)]));

  test('pods that it admits get their CPUs, and pods that it rejects do not fit', () => {
    const counts = { accepted: 0, refused: 0, falselyRefused: 0 };
    for (let seed = 1; seed <= 60; seed++) {
      const random = createRandom(seed);
      const { model, threads, hasFloor } = situationOf(random, machines);
      const running: PodModel[] = [];
      for (let step = 0; step < 25; step++) {
        if (random.chance(0.3) && running.length > 0) {
          const [gone] = running.splice(random.int(0, running.length - 1), 1);
          removePod(model, gone!);
        }
        const pod = anyPod(random, `p${step}`, threads);
        const { community, resources } = publish(model);
        const verdict = filterTopologyMatch(pod, { object: community, allocatable: allocatableOf(resources) });
        bind(model, pod);
        const isExclusive = pod.containers.every(({ requests }) => (requests['cpu'] ?? 1) % 1000 === 0);
        if (verdict.ok) {
          const refused = sendAll(model, creationsOf(pod));
          if (refused !== undefined && hasNothingToShare(pod, refused)) {
            removePod(model, pod);
            continue;
          }
          counts.accepted++;
          expect({ seed, step, refused }).toEqual({ seed, step, refused: undefined });
          running.push(pod);
          continue;
        }
        counts.refused++;
        const given = isExclusive && tryAll(model, creationsOf(pod)) === undefined;
        if (given) counts.falselyRefused++;
        // Only where the floor is subtracted from a zone that the node would have filled; a pod with one container
        // always runs.
        if (given)
          expect({ seed, step, hasFloor, containers: pod.containers.length > 1 }).toEqual({
            seed,
            step,
            hasFloor: true,
            containers: true,
          });
        removePod(model, pod);
      }
    }
    expect(counts.accepted).toBeGreaterThan(500);
    expect(counts.refused).toBeGreaterThan(200);
    expect(counts.falselyRefused / counts.refused).toBeLessThan(0.02);
  });

  test('pods that its cache admits before any update get their CPUs too', () => {
    let accepted = 0;
    for (let seed = 1; seed <= 60; seed++) {
      const random = createRandom(seed);
      const { model, threads } = situationOf(random, machines);
      for (let round = 0; round < 3; round++) {
        const { community, resources } = publish(model);
        const assumed: PodModel[] = [];
        for (let i = 0; i < 5; i++) {
          const pod = anyPod(random, `p${round}-${i}`, threads);
          const node = { object: community, allocatable: allocatableOf(resources), assumed };
          if (!filterTopologyMatch(pod, node).ok) continue;
          bind(model, pod);
          const refused = sendAll(model, creationsOf(pod));
          if (refused !== undefined && hasNothingToShare(pod, refused)) {
            removePod(model, pod);
            continue;
          }
          expect({ seed, round, i, refused }).toEqual({ seed, round, i, refused: undefined });
          assumed.push(pod);
          accepted++;
        }
      }
    }
    expect(accepted).toBeGreaterThan(250);
  });
});

describe('crane-scheduler, over random histories', () => {
  const machines = new Map(MACHINES.map((name) => [name as string, machineNamed(name)]));

  /** Pods that another scheduler placed, or none, with the result of another pod or without one. */
  function unplacedPod(random: Random, name: string, threads: number): PodModel {
    const zone = random.int(0, 1);
    const forged = JSON.stringify([
      { name: `node${zone}`, type: 'Node', resources: { capacity: { cpu: String(random.int(1, 9)) } } },
    ]);
    const annotations = random.chance(0.6) ? { [RESULT]: forged } : {};
    return { ...podOf(name, guaranteed('c0', threads * random.int(1, 3))), annotations };
  }

  test('it never counts more free CPUs than can be given, for any announced results', () => {
    const counts = { placed: 0, strangers: 0, refused: 0, tried: 0 };
    for (let seed = 1; seed <= 40; seed++) {
      const random = createRandom(seed);
      const base = situationOf(random, machines);
      const { topologyManager: _none, ...settings } = base.model.settings;
      const isStatic = random.chance(0.6);
      const cpuManagerPolicy = isStatic ? ('static' as const) : ('exclusive' as const);
      const threads = base.model.settings.options.fullPcpusOnly ? 2 : 1;
      const model = synchronized(
        new NodeModel(base.model.topology, { ...settings, memoryNodes: 'off', cpuManagerPolicy }),
      );
      const assigned: PodModel[] = [];
      let pending: PodModel[] = [];
      for (let step = 0; step < 25; step++) {
        if (random.chance(0.4)) {
          for (const pod of pending)
            expect({ seed, step, refused: sendAll(model, creationsOf(pod)) }).toEqual({
              seed,
              step,
              refused: undefined,
            });
          pending = [];
        }
        if (random.chance(0.3) && pending.length === 0 && assigned.length > 0) {
          const [gone] = assigned.splice(random.int(0, assigned.length - 1), 1);
          removePod(model, gone!);
        }
        if (random.chance(0.3) && pending.length === 0) {
          const unplaced = random.chance(0.3) ? followerPod(`s${step}`) : unplacedPod(random, `s${step}`, threads);
          bind(model, unplaced);
          if (sendAll(model, creationsOf(unplaced)) === undefined) {
            assigned.push(unplaced);
            counts.strangers++;
          } else removePod(model, unplaced);
        }
        const { crane, resources } = publish(model);
        const zones = countCraneZones(crane, assigned);
        zones.forEach(({ name, allocatable, used }, i) => {
          const { cpu, unannounced, withheld, id } = resources.zones[i]!;
          expect(allocatable).toBeGreaterThanOrEqual(0);
          expect(allocatable / 1000 + unannounced + withheld).toBe(cpu.allocatable);
          const free = Math.floor((allocatable - used) / 1000 / threads) * threads;
          if (free <= 0) return;
          counts.tried++;
          const result = [{ name, type: 'Node', resources: { capacity: { cpu: String(free) } } }];
          const trial = {
            ...podOf('trial', guaranteed('c0', free)),
            annotations: { [RESULT]: JSON.stringify(result) },
          };
          const refused = tryAll(model, [
            { kind: 'pod-spec', spec: specOfPod(trial) },
            ...pending.flatMap(creationsOf),
            ...creationsOf(trial),
          ]);
          expect({ seed, step, id, refused }).toEqual({ seed, step, id, refused: undefined });
        });
        const wish = { ...exclusivePod(random, `p${step}`, threads) };
        const aware = random.chance(0.7) ? {} : { 'topology.crane.io/topology-awareness': 'false' };
        const { result, because } = filterCrane({ ...wish, annotations: aware }, crane, assigned);
        const total = wish.containers.reduce((sum, { requests }) => sum + requests['cpu']! / 1000, 0);
        const isWhole =
          result !== undefined &&
          (JSON.parse(result) as { resources: { capacity: { cpu: string } } }[])
            .map(({ resources: { capacity } }) => Number(capacity.cpu))
            .reduce((sum, cpu) => (cpu % threads === 0 ? sum + cpu : NaN), 0) === total;
        if (because !== undefined || !isWhole) {
          counts.refused++;
          continue;
        }
        const pod = { ...wish, annotations: { ...aware, [RESULT]: result } };
        bind(model, pod);
        assigned.push(pod);
        pending.push(pod);
        counts.placed++;
      }
    }
    expect(counts.placed).toBeGreaterThan(150);
    expect(counts.strangers).toBeGreaterThan(80);
    expect(counts.tried).toBeGreaterThan(500);
  });
});
