import { CpuSet } from '../../src/core/cpuset';
import { keyOf, type Assignment } from '../../src/core/model/assignment';
import type { NodeModel } from '../../src/core/model/node-model';
import { rulesOf, type Settings } from '../../src/core/model/settings';
import type { Topology } from '../../src/core/topology';
import { findContainerSpec } from '../../src/core/model/pod-spec';
import { apiHasPod, specOfPod } from '../../src/core/model/pod-presence';
import { decodeState } from '../../src/state';
import type { SimulatedNode } from '../simulation/simulated-node';

/** The invariants that hold after every step while the daemon is up and connected. Returns what is broken. */
export function findBrokenInvariants(node: SimulatedNode): string[] {
  if (!node.daemon) return [];
  const { model } = node.daemon;
  return [
    ...findBrokenSets(model),
    ...kernelHasWhatWasPromised(node, model),
    ...diskHasWhatWasAnswered(node, model),
    ...finishedPodsHoldNothingIdle(model),
    ...(node.daemon.observers?.findBroken() ?? []),
  ];
}

/** The invariants that the model alone can break. */
export function findBrokenSets(model: NodeModel): string[] {
  return [
    ...setsAreDisjoint(model),
    ...setsMakeUpTheMachine(model),
    ...fixedSetsAreHeld(model),
    ...numaSetsFollowThePool(model),
  ];
}

const isExclusive = ({ kind }: Assignment): boolean => kind === 'static' || kind === 'exclusive';

/**
 * The union of all CPUs of these assignments. Reports containers that overlap, except those of one pod that share a
 * set.
 */
function sumUp(assignments: readonly Assignment[], broken: string[]): CpuSet {
  let owned = CpuSet.empty;
  const podSets = new Map<string, CpuSet>();
  for (const { cpus, podUid, containerName, kind, scope } of assignments) {
    const ofPod = scope === 'pod' ? (podSets.get(`${podUid} ${kind}`) ?? CpuSet.empty) : CpuSet.empty;
    if (cpus.minus(ofPod).overlaps(owned.minus(ofPod)))
      broken.push(`1: ${podUid}/${containerName} ${cpus.toString()} overlaps another set`);
    if (scope === 'pod') podSets.set(`${podUid} ${kind}`, ofPod.union(cpus));
    owned = owned.union(cpus);
  }
  return owned;
}

/** 1: exclusive sets are disjoint from each other, from what was reserved when they were given, and from the pool. */
function setsAreDisjoint(model: NodeModel): string[] {
  const broken: string[] = [];
  const exclusive = [...model.assignments.values()].filter(isExclusive);
  for (const { cpus, podUid, containerName, rules } of exclusive) {
    const who = `${podUid}/${containerName} ${cpus.toString()}`;
    if (cpus.isEmpty) broken.push(`1: ${who} is empty`);
    if (cpus.overlaps(rules.reserved)) broken.push(`1: ${who} contains CPUs that were reserved`);
  }
  const owned = sumUp(exclusive, broken);
  const online = owned.intersect(model.topology.online);
  if (!online.equals(model.topology.online) && model.sharedPool.overlaps(owned)) {
    broken.push(`1: the shared pool ${model.sharedPool.toString()} overlaps exclusive CPUs ${owned.toString()}`);
  }
  return broken;
}

/** 8: the CPUs of an immovable container are in no exclusive set, and in no other immovable one. */
function fixedSetsAreHeld(model: NodeModel): string[] {
  const broken: string[] = [];
  const immovable = [...model.assignments.values()].filter(({ kind }) => kind === 'immovable');
  for (const { cpus, podUid, containerName, rules } of immovable) {
    const who = `${podUid}/${containerName} ${cpus.toString()}`;
    if (cpus.isEmpty) broken.push(`8: ${who} is empty`);
    if (cpus.overlaps(rules.reserved)) broken.push(`8: ${who} contains CPUs that were reserved`);
    if (cpus.overlaps(model.exclusive)) broken.push(`8: ${who} overlaps exclusive CPUs ${model.exclusive.toString()}`);
  }
  sumUp(immovable, broken);
  return broken;
}

/** No idle CPUs are kept for a pod that the API server reports as finished. */
function finishedPodsHoldNothingIdle({ assignments, podSpecs, containers }: NodeModel): string[] {
  const living = new Set([...containers.values()].map(({ podUid, name }) => `${podUid}/${name}`));
  return [...assignments]
    .filter(([key, { podUid, containerId }]) => {
      return containerId === null && !living.has(key) && podSpecs.get(podUid)?.finished === true;
    })
    .map(([, assignment]) => assignment)
    .map(({ podUid, containerName }) => `idle: ${podUid}/${containerName} has idle CPUs in a finished pod`);
}

