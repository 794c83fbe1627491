import { choosePolicy } from '../../src/core/annotations/choose-policy';
import { TOPOLOGY_RESULT } from '../../src/core/annotations/topology-result';
import { CpuSet } from '../../src/core/cpuset';
import { keyOf, type Assignment } from '../../src/core/model/assignment';
import type { Container } from '../../src/core/model/container';
import type { CpuResources, PodInfo } from '../../src/core/model/events';
import type { NodeModel } from '../../src/core/model/node-model';
import { findContainerSpec, type PodSpec } from '../../src/core/model/pod-spec';
import { NO_OPTIONS, type Settings } from '../../src/core/model/settings';
import { keepWholeCores, restrictTopology, type Topology } from '../../src/core/topology';
import { findBrokenInvariants, isUnderRulesOf } from '../support/invariants';
import { createRandom, type Random } from '../support/random';
import { specOf } from '../support/spec-of';
import { randomTopology } from './random-history';
import { resourcesFor, SimulatedNode } from './simulated-node';
import { unevenMachine } from './uneven-machine';

// Resizes among creations, exits, restarts and other changes. The judge knows sets before and after, and nothing of how
// they are chosen.

const HISTORIES = 500;
const STEPS = 60;
const NAMES = ['app', 'side', 'late'] as const;

function randomSettings(random: Random, machine: Topology): Settings {
  const ids = machine.online.toArray();
  return {
    cpuManagerPolicy: random.pick(['static', 'static', 'static', 'exclusive', 'immovable', 'numa', 'none']),
    podPolicies: random.chance(0.5) ? ['static', 'exclusive', 'immovable', 'numa'] : [],
    options: { ...NO_OPTIONS, ...randomOptions(random) },
    reserved: CpuSet.of(ids.slice(0, random.int(1, 2))),
    minSharedCpus: random.int(1, 2),
    onInsufficientCpu: random.pick(['refuse', 'share']),
    liftCpuQuota: random.chance(0.5),
    memoryNodes: random.pick(['off', 'follow']),
    topologyManager: {
      policy: random.pick(['none', 'best-effort', 'restricted', 'single-numa-node']),
      scope: random.pick(['container', 'pod']),
      options: { preferClosestNumaNodes: false, maxAllowableNumaNodes: 8 },
    },
  };
}

function randomOptions(random: Random): Partial<Settings['options']> {
  return random.pick([
    {},
    {},
    { fullPcpusOnly: true },
    { fullPcpusOnly: true, preferAlignCpusByUncorecache: true },
    { distributeCpusAcrossNuma: true },
    { distributeCpusAcrossCores: true },
    { preferAlignCpusByUncorecache: true },
    { strictCpuReservation: true },
  ]);
}

/** Everything that a resize may change, or must not. */
interface Before {
  readonly assignments: ReadonlyMap<string, Assignment>;
  readonly containers: ReadonlyMap<string, Container>;
  readonly all: string;
  readonly saves: number;
  readonly free: CpuSet;
  readonly sharedPool: CpuSet;
}

function lookAt({ daemon, kernel, saves }: SimulatedNode): Before {
  const { free, sharedPool } = daemon!.model;
  const { assignments, containers, allContainers, pods, podSpecs, unplanned, waiting, unswitched } = daemon!.model;
  const tables = [assignments, allContainers, pods, podSpecs, unplanned, kernel].map((table) => [...table]);
  const all = JSON.stringify([tables, [...waiting], [...unswitched]]);
  return { assignments: new Map(assignments), containers: new Map(containers), all, saves, free, sharedPool };
}

const OFTEN = HISTORIES / 2;
const RARELY = HISTORIES / 40;

/** The situations that all histories together have to meet, each more often than this. */
const LEAST = {
  grown: OFTEN, shrunk: OFTEN, shared: OFTEN, entitled: OFTEN, refused: OFTEN, refusedUnderShare: OFTEN, memory: OFTEN, numa: OFTEN,
  besideIdle: OFTEN, besidePlanned: OFTEN, waiting: RARELY, served: RARELY, ended: RARELY, returned: RARELY, heldUnderOldRules: RARELY, ofPod: RARELY,
}; // prettier-ignore

