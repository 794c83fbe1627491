import type { CpuResources, NodeEvent } from '../../../src/core/model/events';
import { listWitnesses } from '../../../src/core/transition';
import { infoOf } from '../../../src/core/model/container';
import { planQuotas } from '../../../src/core/verdict/plan-quotas';
import { CpuSet } from '../../../src/core/cpuset';
import { specOf } from '../../support/spec-of';
import { defaulted, messageOf } from '../../support/pod-level';
import { NodeDriver, machineOf, type Rules } from './node-driver';

// A pod of 4 CPUs and 256 MiB as a whole, which no spec tells of. Its containers have these numbers of their own.

const POD = defaulted({ limitMilliCpu: 4000, limitMemoryBytes: 1 << 28 });
const OWN = {
  nothing: {},
  'two CPUs': defaulted({ limitMilliCpu: 2000, limitMemoryBytes: 1 << 26 }),
  'half a CPU': defaulted({ limitMilliCpu: 500 }),
  'memory alone': defaulted({ limitMemoryBytes: 1 << 26 }),
};
const NO_CPU: CpuResources = { shares: 2 };

/** 16 CPUs, of which CPU 0 is reserved. */
class PodLevelNode extends NodeDriver {
  constructor(rules: Rules = {}, topology = machineOf(8, 2)) {
    super(topology, { liftCpuQuota: true, ...rules });
    this.model.apply({ kind: 'set-synchronized', synchronized: true });
    this.podFields.set('p', { podResources: messageOf(POD, {}) });
  }

  /** Creates and starts a container beside those that have processes. */
  make(target: string, own: keyof typeof OWN | CpuResources, alive: readonly string[]): this {
    const resources = typeof own === 'string' ? messageOf(OWN[own], POD) : own;
    this.bringing.set(target, resources);
    this.runsBeside = alive.map((each) => this.idOf(each));
    this.run(`make ${target} 0`);
    this.runsBeside = [];
    return this;
  }

  private runsBeside: readonly string[] = [];

  override send(event: NodeEvent, ...more: never[]) {
    const isCreation = event.kind === 'create-container';
    const witnesses = isCreation ? listWitnesses(this.model, event).map(({ id }) => id) : [];
    const seen = witnesses.filter((id) => this.runsBeside.includes(id));
    return super.send(isCreation && seen.length > 0 ? { ...event, runsBeside: seen } : event, ...more);
  }

  because(target: string): string {
    return this.container(target)!.because;
  }
}

test('alone it has all CPUs of its pod; with the next one both share, its CPUs are free and its quota is back', () => {
  const node = new PodLevelNode().make('p/a', 'nothing', []);
  expect(node.state).toBe('p/a 1-2,9-10; pool 0,3-8,11-15');
  node.make('p/b', 'nothing', ['p/a']);
  expect(node.state).toBe('pool 0-15');
  expect(node.because('p/a')).toBe(
    'the pod has resources as a whole, and the container no CPU limit of its own; it was taken for a container that asks for all CPUs of ' +
      'its pod (before: static)',
  );
  expect(node.because('p/b')).toBe('the pod has resources as a whole, and the container no CPU limit of its own');
  const seen = { kind: 'seen', cpus: CpuSet.empty, effective: CpuSet.empty, mems: CpuSet.empty } as const;
  const steps = planQuotas(node.model, node.container('p/a')!, {
    ...seen,
    quota: { quotaUs: -1, periodUs: 100_000 },
    podQuota: { quotaUs: -1, periodUs: 100_000 },
  });
  expect(steps.map(({ scope, to }) => `${scope} ${to.quotaUs}`)).toEqual(['container 400000', 'pod 400000']);
});

test('the CPUs of the mistaken one are for the next, which asks for two of its own', () => {
  const node = new PodLevelNode().make('p/a', 'nothing', []);
  node.run('make q/app 11').make('p/b', 'two CPUs', ['p/a']);
  expect(node.state).toBe('p/b 1,9; q/app 3-8,11-15; pool 0,2,10');
});

