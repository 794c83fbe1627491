/* eslint-disable @typescript-eslint/no-explicit-any -- JSON whose fields differ from area to area */
import { loadConfig } from '../../src/app/config';
import { listPodResources } from '../../src/app/status/pod-resources';
import { toSettings } from '../../src/app/config/settings';
import { CpuSet, parseCpuList } from '../../src/core/cpuset';
import type { Assignment } from '../../src/core/model/assignment';
import type { ContainerInfo, PodInfo, RuntimeAnswer } from '../../src/core/model/events';
import { NodeModel } from '../../src/core/model/node-model';
import { NO_OPTIONS, rulesOf, type Settings } from '../../src/core/model/settings';
import type { Move } from '../../src/core/plan/plan-moves';
import { buildTopology, type Topology } from '../../src/core/topology';
import { compareListing, Draft, handle, reconcile } from '../../src/core/transition';
import type { Observation } from '../../src/core/verdict/observation';
import { decodeState, encodeState } from '../../src/state';
import { AREAS } from './scenarios/areas';
import { loadScenarios, type Scenario } from './scenarios/scenario';

const { scenarios, machines } = loadScenarios();

/** Areas of the scenarios that are about the state of the whole node. */
const NODE_AREAS = ['allocate', 'full-pcpus', 'reuse', 'remove', 'start', 'manager', 'reconcile', 'eligible'];

const OWNERSHIP =
  'exclusive CPUs of a container that has ended stay idle with its pod until the sandbox goes; a later container of the ' +
  'pod takes them over, and no two containers are ever owners of one CPU';
const NO_LEDGER = 'there is no stored default set, nor a map of container ids, that could be wrong';

/** A deliberate difference from the kubelet. */
interface Difference {
  readonly because: string;
  /** The result in cpusetd, as `showResult` formats it. */
  readonly here: string;
}

/** Scenarios whose result in cpusetd differs from the kubelet's on purpose. */
const DIFFERENT: Readonly<Record<string, Difference>> = {
  'full-pcpus-005': {
    because: 'a known defect of the kubelet: here a container that comes back is given the CPUs that it had',
    here: 'p/c gets 1-3,5-7; pool 0,4',
  },
  'full-pcpus-006': {
    because: 'a known defect of the kubelet: here full-pcpus-only never gives out halves of cores',
    here:
      'p/c is refused, RESOURCE_EXHAUSTED: asked for 2 exclusive CPUs, 0 can be given now: 3 of 7 allocatable CPUs are free, ' +
      '1 of 8 online CPUs is reserved (full-pcpus-only counts only cores that are free as a whole); pool 0-2,4',
  },
  'reuse-001': {
    because: `${OWNERSHIP}; the kubelet gives the rest of the init container's CPUs back alone`,
    here: 'p/i gets 0-1,4-5; p/a gets 0,4; p/i goes; pool 2-3,6-7; 1,5 idle with p',
  },
  'reuse-012': {
    because: `${OWNERSHIP}; another pod in between takes nothing away, so p/a gets the CPUs of p/i`,
    here: 'p/i gets 0,4; q/c gets 1,5; p/a gets 0,4; pool 2-3,6-7',
  },
  'remove-002': {
    because: `${OWNERSHIP}; the CPUs of one of two containers do not go back alone, and where nothing is left the pool is all`,
    here: 'p/c1 goes; pool 0-7; 1-3 idle with p',
  },
  'remove-003': {
    because: `${OWNERSHIP}; the CPUs of one of two containers do not go back alone`,
    here: 'p/c1 goes; pool 6-7; 1,3,5 idle with p',
  },
  'remove-005': {
    because: `${OWNERSHIP}; the given state, in which two have the same CPUs, is no state here`,
    here: "inconsistent: 2 of 2 assignments can't be: CPU 0 belongs to p/i and p/a",
  },
  'start-014': {
    because: `${OWNERSHIP}; two owners of one CPU in the state are an inconsistency, which sets the file aside`,
    here: "inconsistent: 2 of 2 assignments can't be: CPU 2 belongs to p/init and p/app",
  },
  'manager-008': {
    because: 'allocatable CPUs under policy none are shown as online minus reserved, here as elsewhere',
    here: 'allocatable 1-3',
  },
  'manager-010': {
    because: `${NO_LEDGER}: the given default set has a CPU that the machine lacks`,
    here: 'fakePod/fakeContainer gets 1-2; pool 3',
  },
  'manager-011': {
    because: 'a policy is a pure function: it refuses (see allocate-014), and there is no container map to look at',
    here: 'refuse RESOURCE_EXHAUSTED; 0 containers',
  },
  'manager-014': {
    because: 'a removal asks no policy, so none can fail it',
    here: 'ok; 0 containers',
  },
  'reconcile-005': {
    because: 'an assignment without CPUs cannot be read from the state, nor made',
    here: 'inconsistent: 1 of 1 assignment can\'t be: entry 0: "cpus" is empty',
  },
  'reconcile-014': {
    because: 'the actual cpuset decides, not what was written last: the drift is repaired',
    here: 'fakeContainerID drifted; fakeContainerID to 1-2',
  },
};

