import { CpuSet } from '../../src/core/cpuset';
import type { PodInfo } from '../../src/core/model/events';
import { POLICY_NAMES } from '../../src/core/model/policies';
import { NO_OPTIONS, type Settings } from '../../src/core/model/settings';
import { buildTopology } from '../../src/core/topology';
import { findBrokenInvariants } from '../support/invariants';
import { SimulatedNode } from './simulated-node';
import { specOf } from '../support/spec-of';

// cpusetd is killed and started again while the API server is away: the last annotations stay in force, and no
// container is moved.

const POLICY = 'cpusetd.io/policy';

/** Two NUMA nodes of four CPUs; CPU 0 is reserved. */
const TOPOLOGY = buildTopology({
  cpus: Array.from({ length: 8 }, (_, id) => {
    return { id, core: id, socket: id >> 2, numaNode: id >> 2, uncoreCache: id >> 2 };
  }),
});
const SETTINGS: Settings = {
  cpuManagerPolicy: 'static',
  podPolicies: POLICY_NAMES,
  options: NO_OPTIONS,
  reserved: CpuSet.of([0]),
  minSharedCpus: 1,
  onInsufficientCpu: 'refuse',
  liftCpuQuota: true,
};

class HistoryContext {
  readonly node = new SimulatedNode(TOPOLOGY, SETTINGS);
  private readonly pods = new Map<string, { pod: PodInfo; containers: string }>();

  /** Adds a Burstable pod with this policy at its sandbox, and these containers in its spec. */
  add(name: string, policy: string, containers: string): void {
    const pod = this.node.addPod(false, { annotations: policy === '' ? {} : { [POLICY]: policy } });
    this.pods.set(name, { pod, containers });
    this.annotate(name, policy);
  }

  /** Sends the pod with this policy from the API server. */
  annotate(name: string, policy: string, more: Readonly<Record<string, string>> = {}): void {
    const { pod, containers } = this.pods.get(name)!;
    const annotations = { ...(policy !== '' && { [POLICY]: policy }), ...more };
    const spec = specOf(pod.uid, containers, { name: pod.name, qos: 'Burstable', annotations });
    this.node.specs.set(pod.uid, spec);
    this.node.send({ kind: 'pod-spec', spec });
  }

  run(name: string, container: string, cpus: number): void {
    const id = this.node.create(this.pods.get(name)!.pod, container, cpus);
    if (id !== undefined) this.node.startContainer(id);
  }

  deletedByForce(name: string): void {
    const { uid } = this.pods.get(name)!.pod;
    this.node.specs.delete(uid);
    this.node.send({ kind: 'pod-spec-gone', uid });
  }

  remove(name: string): void {
    const { sandboxId, uid } = this.pods.get(name)!.pod;
    this.node.removePod(sandboxId);
    this.node.specs.delete(uid);
  }

  /** Sends the list of all pods, as when the API server is back. */
  listPods(): void {
    this.node.send({ kind: 'pod-specs', specs: [...this.node.specs.values()] });
  }

  /** The CPUs of each container, by the kernel. */
  get kernelCpus(): string {
    const { node } = this;
    const ofContainers = [...node.kernel].filter(([id]) => node.containers.has(id));
    return ofContainers.map(([id, cpus]) => `${node.containers.get(id)!.info.name} ${cpus.toString()}`).join('; ');
  }
}

