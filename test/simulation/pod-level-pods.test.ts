import { parseCpuList } from '../../src/core/cpuset';
import { sumPodCpus } from '../../src/core/model/pod-cpus';
import { classifyQos } from '../../src/core/inference/qos';
import { asksForCpu, hasCpusOfPod } from '../../src/core/inference/pod-level';
import type { ContainerInfo, NodeEvent, PodInfo } from '../../src/core/model/events';
import { NO_OPTIONS, type Settings } from '../../src/core/model/settings';
import type { ContainerSpec, PodSpec, SpecResources } from '../../src/core/model/pod-spec';
import { VirtualNode } from '../../src/core/replay/virtual-node';
import { buildTopology } from '../../src/core/topology';
import { listWitnesses } from '../../src/core/transition';
import { defaulted, messageOf } from '../support/pod-level';
import { createRandom, type Random } from '../support/random';

// Pods with and without resources as a whole, as a kubelet runs them, each on two nodes: one knows the specs, the other
// sees messages only.

const TOPOLOGY = buildTopology({
  cpus: Array.from({ length: 64 }, (_, id) => ({
    id,
    core: id % 32,
    socket: (id % 32) >> 4,
    numaNode: (id % 32) >> 4,
    uncoreCache: (id % 32) >> 3,
  })),
});
const SETTINGS: Settings = {
  cpuManagerPolicy: 'static',
  minSharedCpus: 1,
  onInsufficientCpu: 'refuse',
  liftCpuQuota: true,
  options: NO_OPTIONS,
  reserved: parseCpuList('0'),
};
const AT = '2026-01-01T00:00:00Z';
const UID = '11111111-2222-3333-4444-555555555555';

/** One pod on a node, run as the kubelet does. `isKnown`: the API server has told its spec. */
class PodRun {
  readonly node = new VirtualNode(TOPOLOGY, SETTINGS);
  /** Containers that have processes, by id. */
  private readonly alive = new Map<string, ContainerInfo>();
  private readonly unseenEnds: string[] = [];
  private readonly sandbox: PodInfo;
  private created = 0;

  constructor(
    private readonly spec: PodSpec,
    private readonly isKnown: boolean,
  ) {
    this.sandbox = {
      sandboxId: 's',
      uid: UID,
      namespace: 'ns',
      name: 'p',
      annotations: {},
      cgroupParent: spec.qos === 'Guaranteed' ? `/kubepods/pod${UID}` : `/kubepods/burstable/pod${UID}`,
      podResources: messageOf(spec.podResources ?? sumOf(spec), {}),
    };
    this.send({ kind: 'synchronize', pods: [], containers: [] });
    if (isKnown) this.send({ kind: 'pod-spec', spec });
    this.send({ kind: 'pod-started', pod: this.sandbox });
  }

  /** `isAway`: cpusetd does not run meanwhile, and starts again. */
  start(container: ContainerSpec, isAway = false): void {
    const id = `${container.name}-${this.created++}`;
    const resources = messageOf(container, this.spec.podResources ?? {});
    const info: ContainerInfo = { id, sandboxId: 's', name: container.name, phase: 'creating', cgroupsPath: id, resources };
    if (isAway) {
      this.alive.set(id, { ...info, phase: 'running' });
      this.restart({});
      return;
    }
    const asked: NodeEvent = { kind: 'create-container', pod: this.sandbox, container: info };
    const witnesses = listWitnesses(this.node.view, asked).filter((each) => this.alive.has(each.id));
    const answer = this.send({ ...asked, runsBeside: witnesses.map((each) => each.id) });
    expect(answer.kind).toBe('ok');
    for (const kind of ['container-created', 'container-starting', 'container-started'] as const)
      this.send({ kind, pod: this.sandbox, container: info });
    this.alive.set(id, { ...info, phase: 'running' });
    for (const ended of this.unseenEnds.splice(0)) this.send({ kind: 'container-stopped', containerId: ended });
  }

  /** `isLate`: cpusetd hears of it after the next creation. */
  end({ name }: ContainerSpec, isLate: boolean): void {
    const { id } = [...this.alive.values()].find((each) => each.name === name)!;
    this.alive.delete(id);
    if (isLate) this.unseenEnds.push(id);
    else this.send({ kind: 'container-stopped', containerId: id });
  }