/** A pod that holds the CPUs that a given state does not mention. */
const FILLER = 'filler';

/** A node as the scenarios describe it, with containers by pod and name. */
class Node {
  readonly model: NodeModel;
  private readonly alive = new Map<string, { readonly id: string; readonly kind: string }>();
  private nth = 0;
  moves: readonly Move[] = [];

  constructor(topology: Topology, settings: Settings, assignments: Record<string, Record<string, string>> = {}) {
    this.model = new NodeModel(topology, settings);
    for (const [uid, containers] of Object.entries(assignments)) {
      for (const [name, list] of Object.entries(containers)) {
        this.alive.set(`${uid}/${name}`, { id: `${uid}/${name}#given`, kind: 'app' });
        this.model.apply({ kind: 'put-assignment', assignment: assignmentOf(uid, name, list, settings) });
      }
    }
  }

  allocate({ pod: uid, container: name, kind, cpus }: any): RuntimeAnswer {
    // Earlier init containers of the pod have ended by now, or this container would not be created.
    for (const [key, { kind: before }] of [...this.alive])
      if (before === 'init' && key.startsWith(`${uid}/`)) this.end(key);
    const id = `${uid}/${name}#${++this.nth}`;
    const answer = this.change((draft) =>
      handle(draft, { kind: 'create-container', pod: podOf(uid), container: containerOf(uid, name, id, cpus) }),
    );
    if (answer.kind === 'ok') {
      this.alive.set(`${uid}/${name}`, { id, kind });
      const info = containerOf(uid, name, id, cpus);
      for (const event of ['container-created', 'container-starting', 'container-started'] as const)
        this.change((draft) => handle(draft, { kind: event, pod: podOf(uid), container: info }));
    }
    return answer;
  }

  /** A pod is removed with its last container. */
  remove({ pod: uid, container: name }: any): void {
    this.end(`${uid}/${name}`);
    if (![...this.alive.keys()].some((key) => key.startsWith(`${uid}/`)))
      this.change((draft) => handle(draft, { kind: 'pod-removed', sandboxId: `sandbox-${uid}` }));
  }

  exclusiveCpus(uid: string, name: string): string | null {
    return this.model.assignments.get(`${uid}/${name}`)?.cpus.toString() ?? null;
  }

  isAlive(uid: string, name: string): boolean {
    return this.alive.has(`${uid}/${name}`);
  }

  change<T extends { readonly moves: readonly Move[] }>(
    work: (draft: Draft) => T,
  ): T extends { answer: infer A } ? A : T {
    const outcome = work(new Draft(this.model, '2026-01-01T00:00:00Z'));
    this.moves = outcome.moves;
    return ('answer' in outcome ? outcome.answer : outcome) as never;
  }