/** The steps: each is one message of the API server, or one action of the runtime. */
const HISTORY: readonly (readonly [name: string, act: (context: HistoryContext) => void, expected: string])[] = [
  ['a pod that shares', (s) => (s.add('w', '', 'web 0'), s.run('w', 'web', 0)), 'web 0-7'],
  ['an exclusive pod', (s) => (s.add('p', 'exclusive', 'a 2, b 1'), s.run('p', 'a', 2)), 'web 0,4-7; a 1-2'],
  ['and its second container', (s) => s.run('p', 'b', 1), 'web 0,4-7; a 1-2; b 3'],
  ['it gets the policy none', (s) => s.annotate('p', 'none'), 'web 0-7; a 0-7; b 0-7'],
  ['a third container of it', (s) => s.run('p', 'late', 1), 'web 0-7; a 0-7; b 0-7; late 0-7'],
  ['one of its containers gets the policy exclusive', (s) => s.annotate('p', 'none', { [`policy.cpusetd.io/container.a`]: 'exclusive' }), 'web 0,3-7; a 1-2; b 0,3-7; late 0,3-7'],
  ['it leaves reserved CPUs', (s) => s.annotate('p', 'none', { 'topology.crane.io/exclude-reserved-cpus': 'true' }), 'web 0-7; a 1-7; b 1-7; late 1-7'],
  ['a pod with the policy none', (s) => (s.add('q', 'none', 'c 2'), s.run('q', 'c', 2)), 'web 0-7; a 1-7; b 1-7; late 1-7; c 0-7'],
  ['that pod gets the policy immovable', (s) => s.annotate('q', 'immovable'), 'web 0-7; a 1-7; b 1-7; late 1-7; c 1-2'],
  ['that pod gets the policy numa', (s) => s.annotate('q', 'numa'), 'web 0-7; a 1-7; b 1-7; late 1-7; c 1-3'],
  ['an exclusive pod with a sidecar, which shares', (s) => (s.add('s', 'exclusive', 'side sidecar 2, app 2'), s.run('s', 'side', 2)), 'web 0,3-7; a 3-7; b 3-7; late 3-7; c 3; side 0,3-7'],
  ['its app container gets the kept CPUs', (s) => s.run('s', 'app', 2), 'web 0,3-7; a 3-7; b 3-7; late 3-7; c 3; side 0,3-7; app 1-2'],
  ['the first pod asks for more CPUs than there are', (s) => s.annotate('p', 'exclusive'), ''],
  ['the first pod gets the policy none again', (s) => s.annotate('p', 'none'), ''],
  ['the first pod is deleted by force, and its containers go on', (s) => s.deletedByForce('p'), ''],
  ['the first pod is removed', (s) => s.remove('p'), ''],
  ['the other pods are removed', (s) => (s.remove('q'), s.remove('s'), s.remove('w')), ''],
]; // prettier-ignore

/** Plays the history up to a step, without a kill. */
function playHistory(steps: number): HistoryContext {
  const context = new HistoryContext();
  context.node.start();
  for (const [, act] of HISTORY.slice(0, steps)) act(context);
  return context;
}

const STEPS = HISTORY.map(([name], i) => [i + 1, name] as const);

test('each step of the history: the kernel has the CPUs that it expects', () => {
  const context = new HistoryContext();
  context.node.start();
  for (const [name, act, expected] of HISTORY) {
    act(context);
    if (expected !== '') expect(`${name}: ${context.kernelCpus}`).toBe(`${name}: ${expected}`);
  }
});

test.each(STEPS)('a kill after step %i (%s): no container is moved by the restart', (steps) => {
  const context = playHistory(steps);
  const { node } = context;
  const before = context.kernelCpus;
  const placed = () => [...node.daemon!.model.containers.values()].map(({ id, placement, promise }) => [id, placement, promise?.cpus.toString()]); // prettier-ignore
  const placements = placed().sort();
  node.kill();
  node.start();
  expect(context.kernelCpus).toBe(before);
  expect(placed().sort()).toEqual(placements);
  expect(findBrokenInvariants(node)).toEqual([]);
  const { switches, saves } = node;
  context.listPods(); // the API server is back, with nothing new
  expect(context.kernelCpus).toBe(before);
  expect([node.switches, node.saves]).toEqual([switches, saves]);
});

test.each(STEPS)(
  'a kill within step %i (%s): the containers are where they were before the step or after it',
  (steps) => {
    const before = playHistory(steps - 1).kernelCpus;
    const after = playHistory(steps).kernelCpus;
    // Containers that are created while cpusetd is away are placed when it is back.
    const isMessage = playHistory(steps - 1).node.containers.size === playHistory(steps).node.containers.size;
    for (let cut = 0; ; cut++) {
      const context = playHistory(steps - 1);
      const { node } = context;
      node.effectsUntilCut = cut;
      HISTORY[steps - 1]![1](context);
      if (node.daemon) break; // the step has no more effects
      node.start();
      expect(findBrokenInvariants(node)).toEqual([]);
      if (isMessage) expect([before, after]).toContain(context.kernelCpus);
      context.listPods();
      expect(findBrokenInvariants(node)).toEqual([]);
      if (isMessage) expect(context.kernelCpus).toBe(after);
    }
  },
);

test('a pod whose annotations are those of its sandbox: the state file has no spec of it', () => {
  const context = playHistory(3);
  const { node } = context;
  const { saves } = node;
  context.annotate('p', 'exclusive', { 'example.com/any': 'thing' });
  context.listPods();
  expect(node.saves).toBe(saves);
  expect(node.disk).not.toContain('"pods"');
  context.annotate('p', 'none', { 'example.com/any': 'thing' });
  expect(node.disk).toContain('"pods"');
  expect(node.disk).not.toContain('example.com/any');
  context.annotate('p', 'exclusive');
  expect(node.disk).not.toContain('"pods"');
});

test('a history whose pods are all removed: no spec is left in the state file', () => {
  const { node } = playHistory(HISTORY.length);
  expect(node.disk).not.toContain('"pods"');
  expect([...node.daemon!.model.keptSpecs]).toEqual([]);
});
