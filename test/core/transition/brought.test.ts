import { parseCpuList } from '../../../src/core/cpuset';
import type { NodeModel } from '../../../src/core/model/node-model';
import { buildTopology, type Topology } from '../../../src/core/topology';
import { judge } from '../../../src/core/verdict/judge';
import { describeUnmet } from '../../../src/core/verdict/unmet-request';
import { specOf } from '../../support/spec-of';
import { EIGHT_CPUS, NodeDriver, without, type Rules } from './node-driver';

// CPUs and memory nodes that a request brings: from a workload of CRI-O, another NRI plugin, or the kubelet's memory
// manager.

/** Two NUMA nodes, each with 4 GiB. */
const MEMORY = [0, 1].map((id) => ({
  id,
  memoryBytes: 2 ** 32,
  distances: new Map([0, 1].map((to) => [to, to === id ? 10 : 21])),
}));

/** A machine of two NUMA nodes of four CPUs: 0-3 and 4-7. By default every CPU is a core. */
const machine = (coreOf = (id: number) => id): Topology =>
  buildTopology({
    cpus: Array.from({ length: 8 }, (_, id) => ({
      id,
      core: coreOf(id),
      socket: id >> 2,
      numaNode: id >> 2,
      uncoreCache: id >> 2,
    })),
    memoryNodes: MEMORY,
  });

const TWO_NODES = machine();

function driver(
  topology: Topology,
  rules: Rules = {},
  bringing: Record<string, { cpus?: string; mems?: string }> = {},
) {
  const node = new NodeDriver(topology, rules);
  node.model.apply({ kind: 'set-synchronized', synchronized: true });
  for (const [target, brought] of Object.entries(bringing)) node.bringing.set(target, brought);
  return node;
}

const alignedBy = (
  policy: 'best-effort' | 'restricted' | 'single-numa-node',
  scope: 'container' | 'pod' = 'container',
) => ({
  topologyManager: { policy, scope, options: { preferClosestNumaNodes: false, maxAllowableNumaNodes: 8 } },
});

const promiseOf = (node: NodeDriver, target: string) => {
  const { cpus, mems } = node.container(target)!.promise!;
  return `${cpus.toString()} mems ${mems.toString()}`;
};

/** The verdict when the kernel has what was promised. */
const verdictOf = (node: NodeDriver, target: string) => {
  const container = node.container(target)!;
  const { cpus, mems } = container.promise!;
  return judge(node.model, container, { kind: 'seen', cpus, effective: cpus, mems });
};

describe('a container that shares', () => {
  test('keeps the CPUs that it brought, less those that others own', () => {
    const node = driver(EIGHT_CPUS, {}, { 'p/app': { cpus: '0,1' } });
    node.run('make p/app 0');
    expect(node.reply).toBe('ok'); // they are in the request already
    expect(promiseOf(node, 'p/app')).toBe('0-1 mems ');
    expect(node.container('p/app')!.because).toContain('its request brought CPUs 0-1');
    expect(verdictOf(node, 'p/app')).toEqual({ kind: 'kept', because: 'kept to CPUs 0-1, which its request brought' });
    node.run('make q/app 2');
    expect(node.state).toContain('q/app 1,5');
    expect(promiseOf(node, 'p/app')).toBe('0 mems ');
    node.run('end q/app; stop q; remove q');
    expect(promiseOf(node, 'p/app')).toBe('0-1 mems ');
  });

  test('runs in the shared pool while others own all that it brought', () => {
    const node = driver(EIGHT_CPUS, {}, { 'p/app': { cpus: '1,5' } });
    node.run('make q/app 2; ask p/app 0');
    expect(node.reply).toBe('cpus 0,2-4,6-7');
    node.run('created p/app; start p/app');
    expect(verdictOf(node, 'p/app').because).toMatch(
      /^in the shared pool; its request brought CPUs 1,5, and all of them/,
    );
    node.run('end q/app; stop q; remove q');
    expect(promiseOf(node, 'p/app')).toBe('1,5 mems ');
  });

  test('is bounded by nothing when it brought every CPU', () => {
    const node = driver(EIGHT_CPUS, {}, { 'p/app': { cpus: '0-7' } });
    node.run('make q/app 2; ask p/app 0');
    expect(node.reply).toBe('cpus 0,2-4,6-7');
    expect(node.model.brought.size).toBe(0);
  });

  test('keeps reserved CPUs that it brought, also with strict-cpu-reservation', () => {
    const node = driver(
      EIGHT_CPUS,
      { reserved: '0-1', options: { strictCpuReservation: true } },
      { 'p/app': { cpus: '0-1' } },
    );
    node.run('make p/app 0');
    expect(promiseOf(node, 'p/app')).toBe('0-1 mems ');
  });

  test('keeps its memory nodes', () => {
    const node = driver(TWO_NODES, { memoryNodes: 'follow' }, { 'p/app': { mems: '1' } });
    node.run('make p/app 0');
    expect(promiseOf(node, 'p/app')).toBe('0-7 mems 1');
  });
});

