import { expectGolden } from './golden';
import { addSampleCluster, COMMUNITY, CRANE, Stage, viewerRights } from './stage';
import { FakeApiServer } from '../support/kube/api-server';

let stage: Stage;
beforeEach(async () => (stage = await new Stage().start()));
afterEach(() => stage.stop());

test.each([80, 120])('nodes, top and fits in a terminal of %i columns', async (columns) => {
  addSampleCluster(stage);
  const shown: string[] = [];
  for (const args of [['nodes'], ['nodes', '--cpus', '3'], ['nodes', '--cpus', '6', '--aligned', 'node'], ['top']]) {
    const { stdout, stderr, status } = await stage.run(args, { columns });
    expect(stderr).toBe('');
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(columns);
    shown.push(`$ kubectl cpuset ${args.join(' ')} # exit ${status}\n${stdout}`);
  }
  expectGolden(`nodes-${columns}`, shown.join('\n'));
});

test('nodes needs two lists, whatever the number of nodes is', async () => {
  addSampleCluster(stage);
  await stage.run(['nodes']);
  expect(stage.paths).toEqual(['/api/v1/nodes', COMMUNITY]);
});

test('nodes as data: counts, zones and the summary', async () => {
  addSampleCluster(stage);
  const { stdout } = await stage.run(['nodes', '-o', 'json']);
  const { nodes } = JSON.parse(stdout) as { nodes: Record<string, unknown>[] };
  expect(nodes.map(({ name }) => name)).toEqual(['worker-1', 'worker-2', 'worker-3', 'worker-10']);
  expect(nodes[0]).toMatchObject({
    state: 'ready',
    cpus: { capacity: 16, allocatable: 15, available: 9 },
    summary: { policy: 'static', pinned: 2 },
  });
  expect((await stage.run(['nodes', 'worker-1', '-o', 'yaml'])).stdout).toContain('name: worker-1\n');
});

test('with Crane’s kind alone the numbers are the same', async () => {
  stage.addNode('a', { steps: 'make a/x 4', publishes: 'crane' });
  const crane = await stage.run(['nodes', '-o', 'wide']);
  stage.addNode('a', { steps: 'make a/x 4' });
  const community = await stage.run(['nodes', '-o', 'wide']);
  expect(crane).toEqual(community);
  expect(crane.stdout).toContain(' 11 ');
});

test.each([COMMUNITY, CRANE])(
  '%s: zones are read once for people and for schedulers: of two with one name the first counts',
  async (kind) => {
    stage.addNode('a', { publishes: kind === CRANE ? 'crane' : 'both' });
    const { stdout } = await stage.run(['nodes', '-o', 'wide']);
    const topology = stage.server.get(kind, 'a')!;
    const zones = topology['zones'] as readonly object[];
    stage.server.put(kind, { ...topology, zones: [...zones, zones[1]] });
    expect((await stage.run(['nodes', '-o', 'wide'])).stdout).toBe(stdout);
  },
);

test('a node that was not heard of for long is silent; one without cpusetd is absent', async () => {
  const lastHeartbeatTime = new Date(Date.now() - 20 * 60_000).toISOString();
  stage.addNode('late', { condition: { lastHeartbeatTime } });
  stage.addNode('none', { condition: null, publishes: 'none' });
  stage.addNode('off', { condition: null });
  const { stdout } = await stage.run(['nodes']);
  expect(stdout).toMatch(/^late +silent .*last heard of 20 minutes ago$/m);
  expect(stdout).toMatch(/^none +absent .*nothing of cpusetd is published$/m);
  expect(stdout).toMatch(/^off +unknown .*--node-condition/m);
});

test.each([
  ['Stopped', 'cpusetd was stopped: new containers are not pinned', 0, 'no'],
  // An hour after an orderly stop it is still the stop, and not a silence.
  ['Stopped', 'cpusetd was stopped: new containers are not pinned', 60, 'no'],
  ['RuntimeNotConnected', 'not connected to the container runtime: new containers are not pinned', 0, 'no'],
  ['Alarm', 'container a/x: its cpuset is written again and again', 0, 'yes'],
])('a node with the condition False, %s, is not ready', async (reason, message, minutes, fits) => {
  const lastHeartbeatTime = new Date(Date.now() - minutes * 60_000).toISOString();
  stage.addNode('a', { condition: { status: 'False', reason, message, lastHeartbeatTime } });
  expect((await stage.run(['nodes'])).stdout).toMatch(new RegExp(`^a +not-ready .*${message}$`, 'm'));
  const { status, stdout } = await stage.run(['nodes', '--cpus', '1']);
  expect({ status, fits: /^a +(yes|no) /m.exec(stdout)?.[1] }).toEqual({ status: fits === 'yes' ? 0 : 1, fits });
  expect(stdout.split(message)).toHaveLength(2); // once, as obstacle or as warning
});

