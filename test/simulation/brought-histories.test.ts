import { leaveAloneRules } from '../../src/option-types/cpu-types';
import { CpuSet, parseCpuList } from '../../src/core/cpuset';
import { keyOf, type AssignmentKey } from '../../src/core/model/assignment';
import type { Container } from '../../src/core/model/container';
import type { CpuResources, PodInfo } from '../../src/core/model/events';
import type { NodeModel } from '../../src/core/model/node-model';
import { POLICY_NAMES } from '../../src/core/model/policies';
import { NO_OPTIONS, type LeaveAloneRule, type Settings } from '../../src/core/model/settings';
import { restrictTopology, type Topology } from '../../src/core/topology';
import { findBrokenInvariants } from '../support/invariants';
import { createRandom, type Random } from '../support/random';
import { specOf } from '../support/spec-of';
import { randomLists, randomTopology, scheduledPod } from './random-history';
import { resourcesFor, SimulatedNode } from './simulated-node';

const HISTORIES = 300;
const STEPS = 50;
const NAMES = ['init', 'app', 'side', 'alone'] as const;

type Lists = Pick<CpuResources, 'cpus' | 'mems'>;

/** The rule that leaves the containers named `alone` as they are. */
const ALONE: readonly LeaveAloneRule[] = [{ namespace: 'ns', pod: '*', container: 'alone', text: 'ns/*/alone' }];

/**
 * A node whose requests bring CPUs and memory nodes, beside a book of what the last creation of each container brought.
 */
class BringingHistory {
  readonly node: SimulatedNode;
  /** By pod and name. */
  private readonly book = new Map<string, Lists>();
  /** The CPUs that containers which are left alone had at their start, by id. */
  private readonly alone = new Map<string, CpuSet>();
  private lists: Lists = {};
  readonly seen = new Map<string, number>();

  constructor(
    private readonly random: Random,
    private readonly full: Topology,
  ) {
    this.node = new SimulatedNode(full, settingsFor(random, full));
    this.node.hasApiServer = random.chance(0.5);
    this.node.bring = () => this.lists;
    this.node.start();
  }

  private get model(): NodeModel {
    return this.node.daemon!.model;
  }

  /** Does one step. Returns its name, and what is wrong after it. */
  step(): { readonly action: string; readonly broken: readonly string[] } {
    const { random, node } = this;
    const pods = [...node.pods.values()];
    const pod = pods.length > 0 ? random.pick(pods) : undefined;
    const ids = [...node.containers.keys()];
    const id = ids.length > 0 ? random.pick(ids) : undefined;
    const action = random.pick([
      'pod', 'create', 'create', 'create', 'create', 'end', 'resize', 'resize', 'remove', 'sandbox', 'restart', 'reconnect', 'hotplug', 'sweep',
    ] as const); // prettier-ignore
    const broken: string[] = [];
    if (action === 'pod') this.addPod();
    else if (action === 'create' && pod) broken.push(...this.create(pod));
    else if (action === 'end' && id !== undefined) node.end(id);
    else if (action === 'resize' && id !== undefined) broken.push(...this.resize(id));
    else if (action === 'remove' && pod) this.removePod(pod);
    else if (action === 'sandbox' && pod) this.renewSandbox(pod);
    else if (action === 'restart') broken.push(...this.restart());
    else if (action === 'reconnect') node.synchronize();
    else if (action === 'hotplug') node.changeTopology(random.chance(0.5) ? this.full : this.withoutSome());
    else node.sweep();
    const invariants = findBrokenInvariants(node).filter((text) => !text.startsWith('9: ')); // here by the book
    return { action, broken: [...broken, ...invariants, ...this.findBroken()] };
  }

  private addPod(): void {
    const { random, node } = this;
    const policy = random.pick([...POLICY_NAMES, undefined, undefined]);
    const { annotations: scheduled = {}, ...choices } = random.chance(0.3) ? scheduledPod(random, this.full) : {};
    const chosen = { ...scheduled, ...(policy && { 'cpusetd.io/policy': policy }) };
    const pod = node.addPod(random.chance(0.8), { annotations: chosen, ...choices });
    if (!node.hasApiServer || random.chance(0.4)) return;
    const texts = NAMES.map((name) => `${name} ${name === 'init' ? 'init' : 'app'} ${random.int(0, 3)}`);
    const { uid, name, annotations } = pod;
    const spec = specOf(uid, texts.join(','), { name, annotations, qos: 'Guaranteed' });
    node.specs.set(uid, spec);
    node.send({ kind: 'pod-spec', spec }); // the CPUs are planned before the requests come
  }

