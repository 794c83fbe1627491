import type { PodSpec } from '../../../src/core/model/pod-spec';
import { POLICY_NAMES } from '../../../src/core/model/policies';
import { buildTopology } from '../../../src/core/topology';
import { findBrokenSets } from '../../support/invariants';
import { specOf } from '../../support/spec-of';
import { EIGHT_CPUS, machineOf, NodeDriver, podOf, type Rules } from './node-driver';

/** Nine CPUs, one of them reserved: eight can be given out. */
const NINE_CPUS = machineOf(9, 1);

/** A node that has synchronized with a runtime without containers. */
function emptyNode(topology = NINE_CPUS, rules: Rules = {}): NodeDriver {
  const node = new NodeDriver(topology, { podPolicies: POLICY_NAMES, ...rules });
  node.send({ kind: 'synchronize', pods: [], containers: [] });
  return node;
}

function sendSpecs(node: NodeDriver, ...specs: readonly PodSpec[]): NodeDriver {
  for (const spec of specs) {
    node.podFields.set(spec.uid, { annotations: spec.annotations });
    node.send({ kind: 'pod-spec', spec });
  }
  return node;
}

const free = (node: NodeDriver): number => node.model.free.size;

describe('given the spec of a pod, then CPUs are planned for it', () => {
  test.each`
    name                                                                | containers                                | state
    ${'each container gets its own'}                                    | ${'a 2, b 1'}                             | ${'p/a 1-2 idle; p/b 3 idle; pool 0,4-8'}
    ${'app containers get the CPUs of the init containers before them'} | ${'i init 4, a 2, b 2'}                   | ${'p/i 1-4 idle; pool 0,5-8'}
    ${'app containers get more when they need more'}                    | ${'i init 2, a 4'}                        | ${'p/a 3-4 idle; p/i 1-2 idle; pool 0,5-8'}
    ${'a sidecar keeps its own'}                                        | ${'s sidecar 1, i init 2, j init 3, a 2'} | ${'p/i 2-3 idle; p/j 4 idle; p/s 1 idle; pool 0,5-8'}
    ${'a container that is not entitled gets none'}                     | ${'a 0.5, b 0'}                           | ${'pool 0-8'}
    ${'a container that has ended gets none'}                           | ${'i init 4!, a 2'}                       | ${'p/a 1-2 idle; pool 0,3-8'}
    ${'an init container before an ended app container gets none'}      | ${'i init 4, a 2!, b 1'}                  | ${'p/b 1 idle; pool 0,2-8'}
    ${'a pod that does not fit as a whole gets none'}                   | ${'a 4, b 5'}                             | ${'pool 0-8'}
  `('$name: $containers', ({ containers, state }: Record<'containers' | 'state', string>) => {
    const node = sendSpecs(emptyNode(), specOf('p', containers));
    expect(node.state).toBe(state);
    expect(findBrokenSets(node.model)).toEqual([]);
  });

  test('when the pod has finished, then none are planned', () => {
    expect(sendSpecs(emptyNode(), specOf('p', 'a 2', { finished: true })).state).toBe('pool 0-8');
  });

  test('when it comes before the runtime has synchronized, then CPUs are planned at the synchronization', () => {
    const node = new NodeDriver(NINE_CPUS);
    node.send({ kind: 'pod-specs', specs: [specOf('p', 'a 2')] });
    expect(node.state).toBe('pool 0-8');
    node.send({ kind: 'synchronize', pods: [], containers: [] });
    expect(node.state).toBe('p/a 1-2 idle; pool 0,3-8');
  });

  test('when it comes again, then nothing is saved, and its containers get the planned CPUs with the same reason', () => {
    const node = sendSpecs(emptyNode(), specOf('p', 'i init 2, a 4'));
    node.send({ kind: 'pod-spec', spec: specOf('p', 'i init 2, a 4') });
    expect([node.isDurable, node.reported]).toEqual([false, []]);
    expect(node.run('ask p/i 2').reply).toBe('cpus 1-2');
    expect(node.model.assignments.get('p/i')).toMatchObject({ because: '2 exclusive CPUs, free on the node' });
    expect(node.model.assignments.get('p/i')?.planned).toBeUndefined();
    sendSpecs(node, specOf('p', 'i init 2, a 4')).run('start p/i; make q/x 3; end p/i');
    sendSpecs(node, specOf('p', 'i init 2!, a 4'));
    expect(node.run('make p/a 4').state).toBe('p/a 1-4; q/x 5-7; pool 0,8');
  });

  test('then other containers of the pod do not take planned CPUs over', () => {
    const node = sendSpecs(emptyNode(), specOf('p', 'i init 2, a 3, b 3')).run(
      'make p/i 2; end p/i; make p/b 3; make p/a 3',
    );
    expect(node.state).toBe('p/a 1-3; p/b 4-6; pool 0,7-8');
  });

  test('when a creation fails, then the CPUs stay planned', () => {
    const node = sendSpecs(emptyNode(), specOf('p', 'a 4, b 4')).run('ask p/a 4; end p/a');
    expect(node.state).toBe('p/a 1-4 idle; p/b 5-8 idle; pool 0');
    expect(node.run('make p/a 4; make p/b 4').state).toBe('p/a 1-4; p/b 5-8; pool 0');
  });

  test('when the scheduler chose CPUs for the pod, then they are planned once, for all of its containers', () => {
    const annotations = {
      'cpusetd.io/policy': 'exclusive',
      'topology.crane.io/topology-result': '[{"name":"node0","type":"Node","resources":{"capacity":{"cpu":"3"}}}]',
    };
    const node = sendSpecs(emptyNode(), specOf('p', 'a 2, b 1', { annotations }));
    expect(node.state).toBe('p/a 1-3 idle; pool 0,4-8');
    expect(node.run('make p/b 1; make p/a 2').state).toBe('p/a 1-3; p/b 1-3; pool 0,4-8');
  });

  test.each`
    policy         | state
    ${'exclusive'} | ${'p/a 1-2 idle; pool 0,3-8'}
    ${'immovable'} | ${'p/a 1-2 idle; pool 0-8'}
    ${'numa'}      | ${'pool 0-8'}
    ${'none'}      | ${'pool 0-8'}
  `('when the policy is $policy, then $state', ({ policy, state }: Record<'policy' | 'state', string>) => {
    const node = sendSpecs(emptyNode(), specOf('p', 'a 2', { annotations: { 'cpusetd.io/policy': policy } }));
    expect(node.state).toBe(state);
    expect(free(node)).toBe(state === 'pool 0-8' && policy !== 'immovable' ? 8 : 6);
  });
});

