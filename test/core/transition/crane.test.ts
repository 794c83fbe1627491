import { POLICY_NAMES, type PolicyName } from '../../../src/core/model/policies';
import { judge } from '../../../src/core/verdict/judge';
import { buildTopology, type Topology } from '../../../src/core/topology';
import { cpus, NodeDriver, without, type Rules } from './node-driver';

/** NUMA node 0 has the CPUs 0-3, node 1 the CPUs 4-7; CPU 0 is reserved. */
const TWO_NODES: Topology = buildTopology({
  cpus: Array.from({ length: 8 }, (_, id) => {
    return { id, core: id, socket: id >> 2, numaNode: id >> 2, uncoreCache: id >> 2 };
  }),
});

const POLICY_OF: Readonly<Record<string, PolicyName>> = { e: 'exclusive', i: 'immovable', n: 'numa', o: 'none' };

interface Said {
  /** What the scheduler chose, by NUMA node; only with `podCpus`. */
  readonly result?: readonly number[];
  readonly podCpus?: number;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Pods are Burstable and choose their policy by the first letter of their name; `s` is Guaranteed and chooses none. */
function nodeOf(rules: Rules = {}, said: Readonly<Record<string, Said>> = {}): NodeDriver {
  const node = new NodeDriver(TWO_NODES, { podPolicies: POLICY_NAMES, ...rules });
  for (const uid of ['e', 'e2', 'i', 'i2', 'n', 'n2', 'n3', 'o', 's', 'w']) {
    const { result, podCpus, annotations = {} } = said[uid] ?? {};
    const policy = POLICY_OF[uid[0]!];
    const zones = result?.map((cpu, id) => ({
      name: `node${id}`,
      type: 'Node',
      resources: { capacity: { cpu: `${cpu}` } },
    }));
    node.podsSay.set(uid, {
      annotations: {
        ...(policy && { 'cpusetd.io/policy': policy }),
        ...(zones && { 'topology.crane.io/topology-result': JSON.stringify(zones) }),
        ...annotations,
      },
      ...(podCpus !== undefined && { podResources: { shares: podCpus * 1024 } }),
      ...(uid !== 's' && { cgroupParent: `/kubepods/burstable/pod${uid}` }),
    });
  }
  return node;
}

/** Where each container is promised to run: `e/a 1-2; n/a 3`. */
function show(node: NodeDriver): string {
  return [...node.model.containers.values()]
    .map(({ podUid, name, promise }) => `${podUid}/${name} ${promise?.cpus.toString() ?? 'anywhere'}`)
    .join('; ');
}

describe('each policy, and what it leaves the others', () => {
  test.each`
    name                                                           | history                                      | where
    ${'none shares everything'}                                    | ${'make o/a 2; make w/a 0'}                  | ${'o/a 0-7; w/a 0-7'}
    ${'exclusive is alone, although its pod is Burstable'}         | ${'make w/a 0; make e/a 2'}                  | ${'w/a 0,3-7; e/a 1-2'}
    ${'numa shares its node without what is reserved'}             | ${'make w/a 0; make n/a 2'}                  | ${'w/a 0-7; n/a 1-3'}
    ${'immovable has fixed CPUs, which the others use too'}        | ${'make w/a 0; make i/a 2'}                  | ${'w/a 0-7; i/a 1-2'}
    ${'numa and immovable share'}                                  | ${'make i/a 2; make n/a 1'}                  | ${'i/a 1-2; n/a 1-3'}
    ${'numa shrinks when an exclusive one comes'}                  | ${'make n/a 2; make e/a 2'}                  | ${'n/a 3; e/a 1-2'}
    ${'and grows when that goes'}                                  | ${'make n/a 2; make e/a 2; end e/a; stop e'} | ${'n/a 1-3'}
    ${'but not as long as the pod may come back'}                  | ${'make n/a 2; make e/a 2; end e/a'}         | ${'n/a 3'}
    ${'static ones make it shrink too'}                            | ${'make n/a 2; make s/a 2'}                  | ${'n/a 3; s/a 1-2'}
    ${'exclusive never takes immovable CPUs'}                      | ${'make i/a 2; make e/a 5'}                  | ${'i/a 1-2; e/a 3-7'}
    ${'static neither'}                                            | ${'make i/a 3; make s/a 2'}                  | ${'i/a 1-3; s/a 4-5'}
    ${'nor another immovable one'}                                 | ${'make i/a 2; make i2/a 2'}                 | ${'i/a 1-2; i2/a 3-4'}
    ${'immovable never takes exclusive CPUs'}                      | ${'make e/a 2; make s/a 1; make i/a 2'}      | ${'e/a 1-2; s/a 3; i/a 4-5'}
    ${'immovable ones may be all that is not reserved'}            | ${'make i/a 7; make w/a 0'}                  | ${'i/a 1-7; w/a 0-7'}
    ${'what exclusive leaves to numa is at least one CPU'}         | ${'make n/a 2; make e/a 3'}                  | ${'n/a 3; e/a 1-2,4'}
    ${'even when it asks for all but one'}                         | ${'make n/a 2; make e/a 6'}                  | ${'n/a 3; e/a 1-2,4-7'}
    ${'an immovable CPU is something left to numa'}                | ${'make i/a 1; make n/a 2; make e/a 6'}      | ${'i/a 1; n/a 1; e/a 2-7'}
    ${'two containers of a pod without a scheduler: each its own'} | ${'make e/a 2; make e/b 1'}                  | ${'e/a 1-2; e/b 3'}
    ${'who asks for a fraction shares, whatever its pod chose'}    | ${'make e/a 0.5; make n/a 1.5; make i/a 0'}  | ${'e/a 0-7; n/a 0-7; i/a 0-7'}
    ${'numa: the next one goes where there is room'}               | ${'make n/a 2; make n2/a 2'}                 | ${'n/a 1-3; n2/a 4-7'}
    ${'numa: beside what is immovable there is less room'}         | ${'make i/a 2; make n/a 2'}                  | ${'i/a 1-2; n/a 4-7'}
    ${'numa: more than one node has'}                              | ${'make n/a 5'}                              | ${'n/a 1-7'}
    ${'numa: a pod stays together'}                                | ${'make n/a 1; make n2/a 3; make n/b 2'}     | ${'n/a 1-3; n2/a 4-7; n/b 1-3'}
    ${'numa: too many for all, the emptiest node'}                 | ${'make n/a 3; make n2/a 3; make n3/a 2'}    | ${'n/a 1-3; n2/a 4-7; n3/a 4-7'}
  `('$name', ({ history, where }: { history: string; where: string }) => {
    expect(show(nodeOf().run(history))).toBe(where);
  });
});

describe('what does not fit is refused with the reason', () => {
  test.each`
    name                                         | history                      | because
    ${'the last shared CPU of a numa container'} | ${'make n/a 2; make e/a 7'}  | ${/6 can be given now.*containers that share the CPUs of a NUMA node keep at least one there/}
    ${'immovable CPUs are not free'}             | ${'make i/a 3; make e/a 5'}  | ${/asked for 5 exclusive CPUs, 4 can be given now: 4 of 7 allocatable/}
    ${'not for immovable ones either'}           | ${'make i/a 3; make i2/a 5'} | ${/asked for 5 fixed CPUs, 4 can be given now: 4 of 7 allocatable/}
    ${'nothing shared is left for numa'}         | ${'make e/a 7; make n/a 1'}  | ${/asked for 1 CPU of few NUMA nodes; all nodes together share 0/}
    ${'numa asks for more than there is'}        | ${'make e/a 3; make n/a 5'}  | ${/all nodes together share 4/}
  `('$name', ({ history, because }: { history: string; because: RegExp }) => {
    const node = nodeOf().run(history);
    expect(node.answer).toEqual({
      kind: 'refuse',
      code: 'RESOURCE_EXHAUSTED',
      message: expect.stringMatching(because),
    });
  });

  test('or shares, where the operator wants that', () => {
    expect(show(nodeOf({ onInsufficientCpu: 'share' }).run('make e/a 7; make n/a 1'))).toBe('e/a 1-7; n/a 0');
  });
});

describe('what is remembered and comes back', () => {
  test.each`
    name                                                      | history                                           | where
    ${'exclusive: its own CPUs'}                              | ${'make e/a 2; end e/a; make s/a 2; make e/a 2'}  | ${'s/a 3-4; e/a 1-2'}
    ${'immovable: its own CPUs'}                              | ${'make i/a 2; end i/a; make i2/a 2; make i/a 2'} | ${'i2/a 3-4; i/a 1-2'}
    ${'immovable: idle ones of its pod first'}                | ${'make i2/a 2; make i/a 3; end i/a; make i/b 2'} | ${'i2/a 1-2; i/b 3-4'}
    ${'numa: its own node'}                                   | ${'make n/a 2; end n/a; make i/a 2; make n/a 3'}  | ${'i/a 1-2; n/a 1-3'}
    ${'a failed creation leaves nothing of a numa container'} | ${'ask n/a 2; end n/a; make e/a 7'}               | ${'e/a 1-7'}
    ${'a resize of an exclusive container keeps what it has'} | ${'make e/a 2; make i/a 1; resize e/a 3'}         | ${'e/a 1-2,4; i/a 3'}
    ${'a resize of an immovable one too'}                     | ${'make i/a 3; make e/a 1; resize i/a 2'}         | ${'i/a 1-2; e/a 4'}
    ${'a resize to a fraction is for the shared pool'}        | ${'make i/a 3; resize i/a 1.5; make e/a 7'}       | ${'i/a 0; e/a 1-7'}
  `('$name', ({ history, where }: { history: string; where: string }) => {
    expect(show(nodeOf().run(history))).toBe(where);
  });

  test('the policy of a pod that is made again is the new one, and what it held otherwise is free for it', () => {
    const node = nodeOf().run('make i/a 7; end i/a; stop i');
    node.run('pod i sandbox-2; make i/a 7; end i/a');
    node.podsSay.set('i', {
      annotations: { 'cpusetd.io/policy': 'exclusive' },
      cgroupParent: '/kubepods/burstable/podi',
    });
    expect(show(node.run('make i/a 7; make w/a 0'))).toBe('i/a 1-7; w/a 0');
    node.podsSay.set('i', { annotations: { 'cpusetd.io/policy': 'numa' }, cgroupParent: '/kubepods/burstable/podi' });
    expect(show(node.run('end i/a; make i/a 2'))).toBe('w/a 0-7; i/a 1-3');
  });
});

describe('what the scheduler chose', () => {
  const chosen = (uid: string, result: readonly number[], podCpus = 8, rules: Rules = {}): NodeDriver =>
    nodeOf(rules, { [uid]: { result, podCpus } });

  test.each`
    name                                                      | uid    | result    | history                                             | where
    ${'exclusive: so many of each node, packed'}              | ${'e'} | ${[2, 1]} | ${'make e/a 3'}                                     | ${'e/a 1-2,4'}
    ${'all containers of the pod share them'}                 | ${'e'} | ${[0, 3]} | ${'make e/a 2; make e/b 1; make w/a 0'}             | ${'e/a 4-6; e/b 4-6; w/a 0-3,7'}
    ${'also one that comes back'}                             | ${'e'} | ${[0, 3]} | ${'make e/a 2; make e/b 1; end e/a; make e/a 2'}    | ${'e/b 4-6; e/a 4-6'}
    ${'or all of them'}                                       | ${'e'} | ${[0, 3]} | ${'make e/a 2; end e/a; make s/a 4; make e/b 1'}    | ${'s/a 1-3,7; e/b 4-6'}
    ${'not one that asks for a fraction'}                     | ${'e'} | ${[0, 2]} | ${'make e/a 2; make e/b 0.5'}                       | ${'e/a 4-5; e/b 0-3,6-7'}
    ${'they are the pod’s until it goes'}                     | ${'e'} | ${[0, 3]} | ${'make e/a 2; make e/b 1; end e/a; make w/a 0'}    | ${'e/b 4-6; w/a 0-3,7'}
    ${'and free afterwards'}                                  | ${'e'} | ${[0, 3]} | ${'make e/a 2; end e/a; stop e; make w/a 0'}        | ${'w/a 0-7'}
    ${'immovable: the same CPUs, but not alone'}              | ${'i'} | ${[1, 2]} | ${'make i/a 2; make i/b 1; make w/a 0; make e/a 2'} | ${'i/a 1,4-5; i/b 1,4-5; w/a 0-1,4-7; e/a 2-3'}
    ${'numa: the nodes, the count does not matter'}           | ${'n'} | ${[0, 2]} | ${'make n/a 1; make n/b 1'}                         | ${'n/a 4-7; n/b 4-7'}
    ${'numa: several nodes'}                                  | ${'n'} | ${[1, 1]} | ${'make n/a 2'}                                     | ${'n/a 1-7'}
    ${'nothing: it shares'}                                   | ${'e'} | ${[0, 0]} | ${'make e/a 2'}                                     | ${'e/a 0-7'}
    ${'a container that comes after a resize of another one'} | ${'e'} | ${[0, 3]} | ${'make e/a 2; resize e/a 1; make e/b 2'}           | ${'e/a 4-6; e/b 4-6'}
  `('$name', ({ uid, result, history, where }: { uid: string; result: number[]; history: string; where: string }) => {
    expect(show(chosen(uid, result).run(history))).toBe(where);
  });

  test.each`
    name                                          | uid    | result    | history                     | because
    ${'CPUs that the node does not have now'}     | ${'e'} | ${[3, 0]} | ${'make s/a 2; make e/a 3'} | ${/chose 3 exclusive CPUs of NUMA node 0 for the pod, and 1 can be given there now/}
    ${'the last ones of a numa container'}        | ${'e'} | ${[3, 0]} | ${'make n/a 2; make e/a 3'} | ${/of NUMA node 0 for the pod, and 2 can be given there now/}
    ${'a node where only reserved CPUs are left'} | ${'n'} | ${[1, 0]} | ${'make s/a 3; make n/a 1'} | ${/nothing is shared on NUMA nodes 0 but reserved CPUs/}
  `(
    '$name: refused',
    ({ uid, result, history, because }: { uid: string; result: number[]; history: string; because: RegExp }) => {
      const node = chosen(uid, result).run(history);
      expect(node.answer).toEqual({
        kind: 'refuse',
        code: 'RESOURCE_EXHAUSTED',
        message: expect.stringMatching(because),
      });
    },
  );

  test('is not believed beyond what the pod asks for: the container gets its own', () => {
    const node = chosen('e', [3, 4], 2).run('make e/a 2');
    expect(show(node)).toBe('e/a 1-2');
    const ignored = chosen('e', [3, 4], 2)
      .run('ask e/a 2')
      .reported.find(({ kind }) => kind === 'annotation-ignored');
    expect(ignored).toMatchObject({
      who: { container: 'a' },
      annotation: 'topology.crane.io/topology-result',
      because: expect.stringContaining('names 7 in all, but the pod asks for 2') as string,
    });
  });

  test('a sandbox made again with another choice gets that, not what the pod had', () => {
    const node = chosen('e', [0, 3]).run('make e/a 2; end e/a');
    const { annotations } = chosen('e', [2, 0]).podsSay.get('e')!;
    node.podsSay.set('e', { ...node.podsSay.get('e'), annotations: annotations! });
    expect(show(node.run('pod e sandbox-2; make e/a 2'))).toBe('e/a 1-2');
  });

  test('CPUs that another container of the pod is still on are not free for one that chose another policy', () => {
    const node = chosen('e', [0, 3]).run('make e/a 2; make e/b 1; end e/a');
    const annotations = { 'cpusetd.io/policy': 'exclusive', 'policy.cpusetd.io/container.a': 'immovable' };
    node.podsSay.set('e', { ...node.podsSay.get('e'), annotations });
    expect(show(node.run('make e/a 4'))).toBe('e/b 4-6; e/a 1-3,7');
  });

  test('static goes by it too, with CPUs of its own for each container', () => {
    expect(show(chosen('s', [0, 3], 3).run('make s/a 2; make s/b 1'))).toBe('s/a 4-5; s/b 6');
  });

  test('CPUs that were reserved meanwhile are not given to one that joins', () => {
    const node = chosen('e', [3, 0]).run('make e/a 2');
    node.setRules({ podPolicies: POLICY_NAMES, reserved: '0-1' });
    expect(show(node.run('make e/b 1'))).toBe('e/a 1-3; e/b 2-3');
  });
});

describe('exclude-reserved-cpus', () => {
  const said = { w: { annotations: { 'topology.crane.io/exclude-reserved-cpus': 'true' } } };
  test.each`
    name                                                   | rules                           | history                     | where
    ${'keeps a shared container off reserved CPUs'}        | ${{}}                           | ${'make w/a 0; make o/a 0'} | ${'w/a 1-7; o/a 0-7'}
    ${'also when the pool shrinks'}                        | ${{}}                           | ${'make w/a 0; make s/a 3'} | ${'w/a 4-7; s/a 1-3'}
    ${'not when there is nothing else'}                    | ${{}}                           | ${'make w/a 0; make s/a 7'} | ${'w/a 0; s/a 1-7'}
    ${'also where nobody is pinned and others left alone'} | ${{ cpuManagerPolicy: 'none' }} | ${'make w/a 0; make s/a 0'} | ${'w/a 1-7; s/a anywhere'}
  `('$name', ({ rules, history, where }: { rules: Rules; history: string; where: string }) => {
    expect(show(nodeOf(rules, said).run(history))).toBe(where);
  });
});

describe('the policy of the node', () => {
  test.each`
    policy         | where
    ${'none'}      | ${'w/a anywhere; s/a anywhere'}
    ${'static'}    | ${'w/a 0,3-7; s/a 1-2'}
    ${'exclusive'} | ${'w/a 1-2; s/a 3-4'}
    ${'numa'}      | ${'w/a 1-3; s/a 4-7'}
    ${'immovable'} | ${'w/a 1-2; s/a 3-4'}
  `('$policy is for everyone who chose nothing', ({ policy, where }: { policy: PolicyName; where: string }) => {
    expect(show(nodeOf({ cpuManagerPolicy: policy }).run('make w/a 2; make s/a 2'))).toBe(where);
  });

  const others = (from: PolicyName) => POLICY_NAMES.filter((to) => to !== from).map((to) => ({ from, to }));
  test.each((['static', 'exclusive', 'numa', 'immovable'] as const).flatMap(others))(
    'from $from to $to: who runs keeps what it has, and is shown as held',
    ({ from, to }) => {
      const node = nodeOf({ cpuManagerPolicy: from }).run('make s/a 2');
      const before = show(node);
      node.setRules({ cpuManagerPolicy: to });
      node.run('make w/a 0');
      expect(show(node)).toMatch(before);
      const { promise } = node.container('s/a')!;
      const seen = { kind: 'seen', cpus: promise!.cpus, effective: promise!.cpus, mems: cpus('') } as const;
      expect(judge(node.model, node.container('s/a')!, seen)).toEqual({
        kind: 'held-under-old-rules',
        because: `given under cpu-manager-policy ${from}, which is ${to} now`,
      });
    },
  );

  test('pods choose nothing as long as the operator does not let them', () => {
    const node = new NodeDriver(TWO_NODES);
    node.podsSay.set('e', {
      annotations: { 'cpusetd.io/policy': 'exclusive' },
      cgroupParent: '/kubepods/burstable/pode',
    });
    node.run('ask e/a 2');
    expect(node.reply).toBe('cpus 0-7');
    expect(node.reported.map((event) => 'because' in event && event.because)).toContain(
      'the operator does not let pods choose exclusive here (--pod-policies)',
    );
  });
});

test('quotas are lifted only where CPUs are owned alone', () => {
  const node = nodeOf({ liftCpuQuota: true });
  expect(['ask e/a 1', 'ask i/a 1', 'ask n/a 1'].map((step) => node.run(step).reply)).toEqual([
    'cpus 1 quota -1',
    'cpus 2',
    'cpus 2-3',
  ]);
});

test('a numa container is moved off before the exclusive one is answered, and back when that is gone', () => {
  const node = nodeOf().run('make n/a 2; ask e/a 2');
  expect(node.movesMade).toBe('n/a#1 1-3>3');
  expect(node.moves[0]?.because).toBe('what is shared on its NUMA nodes changed');
  node.run('end e/a; stop e');
  expect(show(node)).toBe('n/a 1-3');
});

test('CPUs of a numa container’s nodes that go offline and come back', () => {
  const node = nodeOf().run('make n/a 2; make w/a 0');
  node.setTopology(without(TWO_NODES, '1-3'));
  expect(show(node)).toBe('n/a 0; w/a 0,4-7');
  node.setTopology(TWO_NODES);
  expect(show(node)).toBe('n/a 1-3; w/a 0-7');
});

describe('state was lost', () => {
  const live = (of: Readonly<Record<string, string>>) =>
    new Map(Object.entries(of).map(([id, list]) => [id, cpus(list)]));

  test.each`
    name                                                | asks               | live                                  | said                                     | where
    ${'exclusive, immovable: they stay where they are'} | ${'e/a 2; i/a 1'}  | ${{ 'e/a#1': '5-6', 'i/a#1': '3' }}   | ${{}}                                    | ${'e/a 5-6; i/a 3'}
    ${'two immovable ones on the same CPU: one moves'}  | ${'i/a 1; i2/a 1'} | ${{ 'i/a#1': '3', 'i2/a#1': '3' }}    | ${{}}                                    | ${'i/a 3; i2/a 1'}
    ${'what a pod shares it shares again'}              | ${'e/a 2; e/b 1'}  | ${{ 'e/a#1': '5-7', 'e/b#1': '5-7' }} | ${{ e: { result: [0, 3], podCpus: 3 } }} | ${'e/a 5-7; e/b 5-7'}
    ${'not what the scheduler did not choose'}          | ${'e/a 2; e/b 1'}  | ${{ 'e/a#1': '3-5', 'e/b#1': '3-5' }} | ${{ e: { result: [0, 3], podCpus: 3 } }} | ${'e/a 4-6; e/b 4-6'}
    ${'a numa container is placed anew'}                | ${'n/a 2'}         | ${{ 'n/a#1': '4-7' }}                 | ${{}}                                    | ${'n/a 1-3'}
    ${'nothing is left for a follower: it shares'}      | ${'e/a 3; n/a 1'}  | ${{ 'e/a#1': '1-3', 'n/a#1': '0-7' }} | ${{ n: { result: [1, 0], podCpus: 1 } }} | ${'e/a 1-3; n/a 0,4-7'}
  `(
    '$name',
    ({
      asks,
      live: seen,
      said,
      where,
    }: {
      asks: string;
      live: Record<string, string>;
      said: Record<string, Said>;
      where: string;
    }) => {
      const node = nodeOf({}, said);
      const all = asks.split(';').map((ask) => {
        const target = ask.trim().split(' ')[0]!;
        node.run(`know ${ask.trim()}`);
        return node.infoOf(target);
      });
      node.send(
        {
          kind: 'synchronize',
          pods: all.map(({ pod }) => pod),
          containers: all.map(({ container }) => ({ ...container, phase: 'running' })),
        },
        live(seen),
      );
      expect(show(node)).toBe(where);
    },
  );

  test('who happens to sit on all that a follower has does not stay there', () => {
    const node = nodeOf().run('make n/a 2; know e/a 3');
    const all = [node.infoOf('n/a'), node.infoOf('e/a')];
    node.send(
      {
        kind: 'synchronize',
        pods: all.map(({ pod }) => pod),
        containers: all.map(({ container }) => ({ ...container, phase: 'running' })),
      },
      live({ 'n/a#1': '1-3', 'e/a#1': '1-3' }),
    );
    expect(show(node)).toBe('n/a 3; e/a 1-2,4');
  });

  test('a quota that was lifted does not hide who was entitled', () => {
    const node = nodeOf().run('know e/a 2');
    const { pod, container } = node.infoOf('e/a');
    const lifted = { ...container.resources, quotaUs: -1 };
    node.send(
      { kind: 'synchronize', pods: [pod], containers: [{ ...container, phase: 'running', resources: lifted }] },
      live({ 'e/a#1': '5-6' }),
    );
    expect(show(node)).toBe('e/a 5-6');
  });
});