  private end(key: string): void {
    const container = this.alive.get(key);
    this.alive.delete(key);
    const uid = key.split('/')[0]!;
    if (!container) return;
    // A container of the given state is reported to the model first.
    const known = this.model.containers.has(container.id);
    if (!known && container.id.endsWith('#given')) this.reportRunning(uid, key.split('/')[1]!, container.id);
    this.change((draft) => handle(draft, { kind: 'container-stopped', containerId: container.id }));
  }

  reportRunning(uid: string, name: string, id: string): void {
    const pods = [...this.model.pods.values(), podOf(uid)];
    const containers = [...this.model.containers.values()].map((known) => ({ ...known, phase: 'running' as const }));
    const count = this.model.assignments.get(`${uid}/${name}`)?.cpus.size ?? 0;
    const added = { ...containerOf(uid, name, id, count), phase: 'running' as const };
    const others = [...this.model.assignments.values()].map(({ podUid }) => podOf(podUid));
    const all = new Map([...pods, ...others].map((pod) => [pod.sandboxId, pod]));
    const given = [...this.alive].filter(([, { id: other }]) => other.endsWith('#given') && other !== id);
    const rest = given.map(([key, { id: other }]) => {
      const [otherUid = '', otherName = ''] = key.split('/');
      const size = this.model.assignments.get(`${otherUid}/${otherName}`)?.cpus.size ?? 0;
      return { ...containerOf(otherUid, otherName, other, size), phase: 'running' as const };
    });
    this.change((draft) =>
      handle(draft, { kind: 'synchronize', pods: [...all.values()], containers: [...containers, ...rest, added] }),
    );
  }
}

function assignmentOf(podUid: string, containerName: string, list: string, settings: Settings): Assignment {
  const cpus = parseCpuList(list);
  return {
    podUid, podNamespace: 'ns', podName: podUid, containerName, kind: 'static', cpus, mems: CpuSet.empty,
    requested: cpus.size, containerId: `${podUid}/${containerName}#given`, quotaLifted: false, rules: rulesOf(settings),
    because: 'given', since: '2026-01-01T00:00:00Z',
  }; // prettier-ignore
}

function podOf(uid: string): PodInfo {
  const cgroupParent = `/kubepods/pod${uid}`;
  return { sandboxId: `sandbox-${uid}`, uid, namespace: 'ns', name: uid, annotations: {}, cgroupParent };
}

function containerOf(uid: string, name: string, id: string, cpus: number): ContainerInfo {
  const numbers = cpus === 0 ? { shares: 102, quotaUs: 10_000 } : { shares: cpus * 1024, quotaUs: cpus * 100_000 };
  const resources = { ...numbers, periodUs: 100_000, memoryLimitBytes: 1 << 26 };
  return {
    id,
    sandboxId: `sandbox-${uid}`,
    name,
    phase: 'creating',
    cgroupsPath: `/kubepods/pod${uid}/${id}`,
    resources,
  };
}

function settingsFor({ options = {}, reserved }: any): Settings {
  const list: string = typeof reserved === 'string' ? reserved : (reserved?.list ?? reserved?.chosen ?? '');
  return {
    cpuManagerPolicy: 'static',
    options: {
      ...NO_OPTIONS,
      fullPcpusOnly: options['full-pcpus-only'] === true,
      strictCpuReservation: options['strict-cpu-reservation'] === true,
    },
    reserved: parseCpuList(list),
    minSharedCpus: 1,
    onInsufficientCpu: 'refuse',
    liftCpuQuota: false,
  };
}

function nodeOf({ given }: Scenario): Node {
  const node = new Node(machines.get(given.topology)!, settingsFor(given), given.state?.assignments);
  const { settings } = node.model;
  // The given state does not mention these CPUs. Reserved ones are in the pool; the others are held by the filler pod.
  const taken = given.state === undefined ? CpuSet.empty : unaccounted(given).minus(settings.reserved);
  if (!taken.isEmpty)
    node.model.apply({ kind: 'put-assignment', assignment: assignmentOf(FILLER, 'x', taken.toString(), settings) });
  return node;
}

