import { decisiveAnnotations, DecisiveAnnotations } from '../../src/core/annotations/decisive';
import { CpuSet } from '../../src/core/cpuset';
import { NO_OPTIONS, type Settings } from '../../src/core/model/settings';
import { buildTopology, restrictTopology, type CpuInfo, type MemoryNode, type Topology } from '../../src/core/topology';
import type { CpuResources, PodInfo } from '../../src/core/model/events';
import type { PodSpec } from '../../src/core/model/pod-spec';
import { QUIET_MS } from '../../src/core/verdict/repair-backoff';
import { POLICY_NAMES } from '../../src/core/model/policies';
import type { Random } from '../support/random';
import { specOf } from '../support/spec-of';
import { resourcesFor, type SimulatedNode } from './simulated-node';

export function randomTopology(random: Random): Topology {
  const sockets = random.int(1, 2);
  const nodesPerSocket = random.int(1, 2);
  const coresPerNode = random.int(1, 6);
  const threads = random.pick([1, 2, 2, 4]);
  const cores = sockets * nodesPerSocket * coresPerNode;
  const slowCores = random.pick([0, 0, Math.floor(cores / 2)]);
  const cpus = Array.from({ length: cores * threads }, (_, i) => {
    const core = i % cores; // siblings i and i + cores, as on bare metal
    const numaNode = Math.floor(core / coresPerNode);
    return { id: i, core, numaNode, socket: Math.floor(numaNode / nodesPerSocket), uncoreCache: numaNode };
  })
    .filter(({ id, core }) => id < cores || core < cores - slowCores) // slow cores have one thread
    .filter(({ id }) => id < 2 || random.chance(0.95)); // some machines have holes
  const ofKind = (isSlow: boolean): CpuSet =>
    CpuSet.of(cpus.filter(({ core }) => core >= cores - slowCores === isSlow).map(({ id }) => id));
  return buildTopology({
    cpus,
    memoryNodes: randomMemory(random, cpus),
    coreKinds: [
      { name: 'performance', cpus: ofKind(false) },
      { name: 'efficiency', cpus: ofKind(true) },
    ],
  });
}

/** Memory of each NUMA node, in one node or in emulated ones that list the same CPUs, and some that no CPU is near. */
function randomMemory(random: Random, cpus: readonly CpuInfo[]): readonly MemoryNode[] {
  if (random.chance(0.3)) return [];
  const nodes = [...new Set(cpus.map(({ numaNode }) => numaNode))];
  const emulated = random.pick([1, 1, 3]);
  const owners = [
    ...nodes,
    ...Array.from({ length: nodes.length * (emulated - 1) }, (_, i) => nodes[i % nodes.length]),
  ];
  const all = [...owners, ...(random.chance(0.3) ? [undefined] : [])];
  return all.map((owner, id) => ({
    id,
    memoryBytes: owner !== undefined && random.chance(0.1) ? 0 : random.int(1, 4) * 2 ** 30,
    distances: new Map(all.map((_, other) => [other, other === id ? 10 : random.int(11, 40)])),
    cpus: CpuSet.of(cpus.filter(({ numaNode }) => numaNode === owner).map((cpu) => cpu.id)),
  }));
}

export function randomSettings(random: Random, topology: Topology): Settings {
  const ids = topology.online.toArray();
  return {
    cpuManagerPolicy: random.pick(['static', 'static', 'static', ...POLICY_NAMES]),
    podPolicies: random.chance(0.7) ? POLICY_NAMES : [],
    options: {
      ...NO_OPTIONS,
      fullPcpusOnly: random.chance(0.2),
      strictCpuReservation: random.chance(0.3),
    },
    reserved: CpuSet.of(ids.slice(0, random.int(1, Math.max(1, Math.floor(ids.length / 3))))),
    minSharedCpus: random.int(1, 2),
    onInsufficientCpu: random.pick(['refuse', 'share']),
    liftCpuQuota: random.chance(0.5),
    memoryNodes: random.pick(['off', 'follow']),
    memoryNodesWithoutCpus: random.pick([CpuSet.empty, 'all']),
  };
}

function withoutSome(random: Random, full: Topology): Topology {
  const keep = full.online.toArray().filter((id) => id === full.online.first || random.chance(0.85));
  return restrictTopology(full, CpuSet.of(keep));
}

type PodChoices = Pick<PodInfo, 'annotations' | 'podResources'>;

/** Random annotations of a pod: policies for all containers or for one, and invalid values. */
function randomAnnotations(random: Random, topology: Topology): PodChoices {
  if (random.chance(0.05)) return { annotations: hostileAnnotations(random) };
  if (random.chance(0.4)) return scheduledPod(random, topology);
  const annotations: Record<string, string> = {};
  const key = random.pick(['cpusetd.io/policy', 'topology.crane.io/cpu-policy']);
  annotations[key] = random.pick([...POLICY_NAMES, 'exclusive', 'numa', 'immovable', 'nonsense']);
  if (random.chance(0.2)) annotations['policy.cpusetd.io/container.app'] = random.pick(POLICY_NAMES);
  if (random.chance(0.2)) annotations['topology.crane.io/exclude-reserved-cpus'] = random.pick(['true', 'True']);
  if (random.chance(0.1)) annotations['topology.crane.io/topology-result'] = random.pick(['[{', '[]', 'null']);
  return { annotations };
}

