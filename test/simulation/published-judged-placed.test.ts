import type { NodeEvent } from '../../src/core/model/events';
import { fitPod, needsOf, sumUse, useOf, type NodeOffer, type PodToPlace, type ZoneAmounts } from '../../src/core/fit';
import { NodeModel } from '../../src/core/model/node-model';
import { POLICY_TABLE, type PolicyName } from '../../src/core/model/policies';
import { listClaims } from '../../src/core/node-resources/claims';
import { countNodeResources } from '../../src/core/node-resources/node-resources';
import { buildTopology, hasUnlikeCores, type Topology } from '../../src/core/topology';
import {
  communityTopology,
  craneTopology,
  formatTopologyResult,
  announcementOf,
  readCommunityOffer,
  readCraneOffer,
  readPod,
  readPodToPlace,
} from '../../src/kube';
import { TOPOLOGY_RESULT } from '../../src/core/annotations/topology-result';
import { settingsWith, type Rules } from '../core/transition/node-driver';
import { creationsOf, sendAll, tryAll } from '../support/kube/scheduled-pods';
import type { ContainerModel } from '../support/kube/scheduler-model';
import { createRandom, type Random } from '../support/random';
import { loadMachine, withSysfs } from '../support/sysfs-tree';
import { readTopology } from '../../src/host';
import { unevenMachine } from './uneven-machine';

// Three views: the data that a node publishes, the answer to "does it fit" by them, and then the engine of the node:
// nothing that fits is refused.

type Kind = 'init' | 'sidecar' | 'app';

interface Pod {
  readonly name: string;
  readonly containers: readonly (ContainerModel & { readonly kind: Kind })[];
  readonly annotations: Readonly<Record<string, string>>;
}

const AWARENESS = 'topology.crane.io/topology-awareness';
const MACHINES = ['2x4x2-2numa', '2x4x2-2numa-interleaved', '2x4x2-2numa-offline', '2x8x2-4numa-snc'] as const;
const MIB = 2 ** 20;
const POLICIES: readonly PolicyName[] = ['static', 'static', 'exclusive', 'numa', 'immovable', 'none'];

/** As the API server has it. */
function toObject({ name, containers, annotations }: Pod): object {
  const quantities = ({ cpu = 0, memory = 0 }: ContainerModel['requests']) => ({ cpu: `${cpu}m`, memory: `${memory}` });
  const list = (kinds: readonly Kind[]) =>
    containers
      .filter(({ kind }) => kinds.includes(kind))
      .map(({ name: containerName, kind, requests, limits }) => ({
        name: containerName,
        ...(kind === 'sidecar' && { restartPolicy: 'Always' }),
        resources: { requests: quantities(requests), ...('cpu' in limits && { limits: quantities(limits) }) },
      }));
  return {
    metadata: { uid: name, namespace: 'ns', name, annotations },
    spec: { initContainers: list(['init', 'sidecar']), containers: list(['app']) },
  };
}

const placeOf = (pod: Pod): PodToPlace => readPodToPlace(toObject(pod))!;

/**
 * The API server tells the pod, then its containers start in their order; an init container ends before the next one
 * starts.
 */