/** Online CPUs that the given state neither assigns nor has in its default set. */
function unaccounted(given: any): CpuSet {
  const assigned = Object.values<Record<string, string>>(given.state.assignments).flatMap((pod) => Object.values(pod));
  const listed = [given.state.defaultCpuSet as string, ...assigned].map(parseCpuList);
  return machines.get(given.topology)!.online.minus(CpuSet.unionOf(listed));
}

function runSteps(scenario: Scenario): void {
  const node = nodeOf(scenario);
  const lost = unaccounted(scenario.given).intersect(node.model.settings.reserved);
  const pool = (expected: string) => parseCpuList(expected).union(lost).toString();
  for (const step of scenario.steps!) {
    const before = describeNode(node);
    if (step.op === 'remove') {
      node.remove(step);
      expect(node.model.sharedPool.toString()).toBe(pool(step.expect.defaultCpuSet));
      continue;
    }
    const answer = node.allocate(step);
    if (step.expect.error) {
      const codes: Record<string, string> = { multiple: 'FAILED_PRECONDITION' };
      expect(answer).toMatchObject({ kind: 'refuse', code: codes[step.expect.error.cause] ?? 'RESOURCE_EXHAUSTED' });
      expect(describeNode(node)).toBe(before);
    } else {
      expect(answer.kind).toBe('ok');
      expect(node.exclusiveCpus(step.pod, step.container)).toBe(step.expect.cpuset);
    }
  }
  const final = scenario.expect.final;
  expect(node.model.sharedPool.toString()).toBe(pool(final.defaultCpuSet));
  for (const [uid, containers] of Object.entries<Record<string, string>>(final.assignments))
    for (const [name, list] of Object.entries(containers))
      if (node.isAlive(uid, name)) expect(node.exclusiveCpus(uid, name)).toBe(list);
}

function describeNode({ model }: Node): string {
  const owners = [...model.assignments].map(
    ([key, { cpus, containerId }]) => `${key} ${cpus.toString()} ${containerId}`,
  );
  return [...owners.sort(), model.sharedPool.toString()].join('; ');
}

/** A start never refuses. Where the kubelet stops, the model is right because the pool is the rest. */
function runStart(scenario: Scenario): void {
  const { given } = scenario;
  const before = new Node(machines.get(given.topology)!, settingsFor(given), given.state.assignments);
  const assignments = [...before.model.assignments.values()];
  const decoded = decodeState(encodeState({ writtenBy: 'test', generation: 1, assignments }));
  expect(decoded.ok).toBe(true);
  const { model } = new Node(before.model.topology, before.model.settings);
  for (const assignment of decoded.ok ? decoded.state.assignments : [])
    model.apply({ kind: 'put-assignment', assignment });
  if (scenario.expect.defaultCpuSet !== undefined) {
    expect(model.sharedPool.toString()).toBe(scenario.expect.defaultCpuSet);
    return;
  }
  const strict = model.settings.options.strictCpuReservation ? model.settings.reserved : CpuSet.empty;
  expect(model.sharedPool.overlaps(model.exclusive)).toBe(false);
  expect(CpuSet.unionOf([model.sharedPool, model.exclusive, strict]).toString()).toBe(model.topology.online.toString());
  expect(model.sharedPool.overlaps(strict)).toBe(false);
}

/** The errors of the kubelet's builder come from the options, or from their check against the machine. */
async function buildManager({ policy, options, reservedMilli }: any, machine?: Topology): Promise<Settings | string> {
  const flags = {
    'cpu-manager-policy': [policy],
    ...(options && {
      'cpu-manager-policy-options': Object.entries(options).map(([key, value]) => `${key}=${String(value)}`),
    }),
    ...(typeof reservedMilli === 'number' && { 'reserved-cpu-count': [`${reservedMilli}m`] }),
  };
  const loaded = await loadConfig({ flags, env: {} });
  if (!loaded.ok) return loaded.problems.join('\n');
  try {
    return toSettings(loaded.config, machine ?? machines.get('single-4noht')!);
  } catch (error) {
    return (error as Error).message;
  }
}

