import { expectGolden } from './golden';
import { addSampleCluster, CRANE, Stage } from './stage';

// why-not and drain-check: where a pod could go.

let stage: Stage;
beforeEach(async () => {
  stage = await new Stage().start();
  addSampleCluster(stage);
});
afterEach(() => stage.stop());

async function obstaclesOf(pod: string): Promise<Record<string, string>> {
  const { stdout } = await stage.run(['why-not', pod, '-o', 'json']);
  const { nodes } = JSON.parse(stdout) as { nodes: { name: string; obstacles: string[] }[] };
  return Object.fromEntries(nodes.map(({ name, obstacles }) => [name, obstacles.join('; ')]));
}

test.each([80, 120])('why-not and drain-check in a terminal of %i columns', async (columns) => {
  stage.addPod('shop', 'db', [3], {});
  stage.addPod('shop', 'web', [2], { node: 'worker-1', labels: { app: 'web' } });
  stage.addPod('shop', 'cache', [9], { node: 'worker-1' });
  stage.server.put('/apis/policy/v1/poddisruptionbudgets', {
    metadata: { namespace: 'shop', name: 'web' },
    spec: { selector: { matchLabels: { app: 'web' } } },
    status: { disruptionsAllowed: 0 },
  });
  const shown: string[] = [];
  for (const args of [
    ['why-not', 'shop/db'],
    ['drain-check', 'worker-1'],
  ]) {
    const { stdout, stderr, status } = await stage.run(args, { columns });
    expect(stderr).toBe('');
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(columns);
    shown.push(`$ kubectl cpuset ${args.join(' ')} # exit ${status}\n${stdout}`);
  }
  expectGolden(`pods-to-place-${columns}`, shown.join('\n'));
});

test('the obstacles of each kind', async () => {
  stage.addNode('tainted', { spec: { taints: [{ key: 'gpu', value: 'yes', effect: 'NoSchedule' }] } });
  stage.addNode('full');
  stage.addPod('other', 'busy', ['14500m'], { node: 'full' });
  stage.addNode('zoned', {
    rules: {
      topologyManager: {
        policy: 'single-numa-node',
        scope: 'container',
        options: { preferClosestNumaNodes: false, maxAllowableNumaNodes: 8 },
      },
    },
  });
  stage.addPod('shop', 'db', [9]);
  const found = await obstaclesOf('shop/db');
  expect(found).toEqual({
    full: 'the pod requests 9 CPU, and 0.5 of 15 is not requested yet',
    tainted: 'its taint gpu=yes:NoSchedule is not tolerated',
    'worker-1': '',
    'worker-2': '9 CPUs are needed, 4 free',
    'worker-3': 'it is cordoned; whole cores of 2 CPUs are given, and app: 9 is no multiple of it',
    'worker-10': 'it publishes no NodeResourceTopology, so its free CPUs are not known',
    zoned: 'app: 9 CPUs in one NUMA node are needed, the most is 8',
  });
});

test('the title has the most that some node would give', async () => {
  stage.addNode('none', { rules: { cpuManagerPolicy: 'none' } });
  const first = (await stage.run(['nodes', '-o', 'json'])).stdout.indexOf('"none"');
  expect(first).toBeLessThan((await stage.run(['nodes', '-o', 'json'])).stdout.indexOf('"worker-1"'));
  stage.addPod('shop', 'db', [2]);
  const { stdout } = await stage.run(['why-not', 'shop/db']);
  expect(stdout).toMatch(/^shop\/db asks for CPUs of its own: app 2 CPUs\.\n/);
});

test.each([
  ['-1', 'Gt', '-2', true],
  ['+3', 'Gt', '2', true],
  ['3', 'Lt', '10', true],
  ['3', 'Gt', '3', false],
  ['9007199254740993', 'Gt', '9007199254740992', true],
  ['9223372036854775808', 'Gt', '1', false],
  ['', 'Gt', '-1', false],
  [' 3', 'Gt', '1', false],
  ['1e3', 'Gt', '1', false],
  ['0x10', 'Gt', '1', false],
  ['1.5', 'Gt', '1', false],
  ['3', 'Gt', '1e0', false],
  ['3', 'Lt', '', false],
])('node affinity: given the label gen: "%s", %s %s matches: %s', async (gen, operator, value, isMatch) => {
  stage.addNode('worker-4', { labels: { gen } });
  const nodeSelectorTerms = [{ matchExpressions: [{ key: 'gen', operator, values: [value] }] }];
  const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } };
  stage.addPod('shop', 'db', [1], { spec: { affinity: { nodeAffinity } } });
  const want = isMatch ? '' : 'the node affinity of the pod leaves it out';
  expect((await obstaclesOf('shop/db'))['worker-4']).toBe(want);
});