  isAlive({ name }: ContainerSpec): boolean {
    return [...this.alive.values()].some((each) => each.name === name);
  }

  /**
   * cpusetd starts again. `isLost`: without its state. `hasSums`: the runtime's list of sandboxes has the sums of the
   * pod.
   */
  restart({ isLost = false, hasSums = true }: { readonly isLost?: boolean; readonly hasSums?: boolean }): void {
    const { assignments, keptSpecs, brought, podLevel } = this.node.view;
    const kept = { assignments: [...assignments.values()], keptSpecs: [...keptSpecs.values()], brought: [...brought.values()], podLevel: [...podLevel.values()] };
    const { podResources: _sums, ...bare } = this.sandbox;
    const none = { assignments: [], keptSpecs: [], brought: [], podLevel: [] };
    const cpus = new Map([...this.node.view.containers.values()].flatMap(({ id, promise }) => (promise ? [[id, promise.cpus]] : [])));
    this.node.restart({ ...(isLost ? none : kept), source: { hasReported: false, awaited: new Set() } });
    if (this.isKnown) this.send({ kind: 'pod-spec', spec: this.spec });
    this.node.send({ kind: 'synchronize', pods: [hasSums ? this.sandbox : bare], containers: [...this.alive.values()] }, AT, cpus);
  }

  get isFound(): boolean {
    return this.node.view.podLevel.has(UID);
  }