const MANAGER: Readonly<Record<string, (scenario: Scenario) => void | Promise<void>>> = {
  'manager-001': async ({ given }) => expect(await buildManager(given)).toMatchObject({ cpuManagerPolicy: 'none' }),
  'manager-002': async ({ given }) => expect(await buildManager(given)).toMatch(/cpu-manager-policy.*invalid.*static/),
  'manager-003': async ({ given, expect: want }) =>
    expect(await buildManager(given, machines.get(given.topology))).toMatchObject({ cpuManagerPolicy: want.policy }),
  'manager-004': () => expect(() => buildTopology({ cpus: [] })).toThrow('at least one online CPU'),
  'manager-005': async ({ given }) => expect(await buildManager(given)).toMatch(/no CPU is reserved/),
  'manager-006': async ({ given }) => expect(await buildManager(given)).toMatch(/reserved-cpu-count|reserved/),
  'manager-007': async ({ given }) => expect(await buildManager(given)).toMatch(/policy none has no options/),
  'manager-009': (scenario) => expect(nodeOf(scenario).model.free.toString()).toBe(scenario.expect.allocatable),
  'manager-012': (scenario) => {
    const node = nodeOf(scenario);
    node.allocate({ pod: 'p', container: 'c', kind: 'app', cpus: 2 });
    expect(node.model.sharedPool.toString()).toBe(scenario.expect.final.defaultCpuSet);
  },
  'manager-013': () => {
    const node = new Node(machines.get('single-4noht')!, settingsFor({ reserved: '0' }));
    node.allocate({ pod: 'p', container: 'c', kind: 'app', cpus: 2 });
    node.remove({ pod: 'p', container: 'c' });
    expect([node.model.containers.size, node.model.assignments.size]).toEqual([0, 0]);
  },
  'manager-015': () => {
    const node = new Node(machines.get('single-4noht')!, settingsFor({ reserved: '0' }));
    expect(node.change((draft) => handle(draft, { kind: 'container-stopped', containerId: 'x' }))).toEqual({
      kind: 'ok',
    });
  },
};

/**
 * One round of the reconciler: the list of the runtime, then the cgroups. The scenario's "last written" stands for the
 * actual cpuset.
 */
function startRound(given: any) {
  const lists = [
    given.state.defaultCpuSet,
    ...Object.values<any>(given.state.assignments).flatMap((pod) => Object.values(pod)),
  ];
  const ids = CpuSet.unionOf(lists.map((list) => parseCpuList(list as string)));
  const topology = buildTopology({
    cpus: [...(ids.isEmpty ? [0] : ids)].map((id) => ({ id, core: id, socket: 0, numaNode: 0, uncoreCache: 0 })),
  });
  const settings = settingsFor({});
  const node = new Node(topology, settings, given.state.assignments);

  const kernel = new Map<string, CpuSet>();
  const listed: { id: string; sandboxId: string; exited: boolean }[] = [];
  for (const { uid, containers } of given.activePods) {
    for (const { name, status, actualCpuset } of containers) {
      if (status?.state !== 'running' && status?.state !== 'terminated') continue;
      const assignment = node.model.assignments.get(`${uid}/${name}`);
      if (assignment)
        node.model.apply({ kind: 'put-assignment', assignment: { ...assignment, containerId: status.id } });
      const info = containerOf(uid, name, status.id, assignment?.cpus.size ?? 0);
      const others = [...node.model.assignments.values()].map(({ podUid }) => podOf(podUid));
      node.change((draft) =>
        handle(draft, {
          kind: 'synchronize',
          pods: [podOf(uid), ...others],
          containers: [{ ...info, phase: 'running' }],
        }),
      );
      const actual: string | undefined = actualCpuset ?? given.lastWritten[uid]?.[name];
      kernel.set(status.id, actual === undefined ? CpuSet.empty : parseCpuList(actual));
      listed.push({ id: status.id, sandboxId: `sandbox-${uid}`, exited: status.state === 'terminated' });
    }
  }
  const pods = given.activePods.map(({ uid }: any) => ({ sandboxId: `sandbox-${uid}`, uid, ready: true }));
  const before = {
    sandboxIds: new Set(node.model.pods.keys()),
    containerIds: new Set(node.model.containers.keys()),
    podUids: new Set([...node.model.assignments.values()].map(({ podUid }) => podUid)),
  };
  if (given.sourcesReady !== false) {
    node.change((draft) => {
      compareListing(draft, { pods, containers: listed }, before);
      return { moves: [] };
    });
  }
  const observations = new Map<string, Observation>();
  for (const [id, cpus] of kernel) observations.set(id, { kind: 'seen', cpus, effective: cpus, mems: CpuSet.empty });
  const sweep = () =>
    node
      .change((draft) => reconcile(draft, observations))
      .judged.map(({ containerId, verdict }) => `${containerId} ${verdict.kind}`);
  const verdicts = sweep();
  const updates = node.moves.map(({ containerId, to }) => ({ id: containerId, cpuset: to.cpus.toString() }));
  return { node, sweep, verdicts, updates };
}