test.each`
  name                                              | first           | next            | alive        | found
  ${'that asks for nothing of its own'}             | ${'nothing'}    | ${'nothing'}    | ${['p/a']}   | ${true}
  ${'with CPUs of its own'}                         | ${'nothing'}    | ${'two CPUs'}   | ${['p/a']}   | ${true}
  ${'with memory of its own, and no CPU'} | ${'memory alone'} | ${'memory alone'} | ${['p/a']} | ${true}
  ${'with a fraction'}                              | ${'nothing'}    | ${'half a CPU'} | ${['p/a']}   | ${true}
  ${'that asks for nothing after one that does'}    | ${'two CPUs'}   | ${'nothing'}    | ${['p/a']}   | ${true}
  ${'of the numbers of the first, which has ended'} | ${'nothing'}    | ${'nothing'}    | ${[]}        | ${false}
  ${'without CPUs, as kubectl debug adds one'}      | ${'nothing'}    | ${NO_CPU}       | ${['p/a']}   | ${false}
  ${'beside one without CPUs'}                      | ${NO_CPU}       | ${'nothing'}    | ${['p/a']}   | ${false}
  ${'of half a CPU beside two CPUs'}                | ${'two CPUs'}   | ${'half a CPU'} | ${['p/a']}   | ${false}
`('a container $name: found $found', ({ first, next, alive, found }) => {
  const node = new PodLevelNode().make('p/a', first as never, []).make('p/b', next as never, alive as string[]);
  expect(node.model.podLevel.has('p')).toBe(found);
}); // prettier-ignore

test('after a start of cpusetd the quota is set again, although the record of the runtime lifts it', () => {
  const node = new PodLevelNode().make('p/a', 'nothing', []).make('p/b', 'nothing', ['p/a']);
  const pods = [...node.model.pods.values()];
  const containers = [...node.model.containers.values()].map(infoOf);
  const podLevel = [...node.model.podLevel.values()];
  const later = new PodLevelNode();
  for (const each of podLevel) later.model.apply({ kind: 'put-pod-level', podLevel: each });
  const lifted = containers.map((each) => ({ ...each, resources: { ...each.resources, quotaUs: -1 } }));
  later.send({ kind: 'synchronize', pods, containers: lifted });
  const { id } = containers[0]!;
  expect(later.model.containers.get(id)!.promise?.quota).toEqual({ quotaUs: 400_000, periodUs: 100_000 });
  expect(later.moves.find(({ containerId }) => containerId === id)?.to.quota?.quotaUs).toBe(400_000);
});

test('what was found outlives its containers, and is forgotten with the sandbox', () => {
  const node = new PodLevelNode().make('p/a', 'nothing', []).make('p/b', 'nothing', ['p/a']);
  node.run('end p/a; end p/b').make('p/a', 'nothing', []);
  expect(node.state).toBe('pool 0-15');
  node.run('end p/a; stop p; remove p');
  expect(node.model.podLevel.size).toBe(0);
});

test('an update with the same numbers, or of memory alone, gives it no CPUs', () => {
  const node = new PodLevelNode().make('p/a', 'nothing', []).make('p/b', 'nothing', ['p/a']);
  node.update('p/a', messageOf({}, POD));
  node.update('p/b', { ...messageOf({}, POD), shares: 4096 });
  expect([node.reply, node.state]).toEqual(['cpus 0-15', 'pool 0-15']);
});

test('the spec comes later than the first container: it shares from then on', () => {
  const node = new PodLevelNode().make('p/a', 'nothing', []);
  node.send({ kind: 'pod-spec', spec: { ...specOf('p', 'a 0, b 2'), podResources: POD } });
  expect(node.state).toBe('p/b 1,9 idle; pool 0,2-8,10-15');
  expect(node.container('p/a')).toMatchObject({ placement: 'shared', entitledCpus: 0, quota: 'as-asked' });
});

test('the spec comes later, and the pod has no resources as a whole: nothing moves', () => {
  const node = new PodLevelNode().make('p/a', 'nothing', []);
  const before = node.state;
  node.send({ kind: 'pod-spec', spec: specOf('p', 'a 4') });
  expect([node.state, node.moves]).toEqual([before, []]);
});

test('a container that a later rule leaves alone keeps its CPUs', () => {
  const node = new PodLevelNode().make('p/a', 'nothing', []);
  node.setRules({ liftCpuQuota: true, leaveAlone: [{ text: 'ns/p/a', namespace: 'ns', pod: 'p', container: 'a' }] });
  node.make('p/b', 'nothing', ['p/a']);
  expect(node.state).toContain('p/a 1-2,9-10');
  expect(node.container('p/b')!.placement).toBe('shared');
});