const SITUATIONS = Object.keys(LEAST) as (keyof typeof LEAST)[];
const SEEN = Object.fromEntries(SITUATIONS.map((what) => [what, 0])) as Record<keyof typeof LEAST, number>;

/** The rules that a resize of this container has broken. */
function judgeResize(node: SimulatedNode, before: Before, id: string, asked: Asked, isRefused: boolean): string[] {
  const after = lookAt(node);
  const was = before.containers.get(id)!;
  const now = after.containers.get(id)!;
  const key = `${was.podUid}/${was.name}`;
  const broken: string[] = [];
  if (asked.isOfMemory) SEEN.memory++;
  if (isRefused) {
    SEEN.refused++;
    if (node.settings.onInsufficientCpu === 'share') SEEN.refusedUnderShare++;
    if (after.all !== before.all || after.saves !== before.saves) broken.push('a refusal changed something');
    if (asked.isOfMemory) broken.push('a resize of memory alone was refused');
    if (was.waitingSince !== undefined) broken.push('a container that waits was refused');
    if (couldGrow(node, before, holds(before, key, id), asked)) broken.push('a growth was refused, and there is room');
  }
  broken.push(...judgeOwn(node, { key, asked, had: holds(before, key, id), has: holds(after, key, id) }));
  if (was.waitingSince !== undefined) {
    SEEN.waiting++;
    const isServed = now.placement !== 'shared';
    if (isServed) SEEN.served++;
    else if (asked.isWhole && isApp(node.daemon!.model, key) && now.waitingSince !== was.waitingSince)
      broken.push('a container waits no longer');
    else if (!asked.isWhole && now.waitingSince !== undefined)
      broken.push('a container waits for what it does not ask');
    if (now.waitingSince === undefined && !isServed) SEEN.ended++;
  }
  for (const [other, held] of before.assignments)
    if (other !== key) broken.push(...judgeOther(node, other, held, after.assignments.get(other)));
  return broken;
}

function holds({ assignments }: Before, key: string, id: string): Assignment | undefined {
  const assignment = assignments.get(key);
  return assignment?.containerId === id ? assignment : undefined;
}

/**
 * Crane's policies are for app containers. One that was placed before its kind was known has no claim to what it got.
 */
function isApp({ podSpecs }: NodeModel, key: string): boolean {
  const [podUid = '', name = ''] = key.split('/');
  return (findContainerSpec(podSpecs.get(podUid), name)?.kind ?? 'app') === 'app';
}

interface Own {
  readonly key: string;
  readonly asked: Asked;
  readonly had: Assignment | undefined;
  readonly has: Assignment | undefined;
}

/** A smaller set is a part of what it had, a larger one has all of it. */
function judgeOwn({ daemon, settings }: SimulatedNode, { key, asked, had, has }: Own): string[] {
  if (!had && has) SEEN.entitled++;
  if (!had) return [];
  if (!has) {
    SEEN.shared++;
    return asked.isWhole && (had.kind === 'static' || isApp(daemon!.model, key))
      ? [`${key} had ${had.cpus.toString()} and has nothing`]
      : [];
  }
  if (had.kind !== has.kind) return [`${key} was ${had.kind} and is ${has.kind}`];
  if (had.kind === 'numa') {
    SEEN.numa++;
    const isKept = had.nodes!.isSubsetOf(has.nodes!);
    return isKept ? [] : [`${key} left nodes ${had.nodes!.toString()} for ${has.nodes!.toString()}`];
  }
  const text = `${key} had ${had.cpus.toString()} and has ${has.cpus.toString()}`;
  if (asked.isOfMemory || had.scope === 'pod') {
    if (had.scope === 'pod') SEEN.ofPod++;
    return has.cpus.equals(had.cpus) ? [] : [text];
  }
  if (has.requested === had.requested && has.cpus.equals(had.cpus)) return [];
  if (!had.rules.reserved.equals(settings.reserved)) SEEN.heldUnderOldRules++;
  if (has.cpus.size < had.cpus.size) SEEN.shrunk++;
  if (has.requested <= had.cpus.size) return has.cpus.isSubsetOf(had.cpus) ? [] : [text];
  SEEN.grown++;
  const { topology } = daemon!.model;
  const broken: string[] = [];
  if (!had.cpus.intersect(topology.online).isSubsetOf(has.cpus) || has.cpus.size !== has.requested) broken.push(text);
  if (has.kind === 'immovable') return broken;
  const { options, topologyManager } = settings;
  if (options.fullPcpusOnly && !keepWholeCores(topology, has.cpus).equals(has.cpus)) broken.push(`${text}, torn cores`);
  const nodes = topology.numaNodes.filter(({ cpus }) => cpus.overlaps(has.cpus)).length;
  if (topologyManager!.policy === 'single-numa-node' && nodes > 1) broken.push(`${text}, on ${nodes} NUMA nodes`);
  return broken;
}