  private create(pod: PodInfo): string[] {
    const { random, node } = this;
    const name = random.pick(NAMES);
    for (const [other, { podId, info }] of [...node.containers])
      if (podId === pod.sandboxId && info.name === name) node.end(other);
    this.lists = randomLists(random, this.full);
    const asked = node.specs.get(pod.uid)?.containers.find((each) => each.name === name)?.requestMilliCpu;
    const before = describe(this.model);
    const created = node.create(pod, name, asked === undefined ? random.int(0, 3) : asked / 1000);
    if (created === undefined) {
      this.count('refused');
      return describe(this.model) === before ? [] : [`a refusal changed\n${before}\nto\n${describe(this.model)}`];
    }
    const { cpus, mems } = this.lists;
    const isBound = cpus !== undefined && !node.topology.online.isSubsetOf(parseCpuList(cpus));
    this.book.set(`${pod.uid}/${name}`, { ...(isBound && { cpus }), ...(mems !== undefined && { mems }) });
    const broken = name === 'alone' ? this.checkStart(created) : [];
    node.startContainer(created);
    if (name === 'alone') this.alone.set(created, node.kernel.get(created)!);
    return broken;
  }

  /** It starts with the CPUs of its request that nobody owns, or the shared pool. */
  private checkStart(id: string): string[] {
    const { recorded } = this.node.containers.get(id)!;
    const had = recorded ?? this.lists.cpus!;
    const wanted = this.sharedFor(this.book.get(this.keyOf(this.model.containers.get(id)!))!).toString();
    return parseCpuList(had).toString() === wanted ? [] : [`${id} is left alone, and starts on ${had}, not ${wanted}`];
  }

  private resize(id: string): string[] {
    const before = describe(this.model);
    const answer = this.node.update(id, resourcesFor(this.random.int(0, 6)));
    if (answer?.kind !== 'refuse') return [];
    this.count('refused resize');
    return describe(this.model) === before ? [] : ['a refused resize changed something'];
  }

  private removePod({ sandboxId, uid }: PodInfo): void {
    this.node.removePod(sandboxId);
    for (const name of NAMES) this.book.delete(`${uid}/${name}`);
    if (this.model.broughtBy(uid).length > 0) throw new Error(`what ${uid} brought is not forgotten`);
  }

  /** The kubelet makes another sandbox of the pod, and removes the first one later. */
  private renewSandbox(pod: PodInfo): void {
    const { node } = this;
    for (const [id, { podId }] of [...node.containers]) if (podId === pod.sandboxId) node.end(id);
    node.send({ kind: 'pod-stopped', sandboxId: pod.sandboxId });
    const next = { ...pod, sandboxId: node.nextId('pod-') };
    node.pods.set(next.sandboxId, next);
    node.kernel.set(next.sandboxId, node.topology.online);
    node.send({ kind: 'pod-started', pod: next });
    node.removePod(pod.sandboxId);
    node.synchronize(); // finds the pause container
  }

  /**
   * After a restart of the daemon each container has what it had. One that shared for lack of CPUs may have some now.
   */
  private restart(): string[] {
    const { node } = this;
    const listKept = (): string[] =>
      describe(this.model)
        .split('\n')
        .filter((line) => /^uid| exclusive | immovable /.test(line) && !line.endsWith(' idle'));
    const before = listKept();
    node.kill();
    node.start();
    const after = new Set(listKept());
    return before.filter((line) => !after.has(line)).map((line) => `lost with the restart: ${line}`);
  }

  private withoutSome(): Topology {
    const { random, full } = this;
    const kept = full.online.toArray().filter((id) => id === full.online.first || random.chance(0.85));
    return restrictTopology(full, CpuSet.of(kept));
  }

  /** The CPUs of a container that shares, by the book. */
  private sharedFor({ cpus }: Lists): CpuSet {
    const { topology, assignments, sharedPool } = this.model;
    const owned = [...assignments.values()].filter(({ kind }) => kind === 'static' || kind === 'exclusive');
    const others = CpuSet.unionOf(owned.map((each) => each.cpus));
    const kept = cpus === undefined ? CpuSet.empty : parseCpuList(cpus).intersect(topology.online).minus(others);
    if (!kept.isEmpty) this.count('kept');
    else if (cpus !== undefined) this.count('pool instead');
    return kept.isEmpty ? sharedPool : kept;
  }

  private keyOf({ podUid, name }: Container): AssignmentKey {
    return keyOf({ podUid, containerName: name });
  }

