import { expectGolden } from './golden';
import { addSampleCluster, Stage } from './stage';

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
    'worker-2': expect.stringMatching(
      /^cpusetd is not ready: .*; 9 CPUs are needed, 4 free; app: 9 CPUs in one NUMA node are needed, the most is \d$/,
    ) as string,
    'worker-3': 'it is cordoned; whole cores of 2 CPUs are given, and app: 9 is no multiple of it',
    'worker-10': 'it publishes no NodeResourceTopology, so its free CPUs are not known',
    zoned: 'app: 9 CPUs in one NUMA node are needed, the most is 8',
  });
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
  const of = async (spec: object) => {
    stage.addPod('shop', 'db', [1], { spec });
    return (await obstaclesOf('shop/db'))['gpu'];
  };
  const tolerations = [cordon, { key: 'gpu', operator: 'Equal', value: 'yes' }];
  expect(await of({})).toBe('it is cordoned; its taint gpu=yes:NoSchedule is not tolerated');
  expect(await of({ tolerations })).toBe('');
  expect(await of({ tolerations: [{ operator: 'Exists' }] })).toBe('');
  expect(await of({ tolerations: [cordon, { key: 'gpu', value: 'no' }] })).toContain('not tolerated');
  expect(await of({ tolerations, nodeSelector: { zone: 'b' } })).toBe('its label zone is a, and the pod wants b');
  expect(await of({ tolerations, affinity: inZone('In', 'a', 'c') })).toBe('');
  expect(await of({ tolerations, affinity: inZone('NotIn', 'a') })).toBe('the node affinity of the pod leaves it out');
  expect(await of({ tolerations, affinity: inZone('Exists') })).toBe('');
  expect(await of({ tolerations, affinity: inZone('Unknown') })).toContain('leaves it out');
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
  stage.addPod('kube-system', 'agent', [1], { node: 'worker-1', ownerReferences: [{ kind: 'DaemonSet' }] });
  stage.addPod('kube-system', 'static', [1], { node: 'worker-1', ownerReferences: [{ kind: 'Node' }] });
  stage.addPod('shop', 'shared', ['500m'], { node: 'worker-1' });
  expect(await stage.run(['drain-check', 'worker-1'])).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('No pod with CPUs of its own would have to go.') as string,
  });
  stage.addPod('shop', 'web', [2], { node: 'worker-1' });
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