describe('a container that is entitled to CPUs', () => {
  test('gets them among those that it brought', () => {
    const node = driver(EIGHT_CPUS, {}, { 'p/app': { cpus: '2-3,6' } });
    node.run('ask p/app 2');
    expect(node.reply).toBe('cpus 2,6');
  });

  test('is refused when too few of them are free, with both reasons', () => {
    const node = driver(EIGHT_CPUS, {}, { 'p/app': { cpus: '0-1,5' } });
    node.run('make q/app 2; ask p/app 1');
    expect(node.reply).toBe('refused RESOURCE_EXHAUSTED');
    expect((node.answer as { message: string }).message).toContain(
      'its request brought CPUs 0-1,5, and is kept to them',
    );
    expect(node.model.brought.size).toBe(0);
  });

  test('gets no others when it is started again', () => {
    const node = driver(EIGHT_CPUS, {}, { 'p/app': { cpus: '2,6' } });
    node.run('make p/app 2; end p/app; make p/app 2');
    expect(node.state).toBe('p/app 2,6; pool 0-1,3-5,7');
  });

  test('a list that is none is refused, with the list and the rule', () => {
    const node = driver(EIGHT_CPUS, {}, { 'p/app': { cpus: '3-1' } });
    node.run('ask p/app 1');
    expect(node.reply).toBe('refused INVALID_ARGUMENT');
    expect((node.answer as { message: string }).message).toBe(
      'the request has cpuset.cpus "3-1", which is no list in the kernel\'s format, such as 0-3,8',
    );
  });
});

describe('the reason of a container that gets CPUs', () => {
  test.each([
    [{ mems: '0' }, /^2 exclusive CPUs, .*; memory nodes 0, which its request brought$/],
    [{ cpus: '1-3' }, /^2 exclusive CPUs, .*; among CPUs 1-3, which its request brought$/],
  ])('says that its request brought %j, also where its CPUs were planned before', (brought, because) => {
    for (const isPlanned of [false, true]) {
      const node = driver(TWO_NODES, {}, { 'p/app': brought });
      if (isPlanned) node.send({ kind: 'pod-spec', spec: specOf('p', 'app 2') });
      node.run('make p/app 2');
      expect(promiseOf(node, 'p/app')).toBe(`1-2 mems ${'mems' in brought ? brought.mems : ''}`);
      expect(node.container('p/app')!.because).toMatch(because);
    }
  });

  test('says it once, also when the first creation failed', () => {
    const node = driver(TWO_NODES, {}, { 'p/app': { mems: '0', cpus: '1-3' } });
    node.send({ kind: 'pod-spec', spec: specOf('p', 'app 2') });
    node.run('ask p/app 2; remove p/app; make p/app 2');
    expect(node.container('p/app')!.because).toBe(
      '2 exclusive CPUs, free on the node; memory nodes 0, which its request brought; among CPUs 1-3, which its request brought',
    );
  });
});