/** True when single CPUs, wherever they are, would have been enough to grow. */
function couldGrow(
  { daemon, settings }: SimulatedNode,
  before: Before,
  had: Assignment | undefined,
  { resources }: Asked,
): boolean {
  const { options, topologyManager, minSharedCpus } = settings;
  const hasFollowers = [...before.assignments.values()].some(({ kind }) => kind === 'numa');
  if (!had || had.kind === 'numa' || hasFollowers || options.fullPcpusOnly || topologyManager!.policy !== 'none')
    return false;
  const missing = (resources.shares ?? 0) / 1024 - had.cpus.intersect(daemon!.model.topology.online).size;
  const spare = had.kind === 'immovable' ? Infinity : before.sharedPool.size - minSharedCpus;
  return missing <= Math.min(before.free.size, spare);
}

/** No other container loses a CPU, and none that is still to come or will come back. */
function judgeOther(node: SimulatedNode, key: string, had: Assignment, has: Assignment | undefined): string[] {
  if (had.planned) SEEN.besidePlanned++;
  else if (had.containerId === null) SEEN.besideIdle++;
  if (has && had.cpus.isSubsetOf(has.cpus)) return [];
  // The container of this name had waited; or CPUs of old rules are planned anew by those of now.
  const isServed = had.containerId === null && typeof has?.containerId === 'string';
  if (isServed || (had.containerId === null && has && !isUnderRulesOf(node.settings, had))) return [];
  const spec = node.daemon!.model.podSpecs.get(had.podUid);
  const container = findContainerSpec(spec, had.containerName);
  const appsBegan = spec?.containers.some(({ name, kind }) => kind === 'app' && isThere(node, had.podUid, name));
  const isOver = container?.ended === true || (container?.kind === 'init' && appsBegan === true);
  const isReleased = had.containerId === null && !has && (isOver || spec?.finished === true);
  return isReleased ? [] : [`${key} had ${had.cpus.toString()} and lost some to a resize`];
}

function isThere({ daemon }: SimulatedNode, podUid: string, name: string): boolean {
  return daemon!.model.containersOf(podUid).some((container) => container.name === name);
}

interface Asked {
  readonly resources: CpuResources;
  readonly isOfMemory: boolean;
  readonly isWhole: boolean;
}

function randomResize(random: Random, { shares = 0 }: CpuResources): Asked {
  const memoryLimitBytes = random.pick([0, 1, 64, 512, 2_048]) * 2 ** 20;
  const isWholeNow = shares >= 1024 && shares % 1024 === 0;
  switch (random.pick(['cpu', 'cpu', 'cpu', 'cpu', 'both', 'memory', 'fraction', 'fewer'])) {
    case 'cpu':
      return { resources: resourcesFor(random.int(1, 6)), isOfMemory: false, isWhole: true };
    case 'both':
      return { resources: { ...resourcesFor(random.int(1, 6)), memoryLimitBytes }, isOfMemory: false, isWhole: true };
    case 'memory':
      return { resources: { memoryLimitBytes }, isOfMemory: true, isWhole: isWholeNow };
    case 'fraction':
      return { resources: { ...resourcesFor(1), shares: 1536, quotaUs: 150_000 }, isOfMemory: false, isWhole: false };
    default:
      return { resources: resourcesFor(Math.max(1, (shares >> 10) - 1)), isOfMemory: false, isWhole: true };
  }
}