/** Annotations of an attacker, up to the limits of the API server, after the filter that all annotations pass. */
function hostileAnnotations(random: Random): Readonly<Record<string, string>> {
  const length = random.pick([1_000, 16_384, 16_385, 262_144]);
  const zones = Array.from({ length: random.pick([200, 256, 257, 1_000]) }, (_, i) => {
    return `{"name":"node${i}","type":"Node","resources":{"capacity":{"cpu":"${random.int(0, 99_999)}"}}}`;
  });
  const written: Record<string, string> = {
    'topology.crane.io/topology-result': random.pick([`[${zones.join(',')}]`, '['.repeat(length), '"'.repeat(length)]),
    'topology.crane.io/cpu-policy': random.pick(['numa', 'exclusive', 'x'.repeat(length)]),
    'kubernetes.io/config.mirror': 'y'.repeat(length),
    'kubernetes.io/config.hash': random.pick(['uid-1', 'z'.repeat(length)]),
  };
  for (let i = 0; i < 2_000; i++)
    written[`policy.cpusetd.io/container.c${i}`] = random.pick(['none', 'numa', 'w'.repeat(300)]);
  if (random.chance(0.5)) return decisiveAnnotations(written, ['init', 'app', 'side']); // as from the API server
  const fromRuntime = new DecisiveAnnotations();
  for (const [name, value] of Object.entries(written)) fromRuntime.put(name, value);
  return fromRuntime.all;
}

/**
 * Annotations of a pod that Crane's scheduler has placed on one or more NUMA nodes, which do not always match this
 * node.
 */
export function scheduledPod(random: Random, topology: Topology): PodChoices {
  const nodes = topology.numaNodes.filter(({ id }) => id === 0 || random.chance(0.3));
  const zones = nodes.map(({ id }) => {
    return { name: `node${id}`, type: 'Node', resources: { capacity: { cpu: `${random.int(1, 3)}` } } };
  });
  return {
    annotations: {
      'topology.crane.io/cpu-policy': random.pick(['exclusive', 'immovable', 'numa']),
      'topology.crane.io/topology-result': JSON.stringify(zones),
    },
    podResources: { shares: 1024 * random.int(3, 8) },
  };
}

/** Adds a pod to the node. Most have a spec, which the API server may send before, after, or never. */
function addPod(node: SimulatedNode, random: Random, full: Topology): void {
  const guaranteed = random.chance(0.7);
  const choices = random.chance(0.6) ? randomAnnotations(random, full) : {};
  const pod = node.addPod(guaranteed, choices);
  if (random.chance(0.2)) return;
  const kinds = { init: 'init', app: 'app', side: random.pick(['sidecar', 'app']) };
  const names = random.pick([['init', 'app'], ['init', 'app', 'side'], ['app'], ['app', 'side']] as const);
  const texts = names.map((name) => `${name} ${kinds[name]} ${random.pick([0, 1, 1, 2, 2, 3, 4])}`);
  const qos = guaranteed ? 'Guaranteed' : 'Burstable';
  node.specs.set(pod.uid, specOf(pod.uid, texts.join(','), { name: pod.name, annotations: pod.annotations, qos }));
  if (random.chance(0.5)) sendSpec(node, node.specs.get(pod.uid));
}

function sendSpec(node: SimulatedNode, spec: PodSpec | undefined): void {
  if (spec) node.send({ kind: 'pod-spec', spec });
}

function pickAnnotations({ annotations }: Partial<PodChoices>): Pick<PodSpec, 'annotations'> {
  return { annotations: annotations ?? {} };
}