test('a label with a name that all objects of JavaScript have is looked up like others', async () => {
  stage.addPod('shop', 'db', [1], { spec: { nodeSelector: { constructor: 'x' } } });
  expect((await obstaclesOf('shop/db'))['worker-1']).toBe('its label constructor is not set, and the pod wants x');
});

test('drain-check counts the CPUs that a pod has at one time', async () => {
  const container = (name: string, cpu: string, more: object = {}) => {
    const amounts = { cpu, memory: '64Mi' };
    return { name, ...more, resources: { requests: amounts, limits: amounts } };
  };
  const initContainers = [container('agent', '1', { restartPolicy: 'Always' }), container('init', '4')];
  const spec = { initContainers, containers: [container('app', '2')] };
  stage.addPod('shop', 'db', [], { node: 'worker-1', spec });
  expect((await stage.run(['drain-check', 'worker-1'])).stdout).toMatch(/^shop\/db +5 /m);
  const { stdout } = await stage.run(['drain-check', 'worker-1', '-o', 'json']);
  expect(JSON.parse(stdout)).toMatchObject({ pods: [{ pod: 'shop/db', cpus: 5 }] });
});

test('tolerations, labels and affinity count as the scheduler counts them', async () => {
  const gpu = { key: 'gpu', value: 'yes', effect: 'NoSchedule' };
  stage.addNode('gpu', { spec: { unschedulable: true, taints: [gpu] }, labels: { zone: 'a' } });
  const cordon = { key: 'node.kubernetes.io/unschedulable', operator: 'Exists' };
  const inZone = (operator: string, ...values: string[]) => ({
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator, values }] }],
      },
    },
  });
  const placeOf = async (spec: object) => {
    stage.addPod('shop', 'db', [1], { spec });
    return (await obstaclesOf('shop/db'))['gpu'];
  };
  const tolerations = [cordon, { key: 'gpu', operator: 'Equal', value: 'yes' }];
  expect(await placeOf({})).toBe('it is cordoned; its taint gpu=yes:NoSchedule is not tolerated');
  expect(await placeOf({ tolerations })).toBe('');
  expect(await placeOf({ tolerations: [{ operator: 'Exists' }] })).toBe('');
  expect(await placeOf({ tolerations: [cordon, { key: 'gpu', value: 'no' }] })).toContain('not tolerated');
  expect(await placeOf({ tolerations, nodeSelector: { zone: 'b' } })).toBe('its label zone is a, and the pod wants b');
  expect(await placeOf({ tolerations, affinity: inZone('In', 'a', 'c') })).toBe('');
  expect(await placeOf({ tolerations, affinity: inZone('NotIn', 'a') })).toBe(
    'the node affinity of the pod leaves it out',
  );
  expect(await placeOf({ tolerations, affinity: inZone('Exists') })).toBe('');
  expect(await placeOf({ tolerations, affinity: inZone('Unknown') })).toContain('leaves it out');
});

test('a pod without CPUs of its own is looked at as the scheduler does; a policy that a pod chooses counts where pods may', async () => {
  stage.addNode('choice', { rules: { cpuManagerPolicy: 'none', podPolicies: ['exclusive'] }, steps: '' });
  stage.addPod('shop', 'shared', ['500m']);
  expect(await stage.run(['why-not', 'shop/shared'])).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('shop/shared asks for no CPUs of its own.') as string,
  });
  expect((await obstaclesOf('shop/shared'))['worker-2']).toBe('');
  stage.addPod('shop', 'chosen', [16], { annotations: { 'cpusetd.io/policy': 'exclusive' } });
  expect((await obstaclesOf('shop/chosen'))['choice']).toContain('16 CPUs are needed, 15 free');
  stage.addPod('shop', 'plain', [16]);
  expect((await obstaclesOf('shop/plain'))['choice']).not.toContain('16 CPUs');
});