/** CPUs of exited containers that nothing but resizes has happened to since, by their keys. */
type Left = Map<string, { readonly cpus: CpuSet; readonly count: number }>;

function addPod(node: SimulatedNode, random: Random): void {
  const annotations: Record<string, string> = random.chance(0.3)
    ? { 'cpusetd.io/policy': random.pick(['static', 'exclusive', 'immovable', 'numa']) }
    : {};
  const isCranes = random.chance(0.2);
  if (isCranes) {
    annotations['topology.crane.io/cpu-policy'] = random.pick(['exclusive', 'immovable']);
    const resources = { capacity: { cpu: `${random.int(1, 3)}` } };
    annotations[TOPOLOGY_RESULT] = JSON.stringify([{ name: 'node0', type: 'Node', resources }]);
  }
  const namesSum = isCranes || random.chance(0.5);
  const pod = node.addPod(true, {
    annotations,
    ...(namesSum && { podResources: { shares: 1024 * random.int(6, 9) } }),
  });
  if (!node.hasApiServer || random.chance(0.2)) return;
  const kinds = { app: random.pick(['app', 'init']), side: random.pick(['app', 'sidecar']), late: 'app' };
  const texts = NAMES.map((name) => `${name} ${kinds[name]} ${random.int(1, 3)}`);
  const spec = specOf(pod.uid, texts.join(','), { name: pod.name, annotations: pod.annotations });
  node.specs.set(pod.uid, spec);
  node.send({ kind: 'pod-spec', spec });
}

/** Creates a container as a kubelet does: never beside one of its name. */
function create(node: SimulatedNode, random: Random, pod: PodInfo, left: Left): string[] {
  const running = new Set([...node.containers.values()].filter((each) => each.podId === pod.sandboxId).map((each) => each.info.name)); // prettier-ignore
  const returning = [...left.keys()].filter((key) => key.startsWith(`${pod.uid}/`)).map((key) => key.split('/')[1]!);
  const name = random.pick(returning.length > 0 && random.chance(0.8) ? returning : NAMES);
  if (running.has(name)) return [];
  const key = keyOf({ podUid: pod.uid, containerName: name });
  const had = left.get(key);
  const spec = findContainerSpec(node.specs.get(pod.uid), name);
  const count = had?.count ?? (spec && random.chance(0.7) ? (spec.requestMilliCpu ?? 0) / 1000 : random.int(1, 4));
  const id = node.create(pod, name, count);
  for (const each of [...left.keys()]) if (each.startsWith(`${pod.uid}/`)) left.delete(each);
  if (id !== undefined) node.startContainer(id);
  const has = node.daemon?.model.assignments.get(key)?.cpus;
  if (!had || !node.daemon) return [];
  SEEN.returned++;
  const isBack = id !== undefined && has?.equals(had.cpus) === true;
  return isBack ? [] : [`${key} left ${had.cpus.toString()} and came back to ${has?.toString() ?? 'nothing'}`];
}

/** Ends a container, and remembers what it leaves if it may come back. */
function end(node: SimulatedNode, id: string, left: Left): void {
  const { model } = node.daemon!;
  const container = model.containers.get(id);
  const key = container && keyOf({ podUid: container.podUid, containerName: container.name });
  const held = key && model.assignments.get(key);
  node.end(id);
  if (!key || held?.containerId !== id || held.kind === 'numa' || held.scope === 'pod') return;
  if (held.kind !== 'static' && !isApp(model, key)) return;
  const { annotations } = model.pods.get(container.sandboxId)!;
  if (choosePolicy(node.settings, annotations, container.name).policy !== held.kind) return;
  // The scheduler has chosen: a container that comes back joins the set of its pod.
  if (TOPOLOGY_RESULT in annotations) return;
  const isKept = model.assignments.get(key)?.cpus.equals(held.cpus) === true;
  const isOfNow = isUnderRulesOf(node.settings, held) && held.cpus.isSubsetOf(model.topology.online);
  if (isKept && isOfNow && held.cpus.size === held.requested) left.set(key, { cpus: held.cpus, count: held.requested });
}