  private findBroken(): string[] {
    const { model, node } = this;
    const broken = [...this.alone].flatMap(([id, cpus]) => {
      const now = node.kernel.get(id);
      return now === undefined || now.equals(cpus) ? [] : [`${id} is left alone, and was moved to ${now.toString()}`];
    });
    for (const container of model.containers.values()) {
      const { promise, placement } = container;
      const key = this.keyOf(container);
      const lists = this.book.get(key) ?? {};
      const wrong = (what: string): unknown => broken.push(`${key} (${placement}) ${what}: ${JSON.stringify(lists)}`);
      const assignment = model.assignments.get(key);
      if (container.name === 'alone') {
        if (promise || assignment || placement !== 'left-alone') wrong('is not left alone');
        continue;
      }
      if (!promise) continue;
      if (lists.mems !== undefined && promise.mems.toString() !== lists.mems)
        wrong(`has memory nodes ${promise.mems.toString()}`);
      if (lists.mems === undefined && node.settings.memoryNodes === 'off' && !promise.mems.isEmpty)
        wrong(`has memory nodes ${promise.mems.toString()}`);
      const shared = this.sharedFor(lists);
      const bound = lists.cpus === undefined ? undefined : parseCpuList(lists.cpus);
      if (placement === 'shared' && !promise.cpus.equals(shared))
        wrong(`shares ${promise.cpus.toString()}, not ${shared.toString()}`);
      if (placement === 'numa' && bound && shared.isSubsetOf(bound) && !promise.cpus.isSubsetOf(bound))
        wrong(`follows ${promise.cpus.toString()}`);
      const isOwner = placement === 'exclusive' || placement === 'immovable';
      if (isOwner && bound && !assignment!.cpus.isSubsetOf(bound)) wrong(`has ${assignment!.cpus.toString()}`);
      if (isOwner && bound) this.count(placement);
      if (placement === 'numa' && bound) this.count('numa');
    }
    return broken;
  }

  private count(what: string): void {
    this.seen.set(what, (this.seen.get(what) ?? 0) + 1);
  }
}

/** The content of the model, in a text that is the same for the same content. */
function describe(model: NodeModel): string {
  const show = (cpus: CpuSet | undefined): string => cpus?.toString() ?? '-';
  return [
    ...[...model.assignments].map(
      ([key, { kind, cpus, nodes, mems, containerId }]) =>
        `${key} ${kind} ${show(cpus)} ${show(nodes)} ${show(mems)} ${containerId ?? 'idle'}`,
    ),
    ...[...model.brought].map(([key, { cpus, mems }]) => `${key} brought ${show(cpus)} ${show(mems)}`),
    ...[...model.containers.values()].map(
      ({ id, placement, promise }) => `${id} ${placement} ${show(promise?.cpus)} ${show(promise?.mems)}`,
    ),
  ]
    .sort()
    .join('\n');
}

function settingsFor(random: Random, full: Topology): Settings {
  const policy = random.pick(['restricted', 'best-effort', 'single-numa-node', undefined] as const);
  return {
    cpuManagerPolicy: random.pick(['static', 'static', 'exclusive', 'immovable', 'numa']),
    podPolicies: POLICY_NAMES,
    options: { ...NO_OPTIONS, fullPcpusOnly: random.chance(0.2), strictCpuReservation: random.chance(0.2) },
    reserved: CpuSet.of([full.online.first!]),
    minSharedCpus: 1,
    onInsufficientCpu: random.pick(['refuse', 'share']),
    liftCpuQuota: random.chance(0.5),
    memoryNodes: random.pick(['off', 'follow']),
    leaveAlone: ALONE,
    ...(policy && {
      topologyManager: {
        policy,
        scope: random.pick(['container', 'pod']),
        options: { preferClosestNumaNodes: false, maxAllowableNumaNodes: 8 },
      },
    }),
  };
}

test(`${HISTORIES} histories of containers that bring CPUs and memory nodes: each has what it brought, as far as others do not own it`, () => {
  expect(leaveAloneRules.parse('ns/*/alone')).toEqual({ ok: true, value: ALONE });
  const seen = new Map<string, number>();
  for (let seed = 1; seed <= HISTORIES; seed++) {
    const random = createRandom(seed);
    const history = new BringingHistory(random, randomTopology(random));
    const done: string[] = [];
    for (let i = 0; i < STEPS; i++) {
      const { action, broken } = history.step();
      done.push(action);
      if (broken.length > 0) throw new Error(`seed ${seed}, after ${done.join(', ')}:\n${broken.join('\n')}`);
    }
    for (const [what, count] of history.seen) seen.set(what, (seen.get(what) ?? 0) + count);
  }
  for (const what of ['refused', 'refused resize', 'kept', 'pool instead', 'exclusive', 'immovable', 'numa'])
    expect([what, (seen.get(what) ?? 0) > HISTORIES / 5]).toEqual([what, true]);
});