test('a node on which cpusetd is not ready takes the pod; a warning says so, and the exit status does not', async () => {
  await stage.stop();
  stage = await new Stage().start();
  stage.addNode('worker-1', { spec: { unschedulable: true } });
  stage.addNode('worker-2', { condition: { status: 'False', message: 'the runtime is away' } });
  stage.addPod('shop', 'db', [2], { node: 'worker-1' });
  stage.addPod('shop', 'web', [2]);
  const warning = 'cpusetd is not ready: the runtime is away';
  const run = async (...args: string[]) => {
    const { status, stdout } = await stage.run(args);
    return { status, row: /^\S*(?:worker-2|shop\/db) .*$/m.exec(stdout)?.[0], stdout };
  };
  expect(await run('why-not', 'shop/web')).toMatchObject({
    status: 0,
    row: expect.stringMatching(`^worker-2 +yes .* warning: ${warning}$`) as string,
  });
  // A new container would not get the CPUs there, although its pod is bound.
  expect(await run('nodes', '--cpus', '2')).toMatchObject({
    status: 1,
    row: expect.stringMatching(/^worker-2 +no .* the runtime is away$/) as string,
  });
  expect(await run('drain-check', 'worker-1')).toMatchObject({
    status: 0,
    row: expect.stringMatching(`^shop/db +2 +yes +worker-2 +warning: worker-2: ${warning}$`) as string,
  });
  const fits = JSON.parse((await run('why-not', 'shop/web', '-o', 'json')).stdout) as { nodes: object[] };
  expect(fits.nodes[1]).toEqual({ name: 'worker-2', fits: true, obstacles: [], warnings: [warning] });
  const drain = JSON.parse((await run('drain-check', 'worker-1', '-o', 'json')).stdout) as { pods: object[] };
  expect(drain.pods[0]).toMatchObject({ goes: true, warnings: [{ node: 'worker-2', because: [warning] }] });
  // Nodes without a warning come first, and those that are not named have no line.
  stage.addNode('worker-3');
  stage.addNode('worker-4');
  expect((await run('drain-check', 'worker-1')).row).toMatch(/^shop\/db +2 +yes +worker-3, worker-4 and 1 other$/);
  // A pod without CPUs of its own does not ask cpusetd.
  stage.addPod('shop', 'shared', ['500m']);
  expect((await run('why-not', 'shop/shared')).row).toMatch(/^worker-2 +yes +15 +8 +-$/);
});

test('a pod that nobody has, and one that is bound', async () => {
  expect(await stage.run(['why-not', 'shop/nobody'])).toMatchObject({
    status: 1,
    stderr: 'kubectl cpuset: there is no pod shop/nobody\n',
  });
  stage.addPod('shop', 'bound', [1], { node: 'worker-1' });
  const { stdout } = await stage.run(['why-not', 'bound', '-n', 'shop']);
  expect(stdout).toContain('It is bound to worker-1');
  expect(stdout).toMatch(/worker-1 +no +\d+ +\d+ +it is bound here: kubectl cpuset explain shop\/bound has more/);
});

test('drain-check: pods of DaemonSets and of the node stay, and shared ones are not looked at', async () => {
  stage.addPod('kube-system', 'agent', [1], {
    node: 'worker-1',
    ownerReferences: [{ kind: 'DaemonSet', controller: true }],
  });
  stage.addPod('kube-system', 'static', [1], {
    node: 'worker-1',
    ownerReferences: [{ kind: 'Node', controller: true }],
  });
  stage.addPod('shop', 'shared', ['500m'], { node: 'worker-1' });
  expect(await stage.run(['drain-check', 'worker-1'])).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('No pod with CPUs of its own would have to go.') as string,
  });
  stage.addPod('shop', 'web', [5], { node: 'worker-1' });
  const { status, stdout } = await stage.run(['drain-check', 'worker-1', '-o', 'json']);
  expect(status).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({ pods: [{ pod: 'shop/web', goes: false, fitting: [], blocking: [] }] });
  stage.addNode('spare');
  expect(await stage.run(['drain-check', 'worker-1'])).toMatchObject({ status: 0 });
});

test('a budget of another namespace, one that allows a disruption, and one without selector are not in the way', async () => {
  stage.addNode('spare');
  stage.addPod('shop', 'web', [2], { node: 'worker-1', labels: { app: 'web' } });
  const put = (namespace: string, name: string, disruptionsAllowed: number, selector?: object) =>
    stage.server.put('/apis/policy/v1/poddisruptionbudgets', {
      metadata: { namespace, name },
      spec: { ...(selector && { selector }) },
      status: { disruptionsAllowed },
    });
  put('other', 'a', 0, {});
  put('shop', 'b', 1, {});
  put('shop', 'c', 0);
  put('shop', 'd', 0, { matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['web'] }] });
  expect(await stage.run(['drain-check', 'worker-1'])).toMatchObject({ status: 0 });
  put('shop', 'e', 0, { matchExpressions: [{ key: 'app', operator: 'In', values: ['web'] }] });
  expect(await stage.run(['drain-check', 'worker-1'])).toMatchObject({
    status: 1,
    stdout: expect.stringContaining('budget e allows no disruption now') as string,
  });
});