describe('given a planned pod whose spec changes before its containers are created', () => {
  test.each`
    name                                        | more                                                     | state
    ${'asks for more'}                          | ${{ containers: specOf('p', 'a 3, b 2').containers }}    | ${'p/a 1-2,5 idle; p/b 3-4 idle; pool 0,6-8'}
    ${'asks for less'}                          | ${{ containers: specOf('p', 'a 1, b 2').containers }}    | ${'p/a 1 idle; p/b 3-4 idle; pool 0,2,5-8'}
    ${'asks for more than there is'}            | ${{ containers: specOf('p', 'a 7, b 2').containers }}    | ${'pool 0-8'}
    ${'asks for none'}                             | ${{ annotations: { 'cpusetd.io/policy': 'none' } }}      | ${'pool 0-8'}
    ${'asks for none for one container'}             | ${{ annotations: { 'policy.cpusetd.io/container.a': 'none' } }} | ${'p/b 3-4 idle; pool 0-2,5-8'}
    ${'has finished: the kubelet refused it'}   | ${{ finished: true }}                                    | ${'pool 0-8'}
  `('$name', ({ more, state }: { more: Partial<PodSpec>; state: string }) => {
    const node = sendSpecs(emptyNode(), specOf('p', 'a 2, b 2'));
    sendSpecs(node, specOf('p', 'a 2, b 2', more));
    expect(node.state).toBe(state);
  }); // prettier-ignore
});

