import { CpuSet } from '../../src/core/cpuset';
import type { PodInfo } from '../../src/core/model/events';
import { POLICY_NAMES } from '../../src/core/model/policies';
import { NO_OPTIONS, type Settings } from '../../src/core/model/settings';
import { buildTopology } from '../../src/core/topology';
import { findBrokenInvariants } from '../support/invariants';
import { SimulatedNode } from './simulated-node';
import { specOf } from '../support/spec-of';

// cpusetd dies and starts again while the API server is away: what it told last stays true, so nobody who runs is moved.

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

class Story {
  readonly node = new SimulatedNode(TOPOLOGY, SETTINGS);
  private readonly pods = new Map<string, { pod: PodInfo; containers: string }>();

  /** A Burstable pod whose sandbox is made with this policy, and the containers of its spec. */
  add(name: string, policy: string, containers: string): void {
    const pod = this.node.addPod(false, { annotations: policy === '' ? {} : { [POLICY]: policy } });
    this.pods.set(name, { pod, containers });
    this.say(name, policy);
  }

  /** The API server tells of the pod. */
  say(name: string, policy: string, more: Readonly<Record<string, string>> = {}): void {
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

  /** The API server is back, and tells of all pods. */
  tellAll(): void {
    this.node.send({ kind: 'pod-specs', specs: [...this.node.specs.values()] });
  }

  /** Where each container is, by the kernel. */
  get where(): string {
    const { node } = this;
    const ofContainers = [...node.kernel].filter(([id]) => node.containers.has(id));
    return ofContainers.map(([id, cpus]) => `${node.containers.get(id)!.info.name} ${cpus.toString()}`).join('; ');
  }
}

/** Each step is one message of the API server, or what the runtime does with a container. */
const HISTORY: readonly (readonly [name: string, act: (story: Story) => void, where: string])[] = [
  ['a pod that shares', (s) => (s.add('w', '', 'web 0'), s.run('w', 'web', 0)), 'web 0-7'],
  ['one with CPUs of its own', (s) => (s.add('p', 'exclusive', 'a 2, b 1'), s.run('p', 'a', 2)), 'web 0,4-7; a 1-2'],
  ['and its second container', (s) => s.run('p', 'b', 1), 'web 0,4-7; a 1-2; b 3'],
  ['it is unbound', (s) => s.say('p', 'none'), 'web 0-7; a 0-7; b 0-7'],
  ['a container of it, so much later', (s) => s.run('p', 'late', 1), 'web 0-7; a 0-7; b 0-7; late 0-7'],
  ['one of its containers is bound', (s) => s.say('p', 'none', { [`policy.cpusetd.io/container.a`]: 'exclusive' }), 'web 0,3-7; a 1-2; b 0,3-7; late 0,3-7'],
  ['none again, and off reserved CPUs', (s) => s.say('p', 'none', { 'topology.crane.io/exclude-reserved-cpus': 'true' }), 'web 0-7; a 1-7; b 1-7; late 1-7'],
  ['a pod that shares by choice', (s) => (s.add('q', 'none', 'c 2'), s.run('q', 'c', 2)), 'web 0-7; a 1-7; b 1-7; late 1-7; c 0-7'],
  ['which gets fixed CPUs', (s) => s.say('q', 'immovable'), 'web 0-7; a 1-7; b 1-7; late 1-7; c 1-2'],
  ['and then a NUMA node', (s) => s.say('q', 'numa'), 'web 0-7; a 1-7; b 1-7; late 1-7; c 1-3'],
  ['a sidecar is no target of Crane’s', (s) => (s.add('s', 'exclusive', 'side sidecar 2, app 2'), s.run('s', 'side', 2)), 'web 0,3-7; a 3-7; b 3-7; late 3-7; c 3; side 0,3-7'],
  ['but the app is, for which they are kept', (s) => s.run('s', 'app', 2), 'web 0,3-7; a 3-7; b 3-7; late 3-7; c 3; side 0,3-7; app 1-2'],
  ['the first one asks for more than there is', (s) => s.say('p', 'exclusive'), ''],
  ['and takes it back', (s) => s.say('p', 'none'), ''],
  ['it is deleted by force, and runs on', (s) => s.deletedByForce('p'), ''],
  ['it goes', (s) => s.remove('p'), ''],
  ['and the others', (s) => (s.remove('q'), s.remove('s'), s.remove('w')), ''],
]; // prettier-ignore

/** Tells the history up to a step, without a death. */
function tell(steps: number): Story {
  const story = new Story();
  story.node.start();
  for (const [, act] of HISTORY.slice(0, steps)) act(story);
  return story;
}

const STEPS = HISTORY.map(([name], i) => [i + 1, name] as const);

test('the history does what it is about', () => {
  const story = new Story();
  story.node.start();
  for (const [name, act, where] of HISTORY) {
    act(story);
    if (where !== '') expect(`${name}: ${story.where}`).toBe(`${name}: ${where}`);
  }
});

test.each(STEPS)('a death after step %i (%s) changes nothing for anybody', (steps) => {
  const story = tell(steps);
  const { node } = story;
  const before = story.where;
  const placed = () => [...node.daemon!.model.containers.values()].map(({ id, placement, promise }) => [id, placement, promise?.cpus.toString()]); // prettier-ignore
  const placements = placed().sort();
  node.kill();
  node.start();
  expect(story.where).toBe(before);
  expect(placed().sort()).toEqual(placements);
  expect(findBrokenInvariants(node)).toEqual([]);
  const { switches, saves } = node;
  story.tellAll(); // the API server is back, and has nothing new to tell
  expect(story.where).toBe(before);
  expect([node.switches, node.saves]).toEqual([switches, saves]);
});

test.each(STEPS)('a death within step %i (%s) is before it or after it', (steps) => {
  const before = tell(steps - 1).where;
  const after = tell(steps).where;
  // Containers that are made while cpusetd is away are placed by what is known when it is back.
  const isMessage = tell(steps - 1).node.containers.size === tell(steps).node.containers.size;
  for (let cut = 0; ; cut++) {
    const story = tell(steps - 1);
    const { node } = story;
    node.effectsUntilCut = cut;
    HISTORY[steps - 1]![1](story);
    if (node.daemon) break; // there were no more
    node.start();
    expect(findBrokenInvariants(node)).toEqual([]);
    if (isMessage) expect([before, after]).toContain(story.where);
    story.tellAll();
    expect(findBrokenInvariants(node)).toEqual([]);
    if (isMessage) expect(story.where).toBe(after);
  }
});

test('only what a restart must not forget is written: nothing of pods that are as they were made', () => {
  const story = tell(3);
  const { node } = story;
  const { saves } = node;
  story.say('p', 'exclusive', { 'example.com/any': 'thing' });
  story.tellAll();
  expect(node.saves).toBe(saves);
  expect(node.disk).not.toContain('"pods"');
  story.say('p', 'none', { 'example.com/any': 'thing' });
  expect(node.disk).toContain('"pods"');
  expect(node.disk).not.toContain('example.com/any');
  story.say('p', 'exclusive');
  expect(node.disk).not.toContain('"pods"');
});

test('a history that is over leaves nothing behind', () => {
  const { node } = tell(HISTORY.length);
  expect(node.disk).not.toContain('"pods"');
  expect([...node.daemon!.model.keptSpecs]).toEqual([]);
});
