import { CpuSet } from '../../../src/core/cpuset';
import type { NodeEvent } from '../../../src/core/model/events';
import { NodeModel } from '../../../src/core/model/node-model';
import type { PodSpec } from '../../../src/core/model/pod-spec';
import { countNodeResources } from '../../../src/core/node-resources/node-resources';
import { buildTopology, type Topology } from '../../../src/core/topology';
import { readTopology } from '../../../src/host';
import { craneTopology, toWatchedPod } from '../../../src/kube';
import { fitPod } from '../../../src/scheduling/topology/fit-pod';
import { readNodeTopology, sumUse } from '../../../src/scheduling/topology/node-topology';
import { readPodRequest, readPodUse } from '../../../src/scheduling/topology/pod-request';
import {
  formatTopologyResult,
  readTopologyResult,
  TOPOLOGY_RESULT,
} from '../../../src/scheduling/topology/topology-result';
import { settingsWith, type Rules } from '../../core/transition/node-driver';
import { creationsOf, sendAll } from '../../support/kube/scheduled-pods';
import type { ContainerModel } from '../../support/kube/scheduler-model';
import { createRandom, type Random } from '../../support/random';
import { loadMachine, withSysfs } from '../../support/sysfs-tree';

// The extender's fit beside the model of cpusetd's node: what it binds by the published topology is never refused there.

type Kind = 'init' | 'sidecar' | 'app';

interface Pod {
  readonly name: string;
  readonly containers: readonly (ContainerModel & { readonly kind: Kind })[];
  readonly annotations: Readonly<Record<string, string>>;
}

const AWARENESS = 'topology.crane.io/topology-awareness';
const MACHINES = ['2x4x2-2numa', '2x4x2-2numa-interleaved', '2x4x2-2numa-offline', '2x8x2-4numa-snc'] as const;
const MIB = 2 ** 20;

/** As the API server has it. */
function toObject({ name, containers, annotations }: Pod): object {
  const quantities = ({ cpu = 0, memory = 0 }: ContainerModel['requests']) => ({ cpu: `${cpu}m`, memory: `${memory}` });
  const list = (kinds: readonly Kind[]) =>
    containers
      .filter(({ kind }) => kinds.includes(kind))
      .map(({ name: of, kind, requests, limits }) => ({
        name: of,
        ...(kind === 'sidecar' && { restartPolicy: 'Always' }),
        resources: { requests: quantities(requests), ...('cpu' in limits && { limits: quantities(limits) }) },
      }));
  return {
    metadata: { uid: name, namespace: 'ns', name, annotations },
    spec: { initContainers: list(['init', 'sidecar']), containers: list(['app']) },
  };
}

const specOf = (pod: Pod): PodSpec => toWatchedPod(toObject(pod))!.spec;

/** The containers in the order of their start; an init container ends before the next one starts. */
function startOf(pod: Pod): NodeEvent[] {
  return creationsOf(pod).flatMap((creation, i): NodeEvent[] => {
    if (creation.kind !== 'create-container') throw new Error('not the creation of a container');
    const { pod: info, container } = creation;
    const started: NodeEvent = { kind: 'container-started', pod: info, container: { ...container, phase: 'running' } };
    const isInit = pod.containers[i]?.kind === 'init';
    return [creation, started, ...(isInit ? [{ kind: 'container-stopped', containerId: container.id } as const] : [])];
  });
}

function removePod(model: NodeModel, { name, containers }: Pod): void {
  sendAll(model, [
    ...containers.map((container): NodeEvent => ({
      kind: 'container-removed',
      containerId: `${name}/${container.name}`,
    })),
    { kind: 'pod-stopped', sandboxId: `sandbox-${name}` },
    { kind: 'pod-removed', sandboxId: `sandbox-${name}` },
    { kind: 'pod-spec-gone', uid: name },
  ]);
}

/** The CPUs of the pod by zone, as far as it holds some. */
function heldBy({ assignments, topology }: NodeModel, { name }: Pod): Record<string, number> {
  const cpus = CpuSet.unionOf([...assignments.values()].filter(({ podUid }) => podUid === name).map((of) => of.cpus));
  const counts = topology.numaNodes.map((node) => [`node${node.id}`, node.cpus.countIn(cpus)] as const);
  return Object.fromEntries(counts.filter(([, count]) => count > 0));
}