test.each([true, false])(
  'given a forged mirror (reported: %s), then nothing is planned for the other pod, and it loses nothing',
  (isReported) => {
    const node = emptyNode();
    if (isReported) sendSpecs(node, specOf('p', 'a 2'));
    else node.run('make p/a 2; end p/a');
    const before = node.state;
    const annotations = { 'kubernetes.io/config.mirror': 'x', 'kubernetes.io/config.hash': 'p' };
    for (const containers of ['a 3', 'a 0', 'b 1'])
      node.send({ kind: 'pod-spec', spec: specOf('forged', containers, { name: 'evil', annotations }) });
    expect(node.state).toBe(before);
    node.send({ kind: 'pod-spec-gone', uid: 'forged' });
    expect(node.state).toBe(before);
  },
);

describe('given two pods of 4 + 4 CPUs on 8', () => {
  const x = specOf('x', 'a 4, b 4');
  const y = specOf('y', 'a 4, b 4');
  const ALL_OF_X = 'x/a 1-4; x/b 5-8; pool 0';

  test('when both are known before, then the first gets all CPUs, and the other none until the first goes', () => {
    const node = sendSpecs(emptyNode(), x, y).run('make y/a 4');
    expect(node.answer).toMatchObject({ kind: 'refuse', code: 'RESOURCE_EXHAUSTED' });
    expect(node.run('make x/a 4; make y/b 4; make x/b 4; make y/a 4').state).toBe(ALL_OF_X);
    node.run('end x/a; end x/b; stop x');
    node.send({ kind: 'pod-spec-gone', uid: 'x' });
    expect(node.state).toBe('y/a 1-4 idle; y/b 5-8 idle; pool 0');
    expect(node.run('make y/a 4; make y/b 4').state).toBe('y/a 1-4; y/b 5-8; pool 0');
  });

  test('when no CPU is free, then the pod that was queued first is planned first', () => {
    const node = sendSpecs(emptyNode().run('make w/w 8'), y, x);
    expect(node.state).toBe('w/w 1-8; pool 0');
    expect(node.run('end w/w; stop w').state).toBe('y/a 1-4 idle; y/b 5-8 idle; pool 0');
  });

  test('when a creation comes before the plan, then it plans the whole pod', () => {
    const node = new NodeDriver(NINE_CPUS); // not synchronized: the spec alone plans nothing
    sendSpecs(node, x, y).run('make x/a 4; make y/a 4');
    expect(node.state).toBe('x/a 1-4; x/b 5-8 idle; pool 0');
    expect(node.run('make y/b 4; make x/b 4').state).toBe(ALL_OF_X);
  });

  test.each(['a', 'b'])(
    'given a pod that does not fit, then its container %s is refused, and the one that does not fit is named',
    (name) => {
      const node = sendSpecs(emptyNode().run('make w/w 1'), x).run(`make x/${name} 4`);
      expect(node.state).toBe('w/w 1; pool 0,2-8');
      expect(node.answer).toEqual({
        kind: 'refuse',
        code: 'RESOURCE_EXHAUSTED',
        message:
          'the containers of a pod get their CPUs together, and container b of this one does not fit beside the others: asked ' +
          'for 4 exclusive CPUs, 3 can be given now: 3 of 8 allocatable CPUs are free, 1 of 9 online CPUs is reserved',
      });
      expect(node.reported).toEqual([]);
    },
  );

  test('given a container that does not fit alone, then it is refused with its own reason', () => {
    const node = sendSpecs(emptyNode().run('make w/w 6'), x).run('make x/a 4');
    expect(node.answer).toMatchObject({
      message: expect.stringMatching(/^asked for 4 exclusive CPUs, 2 can be given/),
    });
  });

  test('given on-insufficient-cpu share, then a container that does not fit shares, and the others get their CPUs', () => {
    const node = sendSpecs(emptyNode(NINE_CPUS, { onInsufficientCpu: 'share' }).run('make w/w 1'), x);
    expect(node.state).toBe('w/w 1; x/a 2-5 idle; pool 0,6-8');
    expect(node.run('make x/a 4; make x/b 4').state).toBe('w/w 1; x/a 2-5; pool 0,6-8');
    expect(node.container('x/b')).toMatchObject({ placement: 'shared' });
  });

  test('given no API server, then each container is decided on alone', () => {
    const node = emptyNode().run('make x/a 4; make y/a 4; make x/b 4; make y/b 4');
    expect(node.state).toBe('x/a 1-4; y/a 5-8; pool 0');
  });
});