/** Does one step of a random history. Returns what was done, for the message of a failure. */
export function step(node: SimulatedNode, random: Random, full: Topology, switched: Set<string>): string {
  const pods = [...node.pods.values()];
  const containers = [...node.containers.keys()];
  const pod = pods.length > 0 ? random.pick(pods) : undefined;
  const id = containers.length > 0 ? random.pick(containers) : undefined;
  const action = random.pick([
    'add pod', 'add pod', 'create', 'create', 'create', 'create', 'start', 'start', 'end', 'failed creation', 'remove pod',
    'api spec', 'api spec', 'api annotations', 'api annotations', 'api annotations', 'api progress', 'api lists', 'api gone', 'tamper', 'resize', 'foreign update', 'cut', 'lost events', 'reconnect', 'hotplug', 'disk', 'new rules', 'live rules',
  ] as const); // prettier-ignore
  switch (action) {
    case 'add pod':
      addPod(node, random, full);
      break;
    case 'create': {
      if (!pod) break;
      // Kubernetes forbids such names, but other clients of the runtime may use them.
      const name = random.chance(0.02)
        ? 'n'.repeat(random.pick([253, 254, 100_000]))
        : random.pick(['init', 'app', 'side']);
      for (const [other, container] of [...node.containers]) {
        if (container.podId === pod.sandboxId && container.info.name === name) node.end(other);
      }
      const asked = node.specs.get(pod.uid)?.containers.find((container) => container.name === name);
      const cpus =
        asked && random.chance(0.8) ? (asked.requestMilliCpu ?? 0) / 1000 : random.pick([0, 1, 1, 2, 2, 3, 4]);
      const created = node.create(pod, name, cpus);
      if (created !== undefined && random.chance(0.8)) node.startContainer(created);
      break;
    }
    case 'start':
      if (id !== undefined && !node.containers.get(id)!.running) node.startContainer(id);
      break;
    case 'end':
      if (id !== undefined) node.end(id);
      break;
    case 'failed creation': {
      if (!pod) break;
      const info = {
        id: node.nextId('f-'), sandboxId: pod.sandboxId, name: 'failing', phase: 'creating' as const, cgroupsPath: '', resources: resourcesFor(random.int(1, 2)),
      }; // prettier-ignore
      node.send({ kind: 'create-container', pod, container: info });
      node.send({ kind: 'container-stopped', containerId: info.id });
      node.send({ kind: 'container-removed', containerId: info.id });
      break;
    }
    case 'remove pod':
      if (pod) node.removePod(pod.sandboxId);
      break;
    case 'api spec':
      if (pod) sendSpec(node, node.specs.get(pod.uid));
      break;
    case 'api annotations': {
      const running = new Set([...node.containers.values()].map(({ podId }) => node.pods.get(podId)?.uid));
      const candidates = [...node.specs.values()].filter(({ uid }) => running.has(uid));
      if (candidates.length === 0) break;
      const spec = random.pick(candidates);
      node.specs.set(spec.uid, { ...spec, ...pickAnnotations(randomAnnotations(random, full)) });
      switched.add(spec.uid);
      if (random.chance(0.8)) sendSpec(node, node.specs.get(spec.uid));
      break;
    }
    case 'api progress': {
      const spec = pod && node.specs.get(pod.uid);
      if (!spec) break;
      // The status of containers may be late or early.
      const containers = spec.containers.map((container) => ({ ...container, ended: random.chance(0.4) }));
      const leaves = random.chance(0.1) && { isBeingDeleted: true as const };
      node.specs.set(spec.uid, { ...spec, ...leaves, containers, finished: random.chance(0.1) });
      sendSpec(node, node.specs.get(spec.uid));
      break;
    }
    case 'api lists': {
      for (const uid of [...node.specs.keys()])
        if (![...node.pods.values()].some((each) => each.uid === uid) && random.chance(0.7)) node.specs.delete(uid);
      node.send({ kind: 'pod-specs', specs: [...node.specs.values()] });
      break;
    }
    case 'api gone': {
      if (node.specs.size === 0) break;
      const uid = random.pick([...node.specs.keys()]); // also of a pod that runs: it was deleted by force
      node.specs.delete(uid);
      node.send({ kind: 'pod-spec-gone', uid });
      break;
    }
    case 'tamper':
      if (id !== undefined && node.kernel.has(id))
        node.kernel.set(id, CpuSet.of([random.pick(node.topology.online.toArray())]));
      jest.advanceTimersByTime(QUIET_MS); // long enough that repairs do not stop
      node.sweep();
      break;
    case 'resize':
      if (id !== undefined) node.update(id, resourcesFor(random.pick([0, 1, 2, 3])));
      break;
    case 'foreign update':
      if (id !== undefined) node.update(id, { cpus: node.topology.online.toString() });
      break;
    case 'cut':
      node.effectsUntilCut = random.int(0, 4); // the kill comes at one of the next effects
      return `cut after ${node.effectsUntilCut} effects`;
    case 'lost events':
      // The runtime was restarted: only a synchronization shows what has ended meanwhile.
      if (pod && random.chance(0.5)) node.removePod(pod.sandboxId, { isAnnounced: false });
      else if (id !== undefined) node.end(id, { isAnnounced: false });
      if (node.daemon) node.synchronize();
      break;
    case 'reconnect':
      if (node.daemon) node.synchronize();
      break;
    case 'hotplug':
      node.changeTopology(random.chance(0.5) ? full : withoutSome(random, full));
      break;
    case 'disk':
      node.diskIsFull = random.chance(0.3);
      break;
    case 'live rules':
      node.reload(randomSettings(random, full));
      break;
    case 'new rules':
      node.kill();
      node.settings = randomSettings(random, full);
      break;
  }
  return action;
}

/** The lists of CPUs and memory nodes that a request brings: often none, one of them, or both. */
export function randomLists(random: Random, { online, memoryNodes }: Topology): Pick<CpuResources, 'cpus' | 'mems'> {
  const some = (ids: readonly number[]): string => {
    const chosen = ids.filter(() => random.chance(0.6));
    return CpuSet.of(chosen.length > 0 ? chosen : [random.pick(ids)]).toString();
  };
  const cpus = random.chance(0.5) ? some(online.toArray()) : undefined;
  const mems = memoryNodes.length > 0 && random.chance(0.3) ? some(memoryNodes.map(({ id }) => id)) : undefined;
  return { ...(cpus !== undefined && { cpus }), ...(mems !== undefined && { mems }) };
}