describe('what is in the way on every node, and stands in the pod', () => {
  const long = new Date(Date.now() - 60_000).toISOString();
  const scheduled = {
    phase: 'Pending',
    conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }],
  };

  test.each<[string, Parameters<Stage['addPod']>[3], string]>([
    ['gates', { spec: { schedulingGates: [{ name: 'a' }, { name: 'b' }] } }, 'the pod waits for its scheduling gates: a, b'],
    ['no scheduler', { spec: { schedulerName: 'mine' }, creationTimestamp: long }, 'no scheduler has looked at the pod: is one for schedulerName mine running?'],
    ['a scheduler that has looked', { creationTimestamp: long, status: scheduled }, ''],
    ['gates that are gone, and no scheduler', { creationTimestamp: long, status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'SchedulingGated' }] } }, 'no scheduler has looked at the pod: is one for schedulerName default-scheduler running?'],
    ['a pod that is too new to tell', { creationTimestamp: new Date().toISOString() }, ''],
    ['a pod that has finished', { status: { phase: 'Failed' }, creationTimestamp: long, node: 'worker-9' }, 'the pod has finished (Failed), and is not started again'],
    ['a pod that is being deleted', { deletionTimestamp: long }, 'the pod is being deleted'],
  ])('%s', async (_name, more, obstacle) => {
    stage.addPod('shop', 'db', [1], more);
    const { 'worker-1': found } = await obstaclesOf('shop/db');
    expect(found).toBe(obstacle);
    const { status } = await stage.run(['why-not', 'shop/db']);
    expect(status).toBe(obstacle === '' ? 0 : 1);
  }); // prettier-ignore
});

describe('the CPU of pods counts as kube-scheduler counts it', () => {
  const busyWith = async (more: Parameters<Stage['addPod']>[3]): Promise<string> => {
    stage.addNode('full');
    stage.addPod('other', 'busy', [4], { ...more, node: 'full' });
    stage.addPod('shop', 'db', [15]);
    return (await obstaclesOf('shop/db'))['full']!.split(';')[0]!;
  };
  const inPlace = (requests: number, allocated: number, conditions: readonly object[] = []) => ({
    phase: 'Running',
    conditions,
    containerStatuses: [
      {
        name: 'app',
        resources: { requests: { cpu: String(requests) } },
        allocatedResources: { cpu: String(allocated) },
      },
    ],
  });

  test.each<[string, Parameters<Stage['addPod']>[3], number]>([
    ['plain', {}, 11],
    ['the overhead of its RuntimeClass', { spec: { overhead: { cpu: '2' } } }, 9],
    ['a shrink that is not done yet', { status: inPlace(6, 6) }, 9],
    ['a growth that is not done yet', { status: inPlace(2, 2) }, 11],
    ['resources of the pod as a whole', { spec: { resources: { requests: { cpu: '3' } } } }, 12],
    [
      'a shrink of these that is not done yet',
      {
        spec: { resources: { requests: { cpu: '3' } } },
        status: { phase: 'Running', resources: { requests: { cpu: '5' } } },
      },
      10,
    ],
    ['a growth that is refused', { status: inPlace(2, 2, [{ type: 'PodResizePending', reason: 'Infeasible' }]) }, 13],
  ])('%s', async (_name, more, left) => {
    expect(await busyWith(more)).toBe(`the pod requests 15 CPU, and ${left} of 15 is not requested yet`);
  });
});

test('drain-check: a pod without a controller can’t go, and one that goes already is left out', async () => {
  stage.addNode('worker-4');
  stage.addPod('shop', 'bare', [1], { node: 'worker-1', ownerReferences: [] });
  stage.addPod('shop', 'going', [1], { node: 'worker-1', deletionTimestamp: new Date().toISOString() });
  const { stdout, status } = await stage.run(['drain-check', 'worker-1']);
  expect(stdout).toContain('1 pinned pod would have to go, 1 more go already.');
  expect(stdout).toMatch(
    /shop\/bare +1 +no .*it has no controller: kubectl drain refuses it, and nothing makes it again/,
  );
  expect(status).toBe(1);
});