function runReconcile({ given, expect: want }: Scenario): void {
  const { node, sweep, verdicts, updates } = startRound(given);
  expect(updates).toEqual(want.updates);
  for (const { containers } of given.activePods) {
    for (const { name, status } of containers) {
      if (status?.state !== 'running') continue;
      // A container that is kept or repaired is a success of the scenario, and another one is a failure.
      const verdict = verdicts.find((line) => line.startsWith(`${status.id} `));
      expect(verdict).toBe(`${status.id} ${want.updates.length > 0 ? 'drifted' : 'kept'}`);
      expect(given.runtimeUpdateFails ? want.failure : want.success).toContain(name);
    }
  }
  if (given.runtimeUpdateFails) {
    sweep();
    expect(node.moves).toHaveLength(want.updates.length);
  }
  if (want.final) {
    expect(node.model.sharedPool.toString()).toBe(want.final.defaultCpuSet);
    const assigned = [...node.model.assignments].map(([key, { cpus }]) => `${key} ${cpus.toString()}`);
    const wanted = Object.entries<Record<string, string>>(want.final.assignments).flatMap(([uid, containers]) =>
      Object.entries(containers).map(([name, list]) => `${uid}/${name} ${list}`),
    );
    expect(assigned.sort()).toEqual(wanted.sort());
  }
}

const RUN: Readonly<Record<string, (scenario: Scenario) => void | Promise<void>>> = {
  allocate: runSteps,
  'full-pcpus': runSteps,
  reuse: runSteps,
  remove: runSteps,
  start: runStart,
  manager: (scenario) => MANAGER[scenario.id]!(scenario),
  reconcile: runReconcile,
};

const ofNode = scenarios.filter(({ area }) => NODE_AREAS.includes(area));
const isRun = ({ id, area }: Scenario) => !(id in DIFFERENT) && area in RUN && (area !== 'manager' || id in MANAGER);
const toRun = ofNode.filter(isRun);

test.each(toRun.map((scenario) => [scenario.id, scenario.name, scenario] as const))(
  '%s %s',
  async (_id, _name, scenario) => {
    await RUN[scenario.area]!(scenario);
  },
);

test('each scenario of these areas runs here, in scenarios.test.ts, or is listed as different', () => {
  const elsewhere = ofNode.filter(({ area }) => area in AREAS);
  const different = ofNode.filter(({ id }) => id in DIFFERENT);
  expect(different.map(({ id }) => id).sort()).toEqual(Object.keys(DIFFERENT).sort());
  const accounted = [...toRun, ...elsewhere, ...different].map(({ id }) => id);
  expect(accounted.sort()).toEqual(ofNode.map(({ id }) => id).sort());
  expect(toRun.length).toBeGreaterThan(60);
});