describe('the reason of a container whose CPUs were planned, where memory follows CPUs', () => {
  const planned = (brought: { cpus?: string; mems?: string } = {}) => {
    const node = driver(TWO_NODES, { memoryNodes: 'follow' }, { 'p/app': brought });
    node.send({ kind: 'pod-spec', spec: specOf('p', 'app 2') });
    return node;
  };
  const reasonOf = (node: NodeDriver) => [
    promiseOf(node, 'p/app'),
    node.container('p/app')!.because,
    node.model.assignments.get('p/app')!.because,
  ];

  test('has the memory nodes that its request brought, and not those that would follow', () => {
    const because = '2 exclusive CPUs, free on the node; memory nodes 0-1, which its request brought';
    expect(reasonOf(planned({ mems: '0-1' }).run('make p/app 2'))).toEqual(['1-2 mems 0-1', because, because]);
  });

  test('has the memory nodes that follow now: others were promised memory since', () => {
    const node = planned();
    expect(node.model.assignments.get('p/app')!.because).toBe('2 exclusive CPUs, free on the node');
    node.bringing.set('q/app', { mems: '0', memoryLimitBytes: 2 ** 32 });
    node.run('make q/app 1; make p/app 2');
    const because = `2 exclusive CPUs, free on the node; memory nodes 0-1 (widened: its own nodes have less free than its limit)`;
    expect(reasonOf(node)).toEqual(['1-2 mems 0-1', because, because]);
  });

  test.each([
    [{ mems: '0-1' }, '1-2 mems 0-1', 'memory nodes 0-1, which its request brought'],
    [{ cpus: '1-3' }, '1-2 mems 0', 'memory nodes 0; among CPUs 1-3, which its request brought'],
    [{}, '1-2 mems 0', 'memory nodes 0'],
  ])('has nothing of a creation that failed: the next request brings %j', (brought, promise, besides) => {
    const node = planned({ mems: '0', cpus: '1-2' }).run('ask p/app 2; remove p/app');
    node.bringing.set('p/app', brought);
    const because = `2 exclusive CPUs, free on the node; ${besides}`;
    expect(reasonOf(node.run('make p/app 2'))).toEqual([promise, because, because]);
  });
});

describe('memory nodes that the request brought', () => {
  test.each(['follow', 'off'] as const)(
    'have the CPUs near them, and stay as they are (memory-nodes %s)',
    (memoryNodes) => {
      const node = driver(TWO_NODES, { memoryNodes }, { 'p/app': { mems: '1' } });
      node.run('make p/app 2');
      expect(promiseOf(node, 'p/app')).toBe('4-5 mems 1');
      expect(node.answer).toMatchObject({ kind: 'ok' });
      expect(node.container('p/app')!.because).toContain('memory nodes 1, which its request brought');
    },
  );

  test('are not in the answer: they are in the request', () => {
    const node = driver(TWO_NODES, { memoryNodes: 'follow' }, { 'p/app': { mems: '1' } });
    node.run('ask p/app 2');
    expect(node.answer).toMatchObject({ adjust: { cpus: parseCpuList('4-5') } });
    expect(Object.keys((node.answer as { adjust: object }).adjust)).not.toContain('mems');
  });

  test.each([
    [undefined, 'cpus 1-2'],
    ['best-effort', 'cpus 1-2'],
    ['restricted', 'refused RESOURCE_EXHAUSTED'],
    ['single-numa-node', 'refused RESOURCE_EXHAUSTED'],
  ] as const)('without free CPUs there, topology-manager-policy %s decides: %s', (policy, reply) => {
    for (const scope of ['container', 'pod'] as const) {
      const rules = policy ? alignedBy(policy, scope) : {};
      const node = driver(TWO_NODES, rules, { 'q/app': { mems: '1' }, 'p/app': { mems: '1' } });
      node.run('make q/app 4; ask p/app 2');
      expect([scope, node.reply]).toEqual([scope, reply]);
      if (policy === undefined || policy === 'best-effort')
        expect(node.container('p/app')!.because).toContain('where no CPUs could be given');
      else expect((node.answer as { message: string }).message).toContain('its request brought memory nodes 1');
    }
  });

  test('without free CPUs there, the reason of other CPUs does not say that they are near', () => {
    const node = driver(TWO_NODES, {}, { 'q/app': { mems: '1' }, 'p/app': { mems: '1' } });
    node.run('make q/app 4; make p/app 2');
    expect(promiseOf(node, 'p/app')).toBe('1-2 mems 1');
    expect(node.container('p/app')!.because).toBe(
      '2 exclusive CPUs, free on the node; NUMA nodes 1: the first choice, near its memory; ' +
        'memory nodes 1, which its request brought and where no CPUs could be given',
    );
  });

  test('of both nodes allow the CPUs of both', () => {
    const node = driver(TWO_NODES, alignedBy('restricted'), { 'p/app': { mems: '0-1' } });
    node.run('ask p/app 6');
    expect(node.reply).toBe('cpus 1-2,4-7');
  });

  test('count as promised memory', () => {
    const node = driver(TWO_NODES, { memoryNodes: 'follow' }, { 'p/app': { mems: '1' } });
    node.run('make p/app 2');
    expect([...node.model.promisedMemory()]).toEqual([[1, 1 << 26]]);
  });
});