function resultOf({ annotations }: Pod): Record<string, number> {
  const zones = readTopologyResult(annotations[TOPOLOGY_RESULT]!);
  return Object.fromEntries([...zones].map(([zone, amounts]) => [zone, amounts.get('cpu')! / 1_000]));
}

/** NUMA nodes of one to six cores, in sockets of one or two nodes. */
function unevenMachine(random: Random): Topology {
  const threads = random.int(1, 2);
  const cores = Array.from({ length: random.int(2, 4) }, (_, node) => ({ node, cores: random.int(1, 6) }));
  const nodeOf = cores.flatMap(({ node, cores: count }) => Array.from({ length: count }, () => node));
  return buildTopology({
    cpus: Array.from({ length: threads * nodeOf.length }, (_, id) => {
      const core = id % nodeOf.length;
      const numaNode = nodeOf[core]!;
      return { id, core, socket: numaNode >> 1, numaNode, uncoreCache: numaNode };
    }),
  });
}

function createNode(random: Random, machines: ReadonlyMap<string, Topology>): NodeModel {
  const topology = random.chance(0.5) ? unevenMachine(random) : machines.get(random.pick(MACHINES))!;
  const policy = random.pick(['none', 'best-effort', 'restricted', 'single-numa-node'] as const);
  const rules: Rules = {
    cpuManagerPolicy: random.chance(0.7) ? 'static' : 'exclusive',
    reserved: random.pick(['0', '0-1', '1,9', '0,4,12']),
    options: { fullPcpusOnly: random.chance(0.4), strictCpuReservation: random.chance(0.3) },
    minSharedCpus: random.pick([1, 1, 3, 5]),
    ...(random.chance(0.6) && {
      topologyManager: {
        policy,
        scope: random.pick(['container', 'pod'] as const),
        options: { preferClosestNumaNodes: false, maxAllowableNumaNodes: 8 },
      },
    }),
  };
  const settings = settingsWith(rules);
  const model = new NodeModel(topology, { ...settings, reserved: settings.reserved.intersect(topology.online) });
  model.apply({ kind: 'set-synchronized', synchronized: true });
  model.apply({ kind: 'set-spec-source', source: { hasReported: true, awaited: new Set() } });
  return model;
}

/** The CPUs of init containers and sidecars are in no result, so they count from the moment when the node knows the pod. */
const isInResult = ({ containers }: Pod): boolean => containers.every(({ kind }) => kind === 'app');

function createPod(random: Random, name: string): Pod {
  const container = (of: string, kind: Kind, cpus: number) => {
    const amounts = { cpu: cpus * 1_000, memory: 16 * MIB };
    return { name: of, kind, requests: amounts, limits: amounts };
  };
  const size = () => random.int(1, random.pick([2, 4, 8, 15]));
  const early = Array.from({ length: random.pick([0, 0, 0, 1, 2]) }, (_, i) =>
    container(`i${i}`, random.pick(['init', 'sidecar'] as const), random.pick([0.5, 1, 2, size()])),
  );
  const apps = Array.from({ length: random.pick([1, 1, 2, 3]) }, (_, i) => container(`c${i}`, 'app', size()));
  const shared = { name: 's', kind: 'app' as const, requests: { cpu: 500 }, limits: {} };
  const awareness = random.pick([undefined, 'false', 'true']);
  return {
    name,
    containers: [...early, ...apps, ...(random.chance(0.15) ? [shared] : [])],
    annotations: awareness === undefined ? {} : { [AWARENESS]: awareness },
  };
}

/** A pod without CPUs of its own, or with a few, whose author has written a result. */
function forgedPod(random: Random, name: string): Pod {
  const zones = [0, 1].map((id) => ({
    name: `node${id}`,
    type: 'Node',
    resources: { capacity: { cpu: `${random.int(0, 30)}` } },
  }));
  const cpu = random.pick([0, 500, 2_000]);
  const limits = random.chance(0.5) ? { cpu, memory: MIB } : {};
  return {
    name,
    containers: [{ name: 'c', kind: 'app', requests: { cpu, memory: MIB }, limits }],
    annotations: { [TOPOLOGY_RESULT]: JSON.stringify(zones) },
  };
}