test('given full-pcpus-only, then a container that asks for half a core leaves its whole pod without CPUs, and is named', () => {
  const node = sendSpecs(emptyNode(EIGHT_CPUS, { options: { fullPcpusOnly: true } }), specOf('p', 'a 2, b 1')).run(
    'make p/a 2',
  );
  expect(node.answer).toMatchObject({
    code: 'FAILED_PRECONDITION',
    message: expect.stringMatching(/container b .* whole cores/),
  });
});

test('given a pod of more containers than one transaction decides on, then they are decided on one by one', () => {
  const many = Array.from({ length: 33 }, (_, i) => `c${i} 1`).join(',');
  const node = sendSpecs(emptyNode(machineOf(101, 1)), specOf('p', many));
  expect(node.model.assignments.size).toBe(0);
  expect(node.run('make p/c0 1').state).toBe('p/c0 1; pool 0,2-100');
});

test('given many pods at once, then each transaction plans some of them, and none twice', () => {
  const node = emptyNode(machineOf(201, 1));
  const specs = Array.from({ length: 100 }, (_, i) => specOf(`p${String(i).padStart(3, '0')}`, 'a 1, b 1'));
  node.send({ kind: 'pod-specs', specs });
  expect(node.model.assignments.size).toBe(32);
  expect([...node.model.unplanned.keys()]).toHaveLength(84);
});

describe('given topology-manager-scope pod and single-numa-node', () => {
  /** Two NUMA nodes of eight CPUs; CPU 0 is reserved. */
  const topology = buildTopology({
    cpus: Array.from({ length: 16 }, (_, id) => {
      return { id, core: id, numaNode: id >> 3, socket: id >> 3, uncoreCache: id >> 3 };
    }),
  });
  const topologyManager = {
    policy: 'single-numa-node',
    scope: 'pod',
    options: { preferClosestNumaNodes: false, maxAllowableNumaNodes: 8 },
  } as const;
  const aligned = (): NodeDriver => emptyNode(topology, { topologyManager });
  const nodesOf = (node: NodeDriver, key: `${string}/${string}`): number[] =>
    topology.numaNodes.filter(({ cpus }) => cpus.overlaps(node.model.assignments.get(key)!.cpus)).map(({ id }) => id);

  test('then a planned pod has CPUs of one node', () => {
    const node = sendSpecs(aligned().run('make w/w 5'), specOf('p', 'a 4, b 4')).run('make p/a 4; make p/b 4');
    expect([...nodesOf(node, 'p/a'), ...nodesOf(node, 'p/b')]).toEqual([1, 1]);
  });

  test('then a container whose pod was not planned at its first one stays on its node, once the spec is known', () => {
    const node = aligned().run('make p/a 4');
    expect(nodesOf(node, 'p/a')).toEqual([0]);
    sendSpecs(node, specOf('p', 'a 4, b 4'));
    expect(node.run('make p/b 4').answer).toMatchObject({
      kind: 'refuse',
      message: expect.stringMatching(/topology-manager-policy single-numa-node: cpu does not fit into one NUMA node/),
    });
  });

  test.each<[string, Rules, Record<string, string>]>([
    ['is left alone by a rule', { leaveAlone: [{ text: 'ns/p/b', namespace: 'ns', pod: 'p', container: 'b' }] }, {}],
    ['is left alone by an annotation', { podLeaveAlone: true }, { 'leave-alone.cpusetd.io/container.b': 'all' }],
    ['chose none', { podPolicies: ['none'] }, { 'policy.cpusetd.io/container.b': 'none' }],
    ['follows NUMA nodes', { podPolicies: ['numa'] }, { 'policy.cpusetd.io/container.b': 'numa' }],
  ])('then a container that %s does not count: it takes no CPUs', (_what, rules, annotations) => {
    const node = emptyNode(topology, { topologyManager, ...rules });
    node.podFields.set('p', { annotations });
    sendSpecs(node, specOf('p', 'a 4, b 6', { annotations }));
    expect(node.run('make p/b 6; make p/a 4').state).toContain('p/a 1-4;');
    expect(node.container('p/b')!.placement).not.toBe('exclusive');
  });

  test('then a rule that came later counts for the containers that are still to come', () => {
    const node = sendSpecs(emptyNode(topology, { topologyManager }), specOf('p', 'a 4, b 6'));
    expect(node.run('ask p/a 4').reply).toBe('refused RESOURCE_EXHAUSTED');
    node.setRules({ topologyManager, leaveAlone: [{ text: 'ns/p/b', namespace: 'ns', pod: 'p', container: 'b' }] });
    expect(node.run('ask p/a 4').reply).toBe('cpus 1-4');
  });

  test('then containers of a pod whose sum nobody has told are aligned alone', () => {
    const node = aligned().run('make p/a 4; make p/b 4; make p/c 3');
    expect(['p/a', 'p/b', 'p/c'].map((key) => nodesOf(node, key as `${string}/${string}`))).toEqual([[0], [1], [0]]);
  });
});