test('with full-pcpus-only and cores of unlike sizes, CPUs elsewhere complete those near the memory, unless the topology manager is strict', () => {
  // Node 1 has a core of two CPUs, and two of one.
  const uneven = machine((id) => [0, 0, 1, 1, 2, 2, 3, 4][id]!);
  for (const [rules, reply] of [
    [{}, 'cpus 0-1,4-5,7'],
    [alignedBy('best-effort'), 'cpus 0-1,4-5,7'],
    [alignedBy('restricted'), 'refused RESOURCE_EXHAUSTED'],
  ] as const) {
    const options = { fullPcpusOnly: true };
    const node = driver(uneven, { ...rules, options, reserved: '6' }, { 'p/app': { mems: '1' } });
    node.run('ask p/app 5');
    expect(node.reply).toBe(reply);
  }
});

test('CPUs near the memory come before those of faster cores', () => {
  const coreKinds = [
    { name: 'performance', cpus: parseCpuList('0-3') },
    { name: 'efficiency', cpus: parseCpuList('4-7') },
  ];
  const hybrid = buildTopology({ cpus: TWO_NODES.cpus, memoryNodes: MEMORY, coreKinds });
  for (const [count, reply] of [
    [2, 'cpus 4-5'],
    [5, 'cpus 1,4-7'],
  ] as const) {
    const node = driver(hybrid, {}, { 'p/app': { mems: '1' } });
    node.run(`ask p/app ${count}`);
    expect(node.reply).toBe(reply);
  }
});

test.each([
  ['none', {}, 'the memory in its request chooses NUMA nodes 1'],
  ['best-effort', alignedBy('best-effort'), 'topology-manager-policy best-effort chooses'],
] as const)(
  'with topology-manager-policy %s, memory comes before a choice of the scheduler elsewhere, with the reason',
  (_, rules, because) => {
    const node = driver(TWO_NODES, rules, { 'p/app': { mems: '1' } });
    const result = [{ name: 'node0', type: 'Node', resources: { capacity: { cpu: '2' } } }];
    const annotations = { 'topology.crane.io/topology-result': JSON.stringify(result) };
    node.podFields.set('p', { annotations, podResources: { shares: 2048 } });
    node.run('ask p/app 2');
    expect(node.reply).toBe('cpus 4-5');
    const ignored = node.reported.flatMap((event) => (event.kind === 'annotation-ignored' ? [event.because] : []));
    expect(ignored).toEqual([expect.stringContaining(because)]);
  },
);

test('an immovable container has CPUs near the memory that it brought', () => {
  const node = driver(TWO_NODES, { cpuManagerPolicy: 'immovable' }, { 'p/app': { mems: '1' } });
  node.run('make p/app 2');
  expect(promiseOf(node, 'p/app')).toBe('4-5 mems 1');
  node.run('resize p/app 3');
  expect(promiseOf(node, 'p/app')).toBe('4-6 mems 1');
});