/** The result of a scenario that differs from the kubelet. */
function showResult(scenario: Scenario): string {
  const { id, area, steps } = scenario;
  const special = SPECIAL[id] ?? (area === 'start' ? readState : undefined);
  if (special) return special(scenario);
  return steps ? playSteps(scenario) : showRound(scenario);
}

const SPECIAL: Readonly<Record<string, (scenario: Scenario) => string>> = {
  'remove-005': readState,
  'manager-008': () => {
    const settings: Settings = { ...settingsFor({ reserved: '0' }), cpuManagerPolicy: 'none' };
    const { model } = new Node(machines.get('single-4noht')!, settings);
    return `allocatable ${listPodResources(model).allocatable.cpus.toString()}`;
  },
  'manager-011': () => {
    const node = new Node(machines.get('single-4noht')!, settingsFor({ reserved: '0' }));
    const answer = node.allocate({ pod: 'p', container: 'c', kind: 'app', cpus: 4 });
    return `${answer.kind} ${answer.kind === 'refuse' ? answer.code : ''}; ${node.model.containers.size} containers`;
  },
  'manager-014': () => {
    const node = new Node(machines.get('single-4noht')!, settingsFor({ reserved: '0' }));
    node.allocate({ pod: 'p', container: 'c', kind: 'app', cpus: 2 });
    const removal = node.change((draft) => handle(draft, { kind: 'container-removed', containerId: 'p/c#1' }));
    return `${removal.kind}; ${node.model.containers.size} containers`;
  },
  'reconcile-005': readState,
};

/** The result of each step, and the final state. */
function playSteps(scenario: Scenario): string {
  const node = nodeOf(scenario);
  const results = scenario.steps!.flatMap((step) => {
    const name = `${step.pod}/${step.container}`;
    if (step.op === 'allocate') {
      const answer = node.allocate(step);
      if (answer.kind === 'refuse') return `${name} is refused, ${answer.code}: ${answer.message}`;
      return `${name} gets ${node.exclusiveCpus(step.pod, step.container) ?? 'none'}`;
    }
    if (step.op !== 'remove') return [];
    node.remove(step);
    return `${name} goes`;
  });
  const idle = [...node.model.assignments.values()].filter(
    (each) => each.containerId === null && each.podUid !== FILLER,
  );
  const left = idle.map(({ podUid, cpus }) => `${cpus.toString()} idle with ${podUid}`);
  return [...results, `pool ${node.model.sharedPool.toString()}`, ...left].join('; ');
}

/** The result of reading a state file with the given assignments. */
function readState({ given }: Scenario): string {
  const machine = machines.get(given.topology ?? 'single-8ht')!;
  const { model } = new Node(machine, settingsFor(given), given.state.assignments);
  const assignments = [...model.assignments.values()];
  const decoded = decodeState(encodeState({ writtenBy: 'test', generation: 1, assignments }));
  return decoded.ok ? 'is read' : `${decoded.problem.kind}: ${decoded.problem.because}`;
}

/** The verdicts and updates of one round of the reconciler. */
function showRound(scenario: Scenario): string {
  const { verdicts, updates } = startRound(scenario.given);
  return [...verdicts, ...updates.map(({ id, cpuset }) => `${id} to ${cpuset}`)].join('; ');
}

test.each(
  Object.entries(DIFFERENT).map(
    ([id, { because, here }]) => [id, because, ofNode.find((each) => each.id === id)!, here] as const,
  ),
)('%s differs from the kubelet: %s', (_id, _because, scenario, here) => {
  expect(showResult(scenario)).toBe(here);
});

test.each(
  ofNode
    .filter(({ id, area }) => id in DIFFERENT && area in RUN && area !== 'manager')
    .map((each) => [each.id, each] as const),
)('%s does not have the result of the kubelet', async (_id, scenario) => {
  // Fails when the difference is gone, so that the list is kept up to date. Only a failed comparison counts.
  await expect((async () => RUN[scenario.area]!(scenario))()).rejects.toHaveProperty('matcherResult.pass', false);
});