  /** The number of exclusive CPUs of each container that runs, by name. */
  get held(): Readonly<Record<string, number>> {
    const containers = [...this.node.view.containers.values()].map(({ name, placement, entitledCpus }) => {
      return [name, placement === 'exclusive' ? entitledCpus : 0] as const;
    });
    return Object.fromEntries(containers.sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  private send(event: NodeEvent) {
    return this.node.send(event, AT).answer;
  }
} // prettier-ignore

/** The sums of a pod without resources as a whole: limits count where all containers have one. */
function sumOf({ containers }: PodSpec): SpecResources {
  const sum = (key: keyof SpecResources) => sumPodCpus(containers.map((each) => ({ kind: each.kind, cpus: each[key] ?? 0 })));
  const whole = (key: keyof SpecResources) => (containers.every((each) => each[key] !== undefined) ? { [key]: sum(key) } : {});
  return { requestMilliCpu: sum('requestMilliCpu'), ...whole('limitMilliCpu'), ...whole('limitMemoryBytes') };
} // prettier-ignore

/** Runs both nodes through the same random life of the pod. `onEach` looks after every step. */
function live(random: Random, spec: PodSpec, onEach: (known: PodRun, unknown: PodRun) => void): void {
  const [known, unknown] = [new PodRun(spec, true), new PodRun(spec, false)];
  const both = (step: (run: PodRun) => void) => {
    step(known);
    step(unknown);
    onEach(known, unknown);
  };
  for (const container of spec.containers) {
    const isAway = random.chance(0.15);
    both((run) => run.start(container, isAway));
    if (container.kind !== 'init') continue;
    const isLate = random.chance(0.3);
    both((run) => run.end(container, isLate));
  }
  const stay = spec.containers.filter(({ kind }) => kind !== 'init');
  for (let i = 0; i < 6 && stay.length > 0; i++) {
    const container = random.pick(stay);
    const action = random.pick([
      'crash',
      'crash late',
      'restart',
      'restart without state',
      'restart without sums',
    ] as const);
    if (action.startsWith('restart')) {
      const how = { isLost: action === 'restart without state', hasSums: action !== 'restart without sums' };
      both((run) => run.restart(how));
    } else {
      both((run) => run.end(container, action === 'crash late'));
      both((run) => run.start(container));
    }
  }
}

const KINDS = ['init', 'sidecar', 'app', 'app'] as const;

function makePod(random: Random, { isPodLevel }: { readonly isPodLevel: boolean }): PodSpec {
  const podCpus = random.pick([2, 3, 4, 8]);
  let left = podCpus * 1000;
  const kinds = Array.from({ length: random.int(1, 4) }, () => random.pick(KINDS));
  kinds.sort((a, b) => Number(a === 'app') - Number(b === 'app'));
  const containers = kinds.map((kind, i): ContainerSpec => {
    const hasOwn = !isPodLevel || random.chance(0.5);
    const milli = random.pick(isPodLevel ? [250, 1000, 2000] : [1000, 2000, 1500, podCpus * 1000]);
    const cpu = isPodLevel ? Math.min(milli, left) : milli;
    if (hasOwn && kind !== 'init') left -= isPodLevel ? cpu : 0;
    const hasMemory = !isPodLevel || random.chance(0.5);
    const own = {
      ...(hasOwn && cpu > 0 && { limitMilliCpu: cpu }),
      ...(hasMemory && { limitMemoryBytes: 1 << 26 }),
    };
    return { name: `c${i}`, kind, ended: false, ...defaulted(own) };
  });
  const pod = defaulted({ limitMilliCpu: podCpus * 1000, limitMemoryBytes: 1 << 28 });
  const names = { uid: UID, namespace: 'ns', name: 'p', annotations: {} };
  const toResources = (resources: SpecResources) => ({
    requests: { cpu: resources.requestMilliCpu ?? 0, memory: resources.requestMemoryBytes ?? 0 },
    limits: { cpu: resources.limitMilliCpu ?? 0, memory: resources.limitMemoryBytes ?? 0 },
  });
  const qos = classifyQos(containers.map(toResources), isPodLevel ? toResources(pod) : undefined);
  return { ...names, qos, finished: false, containers, ...(isPodLevel && { podResources: pod }) };
}

test('pods with resources as a whole: the same with and without the spec, once two containers with CPUs have run at one time', () => {
  const seen = { found: 0, exclusive: 0, beforeFound: 0 };
  for (let seed = 1; seed <= 700; seed++) {
    const random = createRandom(seed);
    const spec = makePod(random, { isPodLevel: true });
    const { podResources = {} } = spec;
    const messages = new Map(spec.containers.map((each) => [each.name, messageOf(each, podResources)]));
    const looksLikePod = (name: string) => hasCpusOfPod(messages.get(name)!, messageOf(podResources, {}));
    live(random, spec, (known, unknown) => {
      const [right, found] = [known.held, unknown.held];
      if (unknown.isFound) seen.found++;
      for (const [name, count] of Object.entries(right)) {
        if (count > 0) seen.exclusive++;
        if (found[name] === count) continue;
        // All CPUs of the pod, and no memory of its own: it looks like one that asks for nothing.
        const asksForAll = count * 1000 === podResources.limitMilliCpu && looksLikePod(name);
        if (asksForAll && unknown.isFound && found[name] === 0) continue;
        seen.beforeFound++;
        expect({ seed, spec, name, looksLikePod: looksLikePod(name), isFound: unknown.isFound, right: count }).toEqual({
          seed,
          spec,
          name,
          looksLikePod: true,
          isFound: false,
          right: 0,
        });
        const others = Object.keys(found).filter((each) => each !== name && asksForCpu(messages.get(each)!));
        expect({ seed, spec, others }).toEqual({ seed, spec, others: [] });
      }
    });
  }
  expect(seen.found).toBeGreaterThan(1_000);
  expect(seen.exclusive).toBeGreaterThan(500);
  expect(seen.beforeFound).toBeGreaterThan(200);
});

test('pods without: never taken for such a pod, also where the end of a container is known late', () => {
  let exclusive = 0;
  for (let seed = 1; seed <= 700; seed++) {
    const random = createRandom(seed);
    const spec = makePod(random, { isPodLevel: false });
    live(random, spec, (known, unknown) => {
      expect({ seed, spec, isFound: unknown.isFound }).toEqual({ seed, spec, isFound: false });
      expect({ seed, spec, held: unknown.held }).toEqual({ seed, spec, held: known.held });
      exclusive += Object.values(known.held).filter((count) => count > 0).length;
    });
  }
  expect(exclusive).toBeGreaterThan(500);
});