test('--cpus: a node that was not heard of for long takes no new container', async () => {
  stage.addNode('a', { condition: { lastHeartbeatTime: new Date(Date.now() - 20 * 60_000).toISOString() } });
  const { status, stdout } = await stage.run(['nodes', '--cpus', '1']);
  expect(stdout).toMatch(/^a +no .*last heard of 20 minutes ago$/m);
  expect(status).toBe(1);
});

test('--cpus: the exit status tells if some node has room; an unknown node is told', async () => {
  addSampleCluster(stage);
  expect(await stage.run(['nodes', '--cpus', '9'])).toMatchObject({ status: 0 });
  expect(await stage.run(['nodes', '--cpus', '10'])).toMatchObject({ status: 1 });
  expect(await stage.run(['nodes', 'nowhere'])).toMatchObject({
    status: 1,
    stderr: 'kubectl cpuset: there is no node nowhere\n',
  });
});

test.each([
  [['nodes', '--cpus', '0'], /no number of CPUs/],
  [['nodes', '--aligned', 'node'], /add --cpus/],
  [['nodes', '--aligned', 'socket', '--cpus', '1'], /Allowed choices are core, cache, node/],
  [['node'], /unknown command/],
  [['map'], /missing required argument/],
  [['map', '../x'], /is no name of Kubernetes/],
  [['explain', 'a/b/c'], /is no name of a pod/],
  [['explain', 'A'], /is no name of a pod/],
  [['why-not', 'a/b', '-n', 'c'], /is not in --namespace c/],
  [['map', 'a', '--daemon-port', '99999'], /It is no port/],
])('%j is wrong usage', async (args, message) => {
  const { status, stderr } = await stage.run(args);
  expect(status).toBe(2);
  expect(stderr).toMatch(message);
});

test.each(['nodes', 'pods', 'map', 'explain', 'why-not', 'events', 'top', 'drain-check'])(
  '%s has a help with examples',
  async (command) => {
    const { status, stdout } = await stage.run([command, '--help']);
    expect(status).toBe(0);
    expect(stdout).toMatch(new RegExp(`Examples:\\n  # .+\\n  kubectl cpuset ${command}`));
  },
);

test('names and texts of others can’t move the cursor or look like another line', async () => {
  const evil = 'x\u001b[2Jy\nz\u202e';
  stage.addNode('a', {
    condition: { status: 'False', message: evil },
    summary: { alarms: [evil] },
    spec: { taints: [{ key: evil, value: evil, effect: 'NoSchedule' }] },
  });
  for (const args of [['nodes'], ['nodes', '--cpus', '1'], ['nodes', '-o', 'json'], ['nodes', '-o', 'yaml']]) {
    const { stdout } = await stage.run(args);
    expect(stdout).toMatch(/\\(?:u001b|e)\[2J/);
    expect(stdout).not.toMatch(/[\u001b\u202e]/);
  }
});

test.each(['/nodes list', 'topology.node.k8s.io/noderesourcetopologies list'])(
  'without the right %s the message names it, and the remedy',
  async (right) => {
    const rights = viewerRights();
    rights.delete(right);
    const other = await new Stage(new FakeApiServer({ rights })).start();
    const { status, stdout, stderr } = await other.run(['nodes']);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(/^kubectl cpuset: your identity may not list \S+ in the whole cluster: bind the roles of /);
    expect(stderr).toMatch(/check with kubectl auth can-i list \S+ --all-namespaces\n$/);
    await other.stop();
  },
);

test('without an API server the message tells it', async () => {
  await stage.server.stop();
  expect(await stage.run(['nodes'])).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/^kubectl cpuset: the API server at 127.0.0.1:\d+ can't be reached/) as string,
  });
  await stage.server.start();
});