const publish = (model: NodeModel): object => ({
  metadata: { name: 'n', resourceVersion: '1' },
  ...craneTopology.build({
    node: { name: 'n', uid: '', labels: {} },
    resources: countNodeResources(model),
    kubeletIsStatic: false,
  }),
});

test.each(['LeastAllocated', 'MostAllocated'] as const)(
  'given random nodes and pods, and %s: every pod that fits is started on its zones, also late ones',
  (strategy) => {
    const machines = new Map(
      MACHINES.map((name) => [
        name as string,
        withSysfs(loadMachine(name), (sysfsRoot) => readTopology({ sysfsRoot })),
      ]),
    );
    const counts = { bound: 0, late: 0, spread: 0, followed: 0, refused: new Map<string, number>() };
    for (let seed = 1; seed <= 150; seed++) {
      const random = createRandom(seed);
      const model = createNode(random, machines);
      const running: Pod[] = [];
      let late: Pod[] = [];
      let published = publish(model);
      for (let step = 0; step < 25; step++) {
        const start = (pod: Pod): void => {
          sendAll(model, [{ kind: 'pod-spec', spec: specOf(pod) }]);
          expect({ seed, step, pod, refused: sendAll(model, startOf(pod)) }).toEqual({
            seed,
            step,
            pod,
            refused: undefined,
          });
          const { topologyManager } = model.settings;
          const held = heldBy(model, pod);
          // A topology manager may choose other zones where there are several; under static a Burstable pod shares.
          const isFollowed =
            isInResult(pod) && !late.includes(pod) && (!topologyManager || Object.keys(resultOf(pod)).length === 1);
          if (isFollowed && Object.keys(held).length > 0) {
            expect({ seed, step, pod, held }).toEqual({ seed, step, pod, held: resultOf(pod) });
            counts.followed++;
          }
        };
        if (random.chance(0.5)) {
          late.forEach(start);
          late = [];
          if (random.chance(0.4) && running.length > 0)
            removePod(model, running.splice(random.int(0, running.length - 1), 1)[0]!);
          if (random.chance(0.2)) {
            const forged = forgedPod(random, `f${step}`);
            sendAll(model, [{ kind: 'pod-spec', spec: specOf(forged) }]);
            if (sendAll(model, startOf(forged)) === undefined) running.push(forged);
            else removePod(model, forged);
          }
          published = publish(model);
        }
        const used = sumUse(running.flatMap((pod) => readPodUse(toObject(pod)) ?? []));
        const wish = createPod(random, `p${step}`);
        const fit = fitPod(readPodRequest(toObject(wish), ['cpu']), readNodeTopology(published), used, strategy);
        if (fit.kind !== 'fit') {
          if (fit.kind === 'no-fit') counts.refused.set(fit.because, (counts.refused.get(fit.because) ?? 0) + 1);
          continue;
        }
        counts.bound++;
        if (fit.grants.length > 1) counts.spread++;
        const pod = {
          ...wish,
          annotations: { ...wish.annotations, [TOPOLOGY_RESULT]: formatTopologyResult(fit.grants) },
        };
        running.push(pod);
        if (isInResult(pod) && random.chance(0.5)) {
          late.push(pod);
          counts.late++;
          continue;
        }
        // The API server reports pods in the order in which they were bound.
        if (!isInResult(pod)) {
          late.forEach(start);
          late = [];
        }
        start(pod);
        if (!isInResult(pod)) published = publish(model);
      }
    }
    expect(counts.bound).toBeGreaterThan(500);
    expect(counts.late).toBeGreaterThan(100);
    expect(counts.followed).toBeGreaterThan(200);
    expect(counts.spread).toBeGreaterThan(30);
    expect(Math.min(...counts.refused.values())).toBeGreaterThan(10);
    expect([...counts.refused.keys()].sort()).toEqual([
      'node(s) give whole cores of 2 CPUs only',
      'node(s) had insufficient CPUs for init containers and sidecars',
      'node(s) had insufficient resource of NUMA node',
    ]);
  },
);