describe('given a forged mirror that comes before the pod whose uid it names', () => {
  const mirror = (uid: string, source: string, containers: string) =>
    specOf(uid, containers, {
      annotations: { 'kubernetes.io/config.mirror': source, 'kubernetes.io/config.hash': source },
    });
  /** A node with a forged mirror that names the uid `H` of pod `v`. */
  function withForger(containers: string): NodeDriver {
    const node = new NodeDriver();
    node.podFields.set('H', { name: 'v' });
    node.send({ kind: 'synchronize', pods: [], containers: [] });
    node.send({ kind: 'pod-spec', spec: mirror('evil', 'H', containers) });
    expect(node.state).toContain('idle');
    return node;
  }

  test.each`
    whose                           | containers
    ${'others'}                     | ${'x 3'}
    ${'the same names, and others'} | ${'a 3, x 2'}
  `('when the runtime has the static pod, then it gets its CPUs: containers of $whose', ({ containers }) => {
    const node = withForger(containers as string);
    node.send({ kind: 'pod-spec', spec: mirror('mirror-of-v', 'H', 'a 2, b 2') });
    Object.assign(node.podFields.get('H')!, { name: 'mirror-of-v' });
    node.run('pod H; make H/a 2; make H/b 2');
    expect(node.state).toBe('H/a 1,5; H/b 2,6; pool 0,3-4,7');
    node.send({ kind: 'pod-spec-gone', uid: 'evil' });
    expect(node.state).toBe('H/a 1,5; H/b 2,6; pool 0,3-4,7');
  });

  test('when the API server has the pod, then it gets its CPUs, and no name is shown', () => {
    const node = withForger('a 2, x 3');
    node.send({ kind: 'pod-spec', spec: specOf('H', 'a 2, b 2', { name: 'v' }) });
    expect(node.state).toBe('H/a 1,5 idle; H/b 2,6 idle; pool 0,3-4,7');
    expect([...node.model.assignments.values()].map(({ podName }) => podName)).toEqual(['v', 'v']);
  });

  test('when the list of the runtime has the pod first, then it gets its CPUs', () => {
    const node = withForger('x 3');
    node.send({ kind: 'synchronize', pods: [{ ...podOf('H'), name: 'v' }], containers: [] });
    expect(node.state).toBe('pool 0-7');
  });
});
