import { CpuSet } from '../../src/core/cpuset';
import { keyOf, type Assignment } from '../../src/core/model/assignment';
import type { NodeModel } from '../../src/core/model/node-model';
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
    ...(node.daemon.onlookers?.findBroken() ?? []),
  ];
}

/** Those of them that the model alone can break. */
export function findBrokenSets(model: NodeModel): string[] {
  return [
    ...setsAreDisjoint(model),
    ...setsMakeUpTheMachine(model),
    ...fixedSetsAreHeld(model),
    ...followersFollow(model),
  ];
}

const isExclusive = ({ kind }: Assignment): boolean => kind === 'static' || kind === 'exclusive';

/** The CPUs of assignments in order, those that a pod shares once; names whoever has some of another's. */
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

/** 8: an immovable container's CPUs are in nobody's exclusive set, and in no other immovable one. */
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

/** What the API server tells decides: nothing lies idle in a pod whose containers have all ended. */
function finishedPodsHoldNothingIdle({ assignments, podSpecs, containers }: NodeModel): string[] {
  const living = new Set([...containers.values()].map(({ podUid, name }) => `${podUid}/${name}`));
  return [...assignments]
    .filter(([key, { podUid, containerId }]) => {
      return containerId === null && !living.has(key) && podSpecs.get(podUid)?.finished === true;
    })
    .map(([, assignment]) => assignment)
    .map(({ podUid, containerName }) => `idle: ${podUid}/${containerName} has CPUs that nobody can need`);
}

/** 9: a numa container is promised the shared CPUs of its nodes that are not reserved, as far as there are any. */
function followersFollow(model: NodeModel): string[] {
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

/** What holds between two moments under the same rules on the same machine. */
export interface Moment {
  readonly ground: readonly unknown[];
  readonly assignments: ReadonlyMap<string, Assignment>;
  /** Keys of those that follow nodes and have something to follow. */
  readonly following: ReadonlySet<string>;
  /** The containers that the runtime has, and the uids of their pods. */
  readonly alive: ReadonlyMap<string, string>;
  /** Keys of what is kept for containers of pods that the API server has, and that may come or come back. */
  readonly kept: ReadonlySet<string>;
  /** True when it would be kept for the container, if it had something. */
  readonly isKept: (assignment: Assignment) => boolean;
}

export function takeMoment({ daemon, containers, pods }: SimulatedNode): Moment | undefined {
  if (!daemon) return undefined;
  const { model } = daemon;
  const { topology, settings, assignments } = daemon.model;
  const following = [...assignments].filter(([, assignment]) => !followedBy(daemon.model, assignment).isEmpty);
  return {
    ground: [topology, settings],
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
 * 10: what is kept for a container of a pod that the API server has stays so, whatever becomes of its sandbox and of cpusetd.
 * Containers of the pod that came meanwhile may have it; what its pod asks for now may be something else.
 */
export function findLostCpus(before: Moment, after: Moment, changed: ReadonlySet<string>): string[] {
  if (!before.ground.every((part, i) => part === after.ground[i])) return [];
  const grown = new Set([...after.alive].filter(([id]) => !before.alive.has(id)).map(([, podUid]) => podUid));
  return [...before.assignments]
    .filter(
      ([key, assignment]) =>
        before.kept.has(key) &&
        after.isKept(assignment) &&
        !grown.has(assignment.podUid) &&
        !changed.has(assignment.podUid),
    )
    .filter(([key, { cpus }]) => !cpus.isSubsetOf(after.assignments.get(key)?.cpus ?? CpuSet.empty))
    .map(([key, { cpus }]) => `10: ${key} had ${cpus.toString()} kept for it, and has not`);
}

/**
 * 5: a container that runs on has what it had, unless it was resized or its pod changed its mind. 9: nobody takes the last CPU
 * of what another follows.
 */
export function findBrokenPromises(
  before: Moment,
  after: Moment,
  { resized, switched }: { readonly resized: boolean; readonly switched: ReadonlySet<string> },
): string[] {
  const broken: string[] = [];
  const sameGround = before.ground.every((part, i) => part === after.ground[i]);
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
    if (sameGround && before.following.has(key) && !after.following.has(key))
      broken.push(`9: the last shared CPU of the nodes of ${key} was taken`);
  }
  return broken;
}

function show({ kind, cpus, nodes }: Assignment): string {
  return `${kind} ${nodes ? `nodes ${nodes.toString()}` : cpus.toString()}`;
}

/** 2: shared pool, exclusive and strictly reserved CPUs make up the machine; the pool is never empty. */
function setsMakeUpTheMachine(model: NodeModel): string[] {
  const strict = model.settings.options.strictCpuReservation ? model.settings.reserved : CpuSet.empty;
  const all = CpuSet.unionOf([model.sharedPool, model.exclusive, strict.intersect(model.topology.online)]);
  const broken: string[] = [];
  if (!all.equals(model.topology.online))
    broken.push(`2: ${all.toString()} is not ${model.topology.online.toString()}`);
  if (model.sharedPool.isEmpty) broken.push('2: the shared pool is empty');
  return broken;
}

/** 6 and 5: who runs is where it was promised, and nobody is on CPUs of another's own. */
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

/** 4: every exclusive set that anyone was told is in the document on disk. */
function diskHasWhatWasAnswered(node: SimulatedNode, model: NodeModel): string[] {
  if (node.diskIsFull || node.daemon?.transactor.hasUnsavedState) return [];
  const inMemory = [...model.assignments.values()].map(describe).sort().join('\n');
  const decoded = node.disk === undefined ? undefined : decodeState(node.disk);
  const onDisk = decoded?.ok ? decoded.state.assignments.map(describe).sort().join('\n') : '';
  return inMemory === onDisk ? [] : [`4: in memory\n${inMemory}\non disk\n${onDisk}`];
}

function describe({ podUid, containerName, containerId, ...assignment }: Assignment): string {
  const state = containerId ?? (assignment.planned ? 'planned' : 'idle');
  return `${podUid}/${containerName} ${show({ podUid, containerName, containerId, ...assignment })} ${state}`;
}