describe('a container that follows NUMA nodes', () => {
  const numa = (bringing: { cpus?: string; mems?: string }) =>
    driver(TWO_NODES, { cpuManagerPolicy: 'numa', podPolicies: ['static'] }, { 'p/app': bringing });

  test.each([
    [{ cpus: '6-7' }, 2, '6-7 mems '],
    [{ cpus: '3,6-7' }, 6, '3,6-7 mems '],
    [{ mems: '1' }, 2, '4-7 mems 1'],
    [{ mems: '1' }, 6, '1-7 mems 1'],
    [{ cpus: '2-3', mems: '1' }, 2, '2-3 mems 1'],
    [{ cpus: '0' }, 2, '0 mems '],
  ])('that brought %j and asks for %p CPUs follows the nodes of these: %p', (bringing, count, promise) => {
    const node = numa(bringing);
    node.run(`make p/app ${count}`);
    expect(promiseOf(node, 'p/app')).toBe(promise);
    const { cpus, mems } = node.container('p/app')!.promise!;
    const isFar = mems.equals(parseCpuList('1')) && !cpus.isSubsetOf(parseCpuList('4-7'));
    expect(describeUnmet(node.model, node.container('p/app')!) !== undefined).toBe(isFar);
  });

  test('follows other nodes when it is started again with other CPUs', () => {
    const node = numa({ cpus: '2-3' });
    node.run('make p/app 2; end p/app');
    node.bringing.set('p/app', { cpus: '6-7' });
    node.run('make p/app 2');
    expect(promiseOf(node, 'p/app')).toBe('6-7 mems ');
  });

  test('shares what is left of its nodes while others own all that it brought', () => {
    const node = numa({ cpus: '6-7' });
    node.bringing.set('q/app', { cpus: '6-7' });
    node.podFields.set('q', { annotations: { 'cpusetd.io/policy': 'static' } });
    node.run('make p/app 2; make q/app 2');
    expect(promiseOf(node, 'p/app')).toBe('4-5 mems ');
    expect(describeUnmet(node.model, node.container('p/app')!)).toBe(
      'its request brought CPUs 6-7, and all of them are offline or others own them: it runs on 4-5',
    );
    node.run('end q/app; stop q; remove q');
    expect(promiseOf(node, 'p/app')).toBe('6-7 mems ');
  });
});

test('while its own CPUs are offline, a container runs on others that it brought', () => {
  const node = driver(EIGHT_CPUS, {}, { 'p/app': { cpus: '1-2,5-6' } });
  node.run('make p/app 2');
  node.setTopology(without(EIGHT_CPUS, '1,5'));
  expect(promiseOf(node, 'p/app')).toBe('2,6 mems ');
  node.setTopology(without(EIGHT_CPUS, '1-2,5-6'));
  expect(promiseOf(node, 'p/app')).toBe('0,3-4,7 mems ');
  node.setTopology(EIGHT_CPUS);
  expect(promiseOf(node, 'p/app')).toBe('1,5 mems ');
});

test('the idle set of a pod is given up when a container of it comes with other CPUs', () => {
  const node = driver(TWO_NODES, { cpuManagerPolicy: 'exclusive' }, { 'p/app': { cpus: '1-2' } });
  const result = [{ name: 'node0', type: 'Node', resources: { capacity: { cpu: '2' } } }];
  const annotations = { 'topology.crane.io/topology-result': JSON.stringify(result) };
  node.podFields.set('p', { annotations, podResources: { shares: 2048 } });
  node.run('make p/app 2; end p/app');
  expect(node.state).toContain('p/app 1-2 idle');
  node.bringing.set('p/app', { cpus: '2-3' });
  node.run('make p/app 2');
  expect(node.state).toBe('p/app 2-3; pool 0-1,4-7');
});