test('--topology-aware-resources: memory of zones counts where the extender looks at it', async () => {
  await stage.stop();
  stage = await new Stage().start();
  stage.addNode('worker-1', { publishes: 'crane' });
  stage.addNode('worker-2', { publishes: 'crane' });
  const topology = stage.server.get(CRANE, 'worker-2')!;
  const zones = (topology['zones'] as object[]).map((zone) => {
    return { ...zone, resources: { capacity: { cpu: '8' }, allocatable: { cpu: '7', memory: '32Mi' } } };
  });
  stage.server.put(CRANE, { ...topology, zones });
  stage.addPod('shop', 'db', [2]);
  stage.addPod('shop', 'web', [2], { node: 'worker-1' });
  const statusOf = async (...args: string[]) => (await stage.run(args)).status;
  expect(await statusOf('drain-check', 'worker-1')).toBe(0);
  expect(await statusOf('drain-check', 'worker-1', '--topology-aware-resources', 'cpu,memory')).toBe(1);
  expect(await obstaclesOf('shop/db')).toMatchObject({ 'worker-2': '' });
  const { stdout } = await stage.run(['why-not', 'shop/db', '--topology-aware-resources', 'cpu,memory', '-o', 'json']);
  const { nodes } = JSON.parse(stdout) as { nodes: { obstacles: string[] }[] };
  expect(nodes[1]!.obstacles).toEqual([expect.stringContaining('memory')]);
  expect(await stage.run(['why-not', 'shop/db', '--topology-aware-resources', 'cpu,,'])).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('has a name that is no resource; write resources like cpu,memory') as string,
  });
});

test('given both kinds: what pods announce counts, as the extender counts it', async () => {
  stage.addNode('both', { publishes: 'both' });
  const zone = (name: string, cpu: string) => ({ name, type: 'Node', resources: { capacity: { cpu } } });
  const annotations = { 'topology.crane.io/topology-result': JSON.stringify([zone('node0', '5')]) };
  stage.addPod('shop', 'coming', [5], { node: 'both', annotations });
  stage.addPod('shop', 'db', [6], { annotations: { 'topology.crane.io/topology-awareness': 'true' } });
  stage.addPod('shop', 'small', [2]);
  stage.addPod('shop', 'large', [8], { annotations: { 'topology.crane.io/topology-awareness': 'true' } });
  expect((await obstaclesOf('shop/db'))['both']).toBe('');
  expect((await obstaclesOf('shop/large'))['both']).toBe('');
  stage.addPod('shop', 'also', [3], {
    node: 'both',
    annotations: { 'topology.crane.io/topology-result': JSON.stringify([zone('node1', '3')]) },
  });
  expect((await obstaclesOf('shop/db'))['both']).toBe('6 CPUs in one NUMA node are needed, the most is 5');
  expect((await obstaclesOf('shop/small'))['both']).toBe('');
  // A claim counts until its pod is bound, whatever its time: that is by the clock of the replica that wrote it.
  for (const at of [new Date().toISOString(), '2026-01-01T00:00:00.000Z', '2099-01-01T00:00:00.000Z']) {
    const assumed = { 'uid-bound': { pod: 'shop/bound', zones: { node0: { cpu: '2' }, node1: { cpu: '5' } }, at } };
    stage.addNode('both', { publishes: 'both', annotations: { 'cpusetd.io/assumed-pods': JSON.stringify(assumed) } });
    expect((await obstaclesOf('shop/small'))['both']).toBe('2 CPUs are needed, 0 free');
  }
  stage.addPod('shop', 'bound', [1], {
    node: 'both',
    annotations: { 'topology.crane.io/topology-result': JSON.stringify([zone('node1', '1')]) },
  });
  expect((await obstaclesOf('shop/small'))['both']).toBe('');
});

test('drain-check: given a node with rules of a newer version, its pods are looked at as if it gave CPUs', async () => {
  stage.server.put(CRANE, {
    metadata: { name: 'newer' },
    craneManagerPolicy: { cpuManagerPolicy: 'Static' },
    attributes: { 'cpusetd.io/rules': '{"v":2}' },
    zones: [],
  });
  stage.server.put('/api/v1/nodes', { metadata: { name: 'newer' }, spec: {}, status: { allocatable: { cpu: '8' } } });
  stage.addPod('shop', 'web', [2], { node: 'newer' });
  const { stdout } = await stage.run(['drain-check', 'newer']);
  expect(stdout).toContain('1 pinned pod would have to go');
});