/** 9: a numa container is promised the shared CPUs of its nodes that are not reserved, if there are any. */
function numaSetsFollowThePool(model: NodeModel): string[] {
  const broken: string[] = [];
  for (const container of model.containers.values()) {
    if (container.placement !== 'numa') continue;
    const assignment = model.assignments.get(`${container.podUid}/${container.name}`);
    const promised = container.promise?.cpus ?? CpuSet.empty;
    const wanted = assignment ? followedBy(model, assignment) : CpuSet.empty;
    if (promised.isEmpty) broken.push(`9: ${container.id} is promised nothing`);
    if (!wanted.isEmpty && !promised.equals(wanted))
      broken.push(`9: ${container.id} is promised ${promised.toString()}, not ${wanted.toString()}`);
    if (!promised.isSubsetOf(model.sharedPool)) broken.push(`9: ${container.id} is promised more than what is shared`);
  }
  return broken;
}

function followedBy(model: NodeModel, { nodes = CpuSet.empty }: Assignment): CpuSet {
  const cpus = model.topology.cpus.filter(({ id, numaNode }) => nodes.has(numaNode) && model.sharedPool.has(id));
  return CpuSet.of(cpus.map(({ id }) => id)).minus(model.settings.reserved);
}

/** The state of a node at one moment, to be compared with a later one. */
export interface Moment {
  readonly topology: Topology;
  readonly settings: Settings;
  readonly assignments: ReadonlyMap<string, Assignment>;
  /** Keys of assignments that follow NUMA nodes with at least one shared CPU. */
  readonly following: ReadonlySet<string>;
  /** The containers that the runtime has, and the uids of their pods. */
  readonly alive: ReadonlyMap<string, string>;
  /** Keys of idle assignments that are kept for containers of pods that the API server has. */
  readonly kept: ReadonlySet<string>;
  /** True for an idle assignment whose container may still be created. */
  readonly isKept: (assignment: Assignment) => boolean;
}

export function takeMoment({ daemon, containers, pods }: SimulatedNode): Moment | undefined {
  if (!daemon) return undefined;
  const { model } = daemon;
  const { topology, settings, assignments } = daemon.model;
  const following = [...assignments].filter(([, assignment]) => !followedBy(daemon.model, assignment).isEmpty);
  return {
    topology,
    settings,
    assignments: new Map(assignments),
    following: new Set(following.map(([key]) => key)),
    alive: new Map([...containers].map(([id, { podId }]) => [id, pods.get(podId)?.uid ?? ''])),
    isKept: (assignment) => isKept(model, assignment),
    kept: new Set([...assignments.values()].filter((assignment) => isKept(model, assignment)).map(keyOf)),
  };
}

function isKept(model: NodeModel, { podUid, containerName, containerId }: Assignment): boolean {
  if (containerId !== null || !apiHasPod(model, podUid)) return false;
  const container = findContainerSpec(specOfPod(model, podUid), containerName);
  return container === undefined || (container.kind === 'app' && !container.ended);
}

/**
 * 10: CPUs that are kept for a container of a pod that the API server has stay so, also when its sandbox or cpusetd
 * ends. Pods with new containers or another request are left out: their CPUs may have moved to another container. So
 * are CPUs that were chosen under rules that are not in force any more: the plan for a container to come is made anew
 * under those of now.
 */
export function findLostCpus(before: Moment, after: Moment, changed: ReadonlySet<string>): string[] {
  if (!isSameNode(before, after)) return [];
  const grown = new Set([...after.alive].filter(([id]) => !before.alive.has(id)).map(([, podUid]) => podUid));
  return [...before.assignments]
    .filter(
      ([key, assignment]) =>
        before.kept.has(key) &&
        isUnderRulesOf(after.settings, assignment) &&
        after.isKept(assignment) &&
        !grown.has(assignment.podUid) &&
        !changed.has(assignment.podUid),
    )
    .filter(([key, { cpus }]) => !cpus.isSubsetOf(after.assignments.get(key)?.cpus ?? CpuSet.empty))
    .map(([key, { cpus }]) => `10: ${key} had ${cpus.toString()} kept for it, and has not`);
}

/** True for an assignment that was made under the rules of these settings. */
export function isUnderRulesOf(settings: Settings, { rules }: Assignment): boolean {
  const { options, reserved } = rulesOf(settings);
  const isAllowed =
    rules.chosenBy === undefined
      ? rules.policy === settings.cpuManagerPolicy
      : settings.podPolicies?.some((policy) => policy === rules.policy) === true;
  return isAllowed && rules.reserved.equals(reserved) && rules.options.join() === options.join();
}