function reportProgress(node: SimulatedNode, random: Random, pod: PodInfo): void {
  const spec = node.specs.get(pod.uid);
  if (!spec) return;
  const isRunning = (name: string): boolean => isThere(node, pod.uid, name);
  const containers = spec.containers.map((each) => ({ ...each, ended: each.ended || (!isRunning(each.name) && random.chance(0.2)) })); // prettier-ignore
  const reported: PodSpec = { ...spec, containers };
  node.specs.set(pod.uid, reported);
  node.send({ kind: 'pod-spec', spec: reported });
}

/** The API server lists its pods after each start. */
function restart(node: SimulatedNode, meanwhile: () => unknown = () => undefined): void {
  node.kill();
  meanwhile();
  node.start();
  if (node.hasApiServer) node.send({ kind: 'pod-specs', specs: [...node.specs.values()] });
}

function runHistory(seed: number): void {
  const random = createRandom(seed);
  const machine = random.chance(0.5) ? unevenMachine(random) : randomTopology(random);
  const node = new SimulatedNode(machine, randomSettings(random, machine));
  node.hasApiServer = random.chance(0.5);
  node.start();
  const left: Left = new Map();
  const done: string[] = [];
  for (let i = 0; i < STEPS; i++) {
    const broken: string[] = [];
    const pods = [...node.pods.values()];
    const ids = [...node.containers.keys()];
    const action = random.pick([
      'pod', 'create', 'create', 'create', 'end', 'end', 'resize', 'resize', 'resize', 'resize', 'resize', 'resize', 'resize', 'resize',
      'progress', 'remove', 'restart', 'missed', 'hotplug', 'rules', 'sweep',
    ] as const); // prettier-ignore
    done.push(action);
    if (action === 'pod' || pods.length === 0) addPod(node, random);
    else if (action === 'create') broken.push(...create(node, random, random.pick(pods), left));
    else if (action === 'progress') {
      reportProgress(node, random, random.pick(pods));
      left.clear();
    } else if (action === 'remove' && random.chance(0.5)) {
      node.removePod(random.pick(pods).sandboxId);
    } else if (action === 'restart') {
      restart(node);
      left.clear(); // pods are planned by their specs, and containers that waited are placed as new ones
    } else if (action === 'missed') {
      // A container that is created while no daemon answers waits for CPUs when there are not enough.
      restart(node, () => create(node, random, random.pick(pods), left));
      left.clear();
    } else if (action === 'hotplug' && random.chance(0.3)) {
      const keep = machine.online.toArray().filter((cpu) => cpu === machine.online.first || random.chance(0.9));
      node.changeTopology(random.chance(0.5) ? machine : restrictTopology(machine, CpuSet.of(keep)));
      left.clear();
    } else if (action === 'rules' && random.chance(0.3)) {
      node.reload(randomSettings(random, machine));
      left.clear();
    } else if (action === 'sweep') {
      node.sweep();
      left.clear();
    } else if (ids.length > 0 && action === 'end') end(node, random.pick(ids), left);
    else if (ids.length > 0 && action === 'resize') {
      const id = random.pick(ids);
      const known = node.daemon!.model.containers.get(id);
      if (!known) continue;
      const before = lookAt(node);
      const asked = randomResize(random, known.resources);
      const answer = node.update(id, asked.resources);
      done.push(`${id} ${known.podUid}/${known.name} to ${JSON.stringify(asked.resources)}: ${JSON.stringify(answer)}`);
      broken.push(...judgeResize(node, before, id, asked, answer?.kind === 'refuse'));
    }
    broken.push(...findBrokenInvariants(node));
    if (broken.length > 0) throw new Error(`seed ${seed}, after: ${done.join('\n')}\n${broken.join('\n')}`);
    jest.advanceTimersByTime(50);
  }
  node.kill();
}

// Work after an answer is done when a history advances the timers.
beforeAll(() => jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'Date'] }));
afterAll(() => jest.useRealTimers());

test(`${HISTORIES} random histories of resizes: a container keeps what it has, nobody else loses CPUs, and a refusal changes nothing`, () => {
  for (let seed = 1; seed <= HISTORIES; seed++) runHistory(seed);
  expect(SITUATIONS.filter((what) => SEEN[what] <= LEAST[what])).toEqual([]);
});