test('in a pod of 300 CPUs, whose shares say too little, the limits tell', () => {
  const large = defaulted({ limitMilliCpu: 300_000, limitMemoryBytes: 1 << 28 });
  const node = new PodLevelNode({}, machineOf(256, 2));
  node.podFields.set('p', { podResources: messageOf(large, {}) });
  node.make('p/a', messageOf({}, large), []).make('p/b', messageOf({}, large), ['p/a']);
  expect([node.model.podLevel.size, node.model.exclusive.size]).toEqual([1, 0]);
});

describe('a pod without such resources, one of whose containers was resized to what the whole pod had,', () => {
  const TWO = { ...messageOf(OWN['two CPUs'], {}), memoryLimitBytes: 1 << 27 };
  const ALL = messageOf(POD, {});
  const resized = (): PodLevelNode => {
    const node = new PodLevelNode().make('p/a', TWO, []).make('p/b', TWO, []);
    node.update('p/a', ALL);
    return node;
  };

  test('keeps its CPUs when another container is created again', () => {
    const node = resized();
    const before = node.state;
    expect(before).toContain('p/a 1,3,9,11');
    node.run('end p/b').make('p/b', TWO, ['p/a']);
    expect(node.state).toBe(before);
    expect(node.model.podLevel.get('p')).toEqual({ podUid: 'p', shown: 'resized' });
  });

  test.each([
    ['when cpusetd reads the lists of the runtime', resized],
    ['also when cpusetd was away at the resize', () => new PodLevelNode().make('p/a', TWO, []).make('p/b', TWO, [])],
  ])('keeps its CPUs %s', (_name, begin) => {
    const node = begin();
    const before = node.state;
    const pods = [...node.model.pods.values()];
    const containers = [...node.model.containers.values()].map((each) => ({
      ...infoOf(each),
      ...(each.name === 'a' && { resources: ALL }),
    }));
    node.send({ kind: 'synchronize', pods, containers });
    node.run('end p/b').make('p/b', TWO, ['p/a']);
    expect(node.state).toBe(before);
  });
});

test('resources of the pod are resized: its containers share as before, and so does one that is created later', () => {
  const node = new PodLevelNode().make('p/a', 'nothing', []).make('p/b', 'nothing', ['p/a']);
  const six = messageOf(defaulted({ limitMilliCpu: 6000, limitMemoryBytes: 1 << 28 }), {});
  node.update('p/a', six);
  node.update('p/b', six);
  expect(node.state).toBe('pool 0-15');
  node.podFields.set('p', { podResources: six });
  node.run('end p/b').make('p/b', six, ['p/a']);
  expect(node.state).toBe('pool 0-15');
});

test('a creation that is refused has moved nobody, and says so', () => {
  const node = new PodLevelNode({ options: { fullPcpusOnly: true } }).make('p/a', 'nothing', []);
  const before = node.state;
  node.make('p/b', messageOf(defaulted({ limitMilliCpu: 1000 }), POD), ['p/a']);
  expect([node.reply, node.state, node.reported]).toEqual(['refused FAILED_PRECONDITION', before, []]);
});

test('an init container by a policy of Crane, which the spec says to share, was not taken for another', () => {
  const node = new PodLevelNode({ cpuManagerPolicy: 'exclusive' }).make('p/a', messageOf(POD, {}), []);
  const before = node.state;
  expect(before).toContain('p/a');
  node.send({ kind: 'pod-spec', spec: specOf('p', 'a init 4, b 4') });
  expect(node.state).toContain(before.split(';')[0]);
});

test('few containers are looked at, however many the pod has', () => {
  const node = new PodLevelNode();
  for (let i = 0; i < 50; i++) node.make(`p/c${i}`, 'half a CPU', []);
  node.bringing.set('p/last', messageOf({}, POD));
  node.run('ask p/last 0');
  const { pod, container } = node.infoOf('p/last');
  expect(listWitnesses(node.model, { kind: 'create-container', pod, container })).toHaveLength(4);
});