/**
 * 5: a container that goes on running keeps its assignment, unless it was resized or its pod changed its annotations.
 * 9: no allocation takes the last CPU of a numa set.
 */
export function findBrokenPromises(
  before: Moment,
  after: Moment,
  { resized, switched }: { readonly resized: boolean; readonly switched: ReadonlySet<string> },
): string[] {
  const broken: string[] = [];
  for (const [key, then] of before.assignments) {
    const now = after.assignments.get(key);
    const runsOn = then.containerId !== null && after.alive.has(then.containerId);
    if (!runsOn || resized || switched.has(then.podUid)) continue;
    if (now?.containerId !== then.containerId) {
      broken.push(`5: ${key} had ${show(then)} and runs on without it`);
      continue;
    }
    const isSame = now.cpus.equals(then.cpus) && (now.nodes?.toString() ?? '') === (then.nodes?.toString() ?? '');
    if (!isSame || now.kind !== then.kind) broken.push(`5: ${key} had ${show(then)} and has ${show(now)}`);
    if (isSameNode(before, after) && before.following.has(key) && !after.following.has(key))
      broken.push(`9: the last shared CPU of the nodes of ${key} was taken`);
  }
  return broken;
}

/** True when topology and settings did not change between the two moments. */
const isSameNode = (before: Moment, after: Moment): boolean =>
  before.topology === after.topology && before.settings === after.settings;

function show({ kind, cpus, nodes }: Assignment): string {
  return `${kind} ${nodes ? `nodes ${nodes.toString()}` : cpus.toString()}`;
}

/** 2: shared pool, exclusive and strictly reserved CPUs make up the online CPUs; the pool is never empty. */
function setsMakeUpTheMachine(model: NodeModel): string[] {
  const strict = model.settings.options.strictCpuReservation ? model.settings.reserved : CpuSet.empty;
  const all = CpuSet.unionOf([model.sharedPool, model.exclusive, strict.intersect(model.topology.online)]);
  const broken: string[] = [];
  if (!all.equals(model.topology.online))
    broken.push(`2: ${all.toString()} is not ${model.topology.online.toString()}`);
  if (model.sharedPool.isEmpty) broken.push('2: the shared pool is empty');
  return broken;
}

/**
 * 6 and 5: every running container is on the CPUs that it was promised, and no pause container is on exclusive CPUs.
 */
function kernelHasWhatWasPromised(node: SimulatedNode, model: NodeModel): string[] {
  const broken: string[] = [];
  for (const [id, cpus] of node.kernel) {
    const container = model.allContainers.get(id);
    if (!container) {
      broken.push(`6: ${id} runs and is not known`);
      continue;
    }
    const hasOverlap = model.sharedPool.overlaps(model.exclusive); // no other CPU is online
    if (container.pause && cpus.overlaps(model.exclusive) && !hasOverlap)
      broken.push(
        `6: the pause container of ${id} is on ${cpus.toString()}, CPUs ${model.exclusive.toString()} are others'`,
      );
    if (!container.promise) continue;
    if (!cpus.equals(container.promise.cpus)) {
      broken.push(`6: ${id} is on ${cpus.toString()}, promised ${container.promise.cpus.toString()}`);
    }
  }
  return broken;
}

/** 4: the state file has every assignment of the model. */
function diskHasWhatWasAnswered(node: SimulatedNode, model: NodeModel): string[] {
  if (node.diskIsFull || node.daemon?.transactor.hasUnsavedState) return [];
  const inMemory = [...model.assignments.values()].map(describe).sort().join('\n');
  const onDisk = node.disk === undefined ? '' : describeDocument(node.disk);
  return inMemory === onDisk ? [] : [`4: in memory\n${inMemory}\non disk\n${onDisk}`];
}

/**
 * Descriptions of the last documents: most histories go through the same ones, and decoding them is most of the work of
 * a check.
 */
const described = new Map<string, string>();

function describeDocument(text: string): string {
  let description = described.get(text);
  if (description === undefined) {
    const decoded = decodeState(text);
    description = decoded.ok ? decoded.state.assignments.map(describe).sort().join('\n') : '';
    if (described.size > 2_000) described.clear();
    described.set(text, description);
  }
  return description;
}

function describe({ podUid, containerName, containerId, ...assignment }: Assignment): string {
  const state = containerId ?? (assignment.planned ? 'planned' : 'idle');
  return `${podUid}/${containerName} ${show({ podUid, containerName, containerId, ...assignment })} ${state}`;
}