function startOf(pod: Pod): NodeEvent[] {
  const starts = creationsOf(pod).flatMap((creation, i): NodeEvent[] => {
    if (creation.kind !== 'create-container') throw new Error('not the creation of a container');
    const { pod: info, container } = creation;
    const started: NodeEvent = { kind: 'container-started', pod: info, container: { ...container, phase: 'running' } };
    const isInit = pod.containers[i]?.kind === 'init';
    return [creation, started, ...(isInit ? [{ kind: 'container-stopped', containerId: container.id } as const] : [])];
  });
  return [{ kind: 'pod-spec', spec: placeOf(pod).spec }, ...starts];
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

/** NUMA nodes of one to six cores, all of as many threads, in sockets of one or two nodes. */
function evenCores(random: Random): Topology {
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
  const topology = random.pick([evenCores, unevenMachine, () => machines.get(random.pick(MACHINES))!])(random);
  const policy = random.pick(['none', 'best-effort', 'restricted', 'single-numa-node'] as const);
  const rules: Rules = {
    cpuManagerPolicy: random.pick(POLICIES),
    ...(random.chance(0.4) && { podPolicies: ['static', 'exclusive', 'numa', 'immovable', 'none'] }),
    reserved: random.pick(['0', '0-1', '1,9', '0,4,12']),
    options: {
      fullPcpusOnly: random.chance(0.4),
      strictCpuReservation: random.chance(0.2),
      alignBySocket: random.chance(0.2),
      distributeCpusAcrossNuma: random.chance(0.1),
      preferAlignCpusByUncorecache: random.chance(0.1),
    },
    onInsufficientCpu: random.chance(0.1) ? 'share' : 'refuse',
    minSharedCpus: random.pick([1, 1, 3, 5]),
    ...(random.chance(0.2) && { leaveAlone: [{ text: 'ns/left*', namespace: 'ns', pod: 'left*' }] }),
    ...(random.chance(0.2) && { podLeaveAlone: true }),
    ...(random.chance(0.7) && {
      topologyManager: {
        policy,
        scope: random.pick(['container', 'pod'] as const),
        options: { preferClosestNumaNodes: random.chance(0.3), maxAllowableNumaNodes: 8 },
      },
    }),
  };
  const settings = settingsWith(rules);
  const { options } = settings;
  const allowed = { ...options, distributeCpusAcrossNuma: options.distributeCpusAcrossNuma && !options.alignBySocket };
  const model = new NodeModel(topology, {
    ...settings,
    options: allowed,
    reserved: settings.reserved.intersect(topology.online),
  });
  model.apply({ kind: 'set-synchronized', synchronized: true });
  model.apply({ kind: 'set-spec-source', source: { hasReported: true, awaited: new Set() } });
  return model;
}

function createPod(random: Random, name: string, unit: number): Pod {
  const isBurstable = random.chance(0.25);
  const container = (podName: string, kind: Kind, cpus: number) => {
    const amounts = { cpu: cpus * 1_000, memory: 16 * MIB };
    return { name: podName, kind, requests: amounts, limits: isBurstable ? { cpu: cpus * 1_000 } : amounts };
  };
  const size = () => unit * random.int(1, Math.ceil(random.pick([2, 4, 8, 15]) / unit));
  const early = Array.from({ length: random.pick([0, 0, 0, 1, 2]) }, (_, i) =>
    container(`i${i}`, random.pick(['init', 'sidecar'] as const), random.pick([0.5, unit, size()])),
  );
  const apps = Array.from({ length: random.pick([1, 1, 2, 3]) }, (_, i) => container(`c${i}`, 'app', size()));
  const shared = { name: 's', kind: 'app' as const, requests: { cpu: 500 }, limits: {} };
  const awareness = random.pick([undefined, 'false', 'true']);
  const choose = (): PolicyName => random.pick(['static', 'exclusive', 'numa', 'immovable', 'none'] as const);
  return {
    name,
    containers: [...early, ...apps, ...(random.chance(0.1) ? [shared] : [])],
    annotations: {
      ...(awareness !== undefined && { [AWARENESS]: awareness }),
      ...(random.chance(0.2) && { 'cpusetd.io/policy': choose() }),
      ...(random.chance(0.1) && { 'policy.cpusetd.io/container.c0': choose() }),
      ...(random.chance(0.1) && { 'cpusetd.io/leave-alone': 'all' }),
    },
  };
}

/** A pod with CPUs of its own, or without, whose author has written a result. */
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

function publish(model: NodeModel, kind: 'crane' | 'community', isAware: boolean): NodeOffer {
  const labels: Record<string, string> = isAware ? {} : { [AWARENESS]: 'false' };
  const report = { node: { name: 'n', uid: '', labels }, resources: countNodeResources(model), kubeletIsStatic: false };
  return kind === 'crane'
    ? readCraneOffer(craneTopology.build(report))
    : readCommunityOffer(communityTopology.build(report));
}

/**
 * Some pod's result names more CPUs of a zone than it has there now: its init containers had them, or it did not get
 * what the result says.
 */
function announcesMore(model: NodeModel): boolean {
  return listClaims(model).some(({ held, announced }) =>
    model.topology.numaNodes.some(({ id, cpus }) => (announced.get(id) ?? 0) > cpus.countIn(held)),
  );
}

/** The documented kinds of pods that are refused although the node would start them: see core/fit/README.md. */
function explainRefusal(model: NodeModel, pod: Pod, offer: NodeOffer, used: ZoneAmounts): string {
  if (offer.rules === undefined || offer.rules === 'unreadable') return 'a node without rules';
  const { containers, way } = needsOf(placeOf(pod), offer.rules);
  if (offer.rules.shares) return 'the node would let it share';
  if (way === 'nodes') return 'numa: counted like CPUs of its own';
  const stays = containers.some(({ policy }) => POLICY_TABLE[policy].claim !== 'exclusive');
  if (stays || !model.nonExclusive.isEmpty) return 'CPUs that stay in the shared pool';
  if (fitPod({ ...placeOf(pod), awareness: false }, offer, used).kind !== 'no-fit') return 'aware: all in one zone';
  if (offer.byResults && announcesMore(model)) return 'a result names more than its pod has now';
  if (model.holdings.followed.length > 0) return 'the last CPU of followers';
  if (hasUnlikeCores(model.topology)) return 'cores of unlike sizes';
  if (containers.length > 1 && offer.rules.topologyPolicy !== 'none')
    return 'several containers under a topology manager';
  if (way === 'mixed') return 'mixed';
  return 'UNEXPLAINED';
}

test.each([
  ['crane', 'LeastAllocated'],
  ['crane', 'MostAllocated'],
  ['community', 'LeastAllocated'],
] as const)('%s, %s: what fits by what the node publishes is started there', (kind, strategy) => {
  const machines = new Map(
    MACHINES.map((name) => [name as string, withSysfs(loadMachine(name), (sysfsRoot) => readTopology({ sysfsRoot }))]),
  );
  const counts = { fits: 0, late: 0, spread: 0, skipped: 0, refused: 0, falselyRefused: new Map<string, number>() };
  const count = (map: Map<string, number>, key: string) => map.set(key, (map.get(key) ?? 0) + 1);
  // For others: FIRST_SEED=1000 SEEDS=2000
  const [first, nodes] = [Number(process.env['FIRST_SEED'] ?? 1), Number(process.env['SEEDS'] ?? 150)];
  for (let seed = first; seed < first + nodes; seed++) {
    const random = createRandom(seed);
    const model = createNode(random, machines);
    const isAware = random.chance(0.4);
    const unit = model.settings.options.fullPcpusOnly && random.chance(0.8) ? 2 : 1;
    const running: Pod[] = [];
    let late: Pod[] = [];
    let offer = publish(model, kind, isAware);
    const start = (pod: Pod): void => {
      const about = { seed, pod, machine: model.topology.numaNodes.map(({ cpus }) => cpus.toString()), settings: { ...model.settings, reserved: model.settings.reserved.toString() }, offer }; // prettier-ignore
      expect({ ...about, refused: sendAll(model, startOf(pod)) }).toEqual({ ...about, refused: undefined });
    };
    for (let step = 0; step < 25; step++) {
      if (random.chance(0.5)) {
        late.forEach(start);
        late = [];
        if (random.chance(0.4) && running.length > 0)
          removePod(model, running.splice(random.int(0, running.length - 1), 1)[0]!);
        if (random.chance(0.2)) {
          const forged = forgedPod(random, `f${step}`);
          if (sendAll(model, startOf(forged)) === undefined) running.push(forged);
          else removePod(model, forged);
        }
        offer = publish(model, kind, isAware);
      }
      const rules = offer.rules === 'unreadable' ? undefined : offer.rules;
      const used = sumUse(
        offer.byResults
          ? running.flatMap((pod) => {
              const announced = announcementOf(readPod(toObject(pod))!);
              return announced ? [useOf(announced, rules)] : [];
            })
          : [],
      );
      const wish = createPod(random, `${random.chance(0.1) ? 'left' : 'p'}${step}`, unit);
      const fit = fitPod(placeOf(wish), offer, used, strategy);
      if (fit.kind === 'no-fit') {
        counts.refused++;
        late.forEach(start);
        late = [];
        if (tryAll(model, startOf(wish)) === undefined) {
          const why = explainRefusal(model, wish, offer, used);
          const about = { seed, why, wish, fit, offer };
          expect(about).not.toMatchObject({ why: 'UNEXPLAINED' });
          count(counts.falselyRefused, why);
        }
        offer = publish(model, kind, isAware);
        continue;
      }
      const hasResult = fit.kind === 'fit' && fit.grants.length > 0;
      const result = hasResult ? { [TOPOLOGY_RESULT]: formatTopologyResult(fit.grants) } : {};
      const pod = { ...wish, annotations: { ...wish.annotations, ...result } };
      running.push(pod);
      if (fit.kind === 'skip') counts.skipped++;
      else counts.fits++;
      if (hasResult && fit.grants.length > 1) counts.spread++;
      // Nothing tells of a pod without a result before its node does.
      if (hasResult && random.chance(0.5)) {
        late.push(pod);
        counts.late++;
        continue;
      }
      late.forEach(start);
      late = [];
      start(pod);
      offer = publish(model, kind, isAware);
    }
  }
  expect([...counts.falselyRefused.values()].reduce((sum, count) => sum + count, 0)).toBeLessThan(counts.refused / 2);
  expect(counts.fits).toBeGreaterThan(500);
  expect(counts.refused).toBeGreaterThan(500);
});
