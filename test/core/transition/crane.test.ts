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

interface Annotated {
  /** The choice of the scheduler, by NUMA node; only with `podCpus`. */
  readonly result?: readonly number[];
  readonly podCpus?: number;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Pods are Burstable and choose their policy by the first letter of their name; `s` is Guaranteed and chooses none. */
function nodeOf(rules: Rules = {}, annotated: Readonly<Record<string, Annotated>> = {}): NodeDriver {
  const node = new NodeDriver(TWO_NODES, { podPolicies: POLICY_NAMES, ...rules });
  for (const uid of ['e', 'e2', 'i', 'i2', 'n', 'n2', 'n3', 'o', 's', 'w']) {
    const { result, podCpus, annotations = {} } = annotated[uid] ?? {};
    const policy = POLICY_OF[uid[0]!];
    const zones = result?.map((cpu, id) => ({
      name: `node${id}`,
      type: 'Node',
      resources: { capacity: { cpu: `${cpu}` } },
    }));
    node.podFields.set(uid, {
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

/** The promised CPUs of each container: `e/a 1-2; n/a 3`. */
function show(node: NodeDriver): string {
  return [...node.model.containers.values()]
    .map(({ podUid, name, promise }) => `${podUid}/${name} ${promise?.cpus.toString() ?? 'anywhere'}`)
    .join('; ');
}

describe('each policy, and the CPUs that it leaves to others', () => {
  test.each`
    name                                                                   | history                                      | where
    ${'none shares everything'}                                            | ${'make o/a 2; make w/a 0'}                  | ${'o/a 0-7; w/a 0-7'}
    ${'exclusive gets CPUs alone, also in a Burstable pod'}                | ${'make w/a 0; make e/a 2'}                  | ${'w/a 0,3-7; e/a 1-2'}
    ${'numa shares its node without reserved CPUs'}                        | ${'make w/a 0; make n/a 2'}                  | ${'w/a 0-7; n/a 1-3'}
    ${'immovable has fixed CPUs, which shared containers use too'}         | ${'make w/a 0; make i/a 2'}                  | ${'w/a 0-7; i/a 1-2'}
    ${'numa and immovable have CPUs in common'}                            | ${'make i/a 2; make n/a 1'}                  | ${'i/a 1-2; n/a 1-3'}
    ${'numa shrinks when an exclusive container comes'}                    | ${'make n/a 2; make e/a 2'}                  | ${'n/a 3; e/a 1-2'}
    ${'numa grows when the exclusive container goes'}                      | ${'make n/a 2; make e/a 2; end e/a; stop e'} | ${'n/a 1-3'}
    ${'numa does not grow while the pod may come back'}                    | ${'make n/a 2; make e/a 2; end e/a'}         | ${'n/a 3'}
    ${'numa shrinks when a static container comes'}                        | ${'make n/a 2; make s/a 2'}                  | ${'n/a 3; s/a 1-2'}
    ${'exclusive never takes immovable CPUs'}                              | ${'make i/a 2; make e/a 5'}                  | ${'i/a 1-2; e/a 3-7'}
    ${'static never takes immovable CPUs'}                                 | ${'make i/a 3; make s/a 2'}                  | ${'i/a 1-3; s/a 4-5'}
    ${'immovable never takes the CPUs of another immovable container'}     | ${'make i/a 2; make i2/a 2'}                 | ${'i/a 1-2; i2/a 3-4'}
    ${'immovable never takes exclusive CPUs'}                              | ${'make e/a 2; make s/a 1; make i/a 2'}      | ${'e/a 1-2; s/a 3; i/a 4-5'}
    ${'immovable may take all CPUs that are not reserved'}                 | ${'make i/a 7; make w/a 0'}                  | ${'i/a 1-7; w/a 0-7'}
    ${'exclusive leaves at least one CPU to numa'}                         | ${'make n/a 2; make e/a 3'}                  | ${'n/a 3; e/a 1-2,4'}
    ${'exclusive leaves one CPU to numa when it asks for all but one'}     | ${'make n/a 2; make e/a 6'}                  | ${'n/a 3; e/a 1-2,4-7'}
    ${'exclusive may leave an immovable CPU to numa'}                      | ${'make i/a 1; make n/a 2; make e/a 6'}      | ${'i/a 1; n/a 1; e/a 2-7'}
    ${'without a scheduler two containers of a pod get CPUs of their own'} | ${'make e/a 2; make e/b 1'}                  | ${'e/a 1-2; e/b 3'}
    ${'a request of a fraction shares, whatever policy its pod chose'}     | ${'make e/a 0.5; make n/a 1.5; make i/a 0'}  | ${'e/a 0-7; n/a 0-7; i/a 0-7'}
    ${'numa: the next container goes to the node with room'}               | ${'make n/a 2; make n2/a 2'}                 | ${'n/a 1-3; n2/a 4-7'}
    ${'numa: immovable CPUs count as less room'}                           | ${'make i/a 2; make n/a 2'}                  | ${'i/a 1-2; n/a 4-7'}
    ${'numa: a request for more than one node has gets two'}               | ${'make n/a 5'}                              | ${'n/a 1-7'}
    ${'numa: a pod stays together'}                                        | ${'make n/a 1; make n2/a 3; make n/b 2'}     | ${'n/a 1-3; n2/a 4-7; n/b 1-3'}
    ${'numa: when no node has room, the emptiest node'}                    | ${'make n/a 3; make n2/a 3; make n3/a 2'}    | ${'n/a 1-3; n2/a 4-7; n3/a 4-7'}
  `('$name', ({ history, where }: { history: string; where: string }) => {
    expect(show(nodeOf().run(history))).toBe(where);
  });
});

describe('given a request that does not fit, then it is refused with the reason', () => {
  test.each`
    name                                                             | history                      | because
    ${'the last shared CPU of a numa container'}                     | ${'make n/a 2; make e/a 7'}  | ${/6 can be given now.*containers that share the CPUs of a NUMA node keep at least one there/}
    ${'immovable CPUs are not free'}                                 | ${'make i/a 3; make e/a 5'}  | ${/asked for 5 exclusive CPUs, 4 can be given now: 4 of 7 allocatable/}
    ${'immovable CPUs are not free for another immovable container'} | ${'make i/a 3; make i2/a 5'} | ${/asked for 5 fixed CPUs, 4 can be given now: 4 of 7 allocatable/}
    ${'no shared CPU is left for numa'}                              | ${'make e/a 7; make n/a 1'}  | ${/asked for 1 CPU of few NUMA nodes; all nodes together share 0/}
    ${'numa asks for more than there is'}                            | ${'make e/a 3; make n/a 5'}  | ${/all nodes together share 4/}
  `('$name', ({ history, because }: { history: string; because: RegExp }) => {
    const node = nodeOf().run(history);
    expect(node.answer).toEqual({
      kind: 'refuse',
      code: 'RESOURCE_EXHAUSTED',
      message: expect.stringMatching(because),
    });
  });

  test('when on-insufficient-cpu is share, then it shares', () => {
    expect(show(nodeOf({ onInsufficientCpu: 'share' }).run('make e/a 7; make n/a 1'))).toBe('e/a 1-7; n/a 0');
  });
});

describe('given a container that is created again', () => {
  test.each`
    name                                                      | history                                           | where
    ${'exclusive gets its own CPUs again'}                    | ${'make e/a 2; end e/a; make s/a 2; make e/a 2'}  | ${'s/a 3-4; e/a 1-2'}
    ${'immovable gets its own CPUs again'}                    | ${'make i/a 2; end i/a; make i2/a 2; make i/a 2'} | ${'i2/a 3-4; i/a 1-2'}
    ${'immovable gets idle CPUs of its pod first'}            | ${'make i2/a 2; make i/a 3; end i/a; make i/b 2'} | ${'i2/a 1-2; i/b 3-4'}
    ${'numa gets its own node again'}                         | ${'make n/a 2; end n/a; make i/a 2; make n/a 3'}  | ${'i/a 1-2; n/a 1-3'}
    ${'a failed creation leaves nothing of a numa container'} | ${'ask n/a 2; end n/a; make e/a 7'}               | ${'e/a 1-7'}
    ${'a resize of an exclusive container keeps its CPUs'}    | ${'make e/a 2; make i/a 1; resize e/a 3'}         | ${'e/a 1-2,4; i/a 3'}
    ${'a resize of an immovable container keeps its CPUs'}    | ${'make i/a 3; make e/a 1; resize i/a 2'}         | ${'i/a 1-2; e/a 4'}
    ${'a resize to a fraction of a CPU shares'}               | ${'make i/a 3; resize i/a 1.5; make e/a 7'}       | ${'i/a 0; e/a 1-7'}
  `('$name', ({ history, where }: { history: string; where: string }) => {
    expect(show(nodeOf().run(history))).toBe(where);
  });

  test('when its pod has another policy, then that decides, and CPUs of the old policy are free for it', () => {
    const node = nodeOf().run('make i/a 7; end i/a; stop i');
    node.run('pod i sandbox-2; make i/a 7; end i/a');
    node.podFields.set('i', {
      annotations: { 'cpusetd.io/policy': 'exclusive' },
      cgroupParent: '/kubepods/burstable/podi',
    });
    expect(show(node.run('make i/a 7; make w/a 0'))).toBe('i/a 1-7; w/a 0');
    node.podFields.set('i', { annotations: { 'cpusetd.io/policy': 'numa' }, cgroupParent: '/kubepods/burstable/podi' });
    expect(show(node.run('end i/a; make i/a 2'))).toBe('w/a 0-7; i/a 1-3');
  });
});

describe('given a choice of the scheduler', () => {
  const chosen = (uid: string, result: readonly number[], podCpus = 8, rules: Rules = {}): NodeDriver =>
    nodeOf(rules, { [uid]: { result, podCpus } });

  test.each`
    name                                                                       | uid    | result    | history                                             | where
    ${'exclusive gets the chosen number of each node, packed'}                 | ${'e'} | ${[2, 1]} | ${'make e/a 3'}                                     | ${'e/a 1-2,4'}
    ${'exclusive: all containers of the pod share the CPUs'}                   | ${'e'} | ${[0, 3]} | ${'make e/a 2; make e/b 1; make w/a 0'}             | ${'e/a 4-6; e/b 4-6; w/a 0-3,7'}
    ${'exclusive: a container that is created again shares them too'}          | ${'e'} | ${[0, 3]} | ${'make e/a 2; make e/b 1; end e/a; make e/a 2'}    | ${'e/b 4-6; e/a 4-6'}
    ${'exclusive: when all containers are created again, they share them too'} | ${'e'} | ${[0, 3]} | ${'make e/a 2; end e/a; make s/a 4; make e/b 1'}    | ${'s/a 1-3,7; e/b 4-6'}
    ${'exclusive: a container that asks for a fraction does not share them'}   | ${'e'} | ${[0, 2]} | ${'make e/a 2; make e/b 0.5'}                       | ${'e/a 4-5; e/b 0-3,6-7'}
    ${'exclusive: the CPUs stay with the pod until it goes'}                   | ${'e'} | ${[0, 3]} | ${'make e/a 2; make e/b 1; end e/a; make w/a 0'}    | ${'e/b 4-6; w/a 0-3,7'}
    ${'exclusive: the CPUs are free after the pod has gone'}                   | ${'e'} | ${[0, 3]} | ${'make e/a 2; end e/a; stop e; make w/a 0'}        | ${'w/a 0-7'}
    ${'immovable gets the same CPUs, but not alone'}                           | ${'i'} | ${[1, 2]} | ${'make i/a 2; make i/b 1; make w/a 0; make e/a 2'} | ${'i/a 1,4-5; i/b 1,4-5; w/a 0-1,4-7; e/a 2-3'}
    ${'numa gets the nodes, whatever the count'}                               | ${'n'} | ${[0, 2]} | ${'make n/a 1; make n/b 1'}                         | ${'n/a 4-7; n/b 4-7'}
    ${'numa gets several nodes'}                                               | ${'n'} | ${[1, 1]} | ${'make n/a 2'}                                     | ${'n/a 1-7'}
    ${'a choice of no CPUs shares'}                                            | ${'e'} | ${[0, 0]} | ${'make e/a 2'}                                     | ${'e/a 0-7'}
    ${'a container that is created after a resize of another one shares them'} | ${'e'} | ${[0, 3]} | ${'make e/a 2; resize e/a 1; make e/b 2'}           | ${'e/a 4-6; e/b 4-6'}
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

  test('when it is more than the pod asks for, then it is ignored and the container gets CPUs of its own', () => {
    const node = chosen('e', [3, 4], 2).run('make e/a 2');
    expect(show(node)).toBe('e/a 1-2');
    const ignored = chosen('e', [3, 4], 2)
      .run('ask e/a 2')
      .reported.find(({ kind }) => kind === 'annotation-ignored');
    expect(ignored).toMatchObject({
      subject: { container: 'a' },
      annotation: 'topology.crane.io/topology-result',
      because: expect.stringContaining('names 7 in all, but the pod asks for 2') as string,
    });
  });

  test('when a new sandbox has another choice, then the container gets the new one', () => {
    const node = chosen('e', [0, 3]).run('make e/a 2; end e/a');
    const { annotations } = chosen('e', [2, 0]).podFields.get('e')!;
    node.podFields.set('e', { ...node.podFields.get('e'), annotations: annotations! });
    expect(show(node.run('pod e sandbox-2; make e/a 2'))).toBe('e/a 1-2');
  });

  test('when another container of the pod still runs on the CPUs, then they are not free for a container of another policy', () => {
    const node = chosen('e', [0, 3]).run('make e/a 2; make e/b 1; end e/a');
    const annotations = { 'cpusetd.io/policy': 'exclusive', 'policy.cpusetd.io/container.a': 'immovable' };
    node.podFields.set('e', { ...node.podFields.get('e'), annotations });
    expect(show(node.run('make e/a 4'))).toBe('e/b 4-6; e/a 1-3,7');
  });

  test('when the policy is static, then each container gets CPUs of its own from it', () => {
    expect(show(chosen('s', [0, 3], 3).run('make s/a 2; make s/b 1'))).toBe('s/a 4-5; s/b 6');
  });

  test('when a CPU of the set is reserved since, then a container that joins does not get it', () => {
    const node = chosen('e', [3, 0]).run('make e/a 2');
    node.setRules({ podPolicies: POLICY_NAMES, reserved: '0-1' });
    expect(show(node.run('make e/b 1'))).toBe('e/a 1-3; e/b 2-3');
  });
});

describe('exclude-reserved-cpus', () => {
  const annotated = { w: { annotations: { 'topology.crane.io/exclude-reserved-cpus': 'true' } } };
  test.each`
    name                                                                           | rules                           | history                     | where
    ${'keeps a shared container off reserved CPUs'}                                | ${{}}                           | ${'make w/a 0; make o/a 0'} | ${'w/a 1-7; o/a 0-7'}
    ${'keeps it off reserved CPUs when the pool shrinks'}                          | ${{}}                           | ${'make w/a 0; make s/a 3'} | ${'w/a 4-7; s/a 1-3'}
    ${'is not followed when only reserved CPUs are left'}                          | ${{}}                           | ${'make w/a 0; make s/a 7'} | ${'w/a 0; s/a 1-7'}
    ${'keeps it off reserved CPUs under policy none, where others are left alone'} | ${{ cpuManagerPolicy: 'none' }} | ${'make w/a 0; make s/a 0'} | ${'w/a 1-7; s/a anywhere'}
  `('$name', ({ rules, history, where }: { rules: Rules; history: string; where: string }) => {
    expect(show(nodeOf(rules, annotated).run(history))).toBe(where);
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
  `(
    '$policy decides for containers whose pod chose no policy',
    ({ policy, where }: { policy: PolicyName; where: string }) => {
      expect(show(nodeOf({ cpuManagerPolicy: policy }).run('make w/a 2; make s/a 2'))).toBe(where);
    },
  );

  const others = (from: PolicyName) => POLICY_NAMES.filter((to) => to !== from).map((to) => ({ from, to }));
  test.each((['static', 'exclusive', 'numa', 'immovable'] as const).flatMap(others))(
    'from $from to $to: a running container keeps its CPUs, and is shown as held',
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

  test('given pods that may not choose, then the annotation is ignored and reported', () => {
    const node = new NodeDriver(TWO_NODES);
    node.podFields.set('e', {
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

test('given lift-cpu-quota, then quotas are lifted only for exclusive CPUs', () => {
  const node = nodeOf({ liftCpuQuota: true });
  expect(['ask e/a 1', 'ask i/a 1', 'ask n/a 1'].map((step) => node.run(step).reply)).toEqual([
    'cpus 1 quota -1',
    'cpus 2',
    'cpus 2-3',
  ]);
});

test('given a numa container, then it is moved before an exclusive creation is answered, and back after its end', () => {
  const node = nodeOf().run('make n/a 2; ask e/a 2');
  expect(node.movesMade).toBe('n/a#1 1-3>3');
  expect(node.moves[0]?.because).toBe('what is shared on its NUMA nodes changed');
  node.run('end e/a; stop e');
  expect(show(node)).toBe('n/a 1-3');
});

test('given CPUs of a numa container that go offline and come back, then its set follows', () => {
  const node = nodeOf().run('make n/a 2; make w/a 0');
  node.setTopology(without(TWO_NODES, '1-3'));
  expect(show(node)).toBe('n/a 0; w/a 0,4-7');
  node.setTopology(TWO_NODES);
  expect(show(node)).toBe('n/a 1-3; w/a 0-7');
});

describe('given a lost state', () => {
  const live = (annotations: Readonly<Record<string, string>>) =>
    new Map(Object.entries(annotations).map(([id, list]) => [id, cpus(list)]));

  test.each`
    name                                                                   | asks               | live                                  | annotated                                | where
    ${'exclusive and immovable containers keep the CPUs that they run on'} | ${'e/a 2; i/a 1'}  | ${{ 'e/a#1': '5-6', 'i/a#1': '3' }}   | ${{}}                                    | ${'e/a 5-6; i/a 3'}
    ${'of two immovable containers on the same CPU one moves'}             | ${'i/a 1; i2/a 1'} | ${{ 'i/a#1': '3', 'i2/a#1': '3' }}    | ${{}}                                    | ${'i/a 3; i2/a 1'}
    ${'a set of a pod is shared again'}                                    | ${'e/a 2; e/b 1'}  | ${{ 'e/a#1': '5-7', 'e/b#1': '5-7' }} | ${{ e: { result: [0, 3], podCpus: 3 } }} | ${'e/a 5-7; e/b 5-7'}
    ${'a set that the scheduler did not choose is not shared again'}       | ${'e/a 2; e/b 1'}  | ${{ 'e/a#1': '3-5', 'e/b#1': '3-5' }} | ${{ e: { result: [0, 3], podCpus: 3 } }} | ${'e/a 4-6; e/b 4-6'}
    ${'a numa container is placed again'}                                  | ${'n/a 2'}         | ${{ 'n/a#1': '4-7' }}                 | ${{}}                                    | ${'n/a 1-3'}
    ${'a numa container without a shared CPU on its nodes shares'}         | ${'e/a 3; n/a 1'}  | ${{ 'e/a#1': '1-3', 'n/a#1': '0-7' }} | ${{ n: { result: [1, 0], podCpus: 1 } }} | ${'e/a 1-3; n/a 0,4-7'}
  `(
    '$name',
    ({
      asks,
      live: seen,
      annotated,
      where,
    }: {
      asks: string;
      live: Record<string, string>;
      annotated: Record<string, Annotated>;
      where: string;
    }) => {
      const node = nodeOf({}, annotated);
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

  test('when a container runs on all CPUs of a numa container, then it is moved', () => {
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

  test('when a quota was lifted, then the container still counts as entitled', () => {
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