describe('memory nodes of a container that was created while cpusetd was away', () => {
  const bringing = { 'p/app': { mems: '1' } };

  test.each(['created', 'starting'])('count when it is first seen as %s', (seen) => {
    const node = driver(TWO_NODES, { memoryNodes: 'off' }, bringing);
    node.run(`know p/app 2; ${seen} p/app`);
    expect(promiseOf(node, 'p/app')).toBe('4-5 mems 1');
  });

  test('count instead of those that an earlier container of its name brought', () => {
    const node = driver(TWO_NODES, { memoryNodes: 'off' }, { 'p/app': { mems: '0' } });
    node.run('make p/app 0');
    node.bringing.set('p/app', { mems: '1' });
    node.run('know p/app 0');
    const { pod, container } = node.infoOf('p/app');
    node.send({ kind: 'synchronize', pods: [pod], containers: [{ ...container, phase: 'running' }] });
    expect(promiseOf(node, 'p/app')).toBe('0-7 mems 1');
  });
});

describe('a resize', () => {
  test('stays within the CPUs that the request brought', () => {
    const node = driver(EIGHT_CPUS, {}, { 'p/app': { cpus: '1-3,5' } });
    node.run('make p/app 2; resize p/app 4');
    expect(promiseOf(node, 'p/app')).toBe('1-3,5 mems ');
    node.run('resize p/app 5');
    expect(node.reply).toBe('refused RESOURCE_EXHAUSTED');
    expect((node.answer as { message: string }).message).toContain('its request brought CPUs 1-3,5');
    expect(promiseOf(node, 'p/app')).toBe('1-3,5 mems ');
  });

  test('adds CPUs near the memory that the request brought', () => {
    const node = driver(TWO_NODES, {}, { 'p/app': { mems: '1' } });
    node.run('make p/app 2; resize p/app 4');
    expect(promiseOf(node, 'p/app')).toBe('4-7 mems 1');
    node.run('resize p/app 1');
    expect(promiseOf(node, 'p/app')).toBe('4 mems 1');
  });

  test('of a container that shares leaves it where it is', () => {
    const node = driver(EIGHT_CPUS, {}, { 'p/app': { cpus: '2-3' } });
    node.run('make p/app 0; resize p/app 0.5');
    expect(promiseOf(node, 'p/app')).toBe('2-3 mems ');
  });
});

test('a container that comes back with the same list has nothing to save', () => {
  const node = driver(EIGHT_CPUS, {}, { 'p/app': { cpus: '2-3' } });
  node.run('ask p/app 0');
  expect(node.isDurable).toBe(true);
  node.run('created p/app; start p/app; end p/app; ask p/app 0');
  expect(node.isDurable).toBe(false);
});

test('what was brought goes with the pod, and a restart has it', () => {
  const node = driver(TWO_NODES, {}, { 'p/app': { mems: '1' }, 's/app': { cpus: '6-7' } });
  node.run('make p/app 2; make s/app 0');
  const later = restarted(node.model, node);
  expect(promiseOf(later, 's/app')).toBe('6-7 mems ');
  expect(promiseOf(later, 'p/app')).toBe('4-5 mems 1');
  node.run('end p/app; stop p; remove p; end s/app; stop s; remove s');
  expect([...node.model.brought.keys()]).toEqual([]);
});

/** The node after a restart of the daemon: what is on disk, and the runtime's list with cpusetd's own CPUs in it. */
function restarted(model: NodeModel, before: NodeDriver): NodeDriver {
  const node = new NodeDriver(model.topology, {});
  for (const assignment of model.assignments.values()) node.model.apply({ kind: 'put-assignment', assignment });
  for (const brought of model.brought.values()) node.model.apply({ kind: 'put-brought', brought });
  const containers = [...model.containers.values()].map(
    ({ id, sandboxId, name, phase, cgroupsPath, resources, promise }) => ({
      id,
      sandboxId,
      name,
      phase,
      cgroupsPath,
      resources: { ...resources, cpus: promise!.cpus.toString() },
    }),
  );
  node.send({ kind: 'synchronize', pods: [...model.pods.values()], containers });
  node.container = (target) => node.model.containers.get(before.idOf(target));
  return node;
}
