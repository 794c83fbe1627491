/* eslint-disable @typescript-eslint/no-explicit-any -- JSON whose fields differ from area to area */
import { loadConfig } from '../../src/app/config';
import { settingsOf } from '../../src/app/settings-of';
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

/** Scenarios in which this project does something else than the kubelet on purpose, each with the reason. */
const DIFFERENT: Readonly<Record<string, string>> = {
  'full-pcpus-005': 'a known defect of the kubelet: here a container that comes back is given the CPUs that it had',
  'full-pcpus-006': 'a known defect of the kubelet: here full-pcpus-only never gives out halves of cores',
  'reuse-001': `${OWNERSHIP}; the kubelet gives the rest of the init container's CPUs back alone`,
  'reuse-012': `${OWNERSHIP}; another pod in between takes nothing away, so p/a gets the CPUs of p/i`,
  'remove-002': `${OWNERSHIP}; the CPUs of one of two containers do not go back alone`,
  'remove-003': `${OWNERSHIP}; the CPUs of one of two containers do not go back alone`,
  'remove-005': `${OWNERSHIP}; the given state cannot come about`,
  'start-014': `${OWNERSHIP}; two owners of one CPU in the state are an inconsistency, which sets the file aside`,
  'manager-008': 'allocatable CPUs under policy none are shown as online minus reserved, here as elsewhere',
  'manager-010': `${NO_LEDGER}: the given default set has a CPU that the machine lacks`,
  'manager-011': 'a policy is a pure function: it refuses (see allocate-014), and there is no container map to look at',
  'manager-014': 'a removal asks no policy, so none can fail it',
  'reconcile-005': 'an assignment without CPUs cannot be read from the state, nor made',
  'reconcile-014': 'the actual cpuset decides, not what was written last: the drift is repaired',
};

/** A node as the scenarios describe it: containers go by pod and name. */
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
    // By now every init container that came before has ended: else this one would not be made.
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

  /** The pod is no longer active when its last container is removed. */
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
    // A container of the given state is not known to the runtime model yet: it is told of first.
    const known = this.model.containers.has(container.id);
    if (!known && container.id.endsWith('#given')) this.tellOf(uid, key.split('/')[1]!, container.id);
    this.change((draft) => handle(draft, { kind: 'container-stopped', containerId: container.id }));
  }

  tellOf(uid: string, name: string, id: string): void {
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
  // CPUs that the given state knows nothing of: reserved ones are in the pool here, of others it is said that they are taken.
  const taken = given.state === undefined ? CpuSet.empty : unaccounted(given).minus(settings.reserved);
  if (!taken.isEmpty)
    node.model.apply({ kind: 'put-assignment', assignment: assignmentOf('nobody', 'x', taken.toString(), settings) });
  return node;
}

/** Online CPUs that are neither in the default set of the given state nor assigned there. */
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

/** A start never refuses: what the kubelet stops at is put right, because the pool is what nobody owns. */
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

/** What the kubelet's builder refuses is refused where the options are read, or where they meet the machine. */
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
    return settingsOf(loaded.config, machine ?? machines.get('single-4noht')!);
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

/** One round of the reconciler: the runtime's list first, then the cgroups. "Last written" is read as "actual". */
function runReconcile({ given, expect: want }: Scenario): void {
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
  expect(updates).toEqual(want.updates);
  for (const { containers } of given.activePods) {
    for (const { name, status } of containers) {
      if (status?.state !== 'running') continue;
      // A container that is as it should be, or has just been put right, is a success; one that could not be is not.
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

test('every scenario of these areas is run, here or beside, or is different on purpose for a reason that is given', () => {
  const elsewhere = ofNode.filter(({ area }) => area in AREAS);
  const different = ofNode.filter(({ id }) => id in DIFFERENT);
  expect(different.map(({ id }) => id).sort()).toEqual(Object.keys(DIFFERENT).sort());
  const accounted = [...toRun, ...elsewhere, ...different].map(({ id }) => id);
  expect(accounted.sort()).toEqual(ofNode.map(({ id }) => id).sort());
  expect(toRun.length).toBeGreaterThan(60);
});

test.each(
  ofNode
    .filter(({ id, area }) => id in DIFFERENT && area in RUN && area !== 'manager')
    .map((scenario) => [scenario.id, DIFFERENT[scenario.id]!, scenario] as const),
)('%s does differ: %s', async (_id, _why, scenario) => {
  // Whoever removes the difference shall remove it from the list as well.
  await expect((async () => RUN[scenario.area]!(scenario))()).rejects.toThrow();
});
