import type { PageRig } from '../admin/page/page-rig';
import { startPage } from '../admin/page/page-rig';
import { SampleBackend, sampleStatus } from '../admin/sample-status';
import { FakeApiServer } from '../support/kube/api-server';
import { expectGolden } from './golden';
import { addSampleCluster, Stage, viewerRights } from './stage';

// Facts that one node alone knows: asked of the real HTTP endpoint, through a fake API server.

let stage: Stage;
let page: PageRig;
const at = '2026-11-21T10:00:00.000Z';
const REACHABLE = '--http-address=0.0.0.0:14710';

beforeEach(async () => {
  stage = await new Stage().start();
  page = await startPage(new SampleBackend());
  page.records = [
    {
      seq: 1,
      at,
      kind: 'pinned',
      pod: 'default/web',
      podUid: 'uid-web',
      container: 'app',
      cpus: '2-3',
      because: 'free',
    },
    { seq: 2, at, kind: 'alarm', alarm: 'repairs-stopped', because: 'someone changes it again' },
  ] as never;
  addSampleCluster(stage);
  stage.addPod('default', 'web', [2], { node: 'worker-1' });
});
afterEach(async () => {
  await page.close();
  await stage.stop();
});

const COMMANDS = [
  ['map', 'worker-1'],
  ['pods', '--node', 'worker-1'],
  ['explain', 'default/web'],
  ['events', '--node', 'worker-1'],
];

test.each([80, 120])('map, pods, explain and events in a terminal of %i columns', async (columns) => {
  stage.addDaemon('worker-1', page.port, [REACHABLE]);
  const shown: string[] = [];
  for (const args of COMMANDS) {
    const { stdout, stderr, status } = await stage.run(args, { columns });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(columns);
    shown.push(`$ kubectl cpuset ${args.join(' ')}\n${stdout}`);
  }
  expectGolden(`daemons-${columns}`, shown.join('\n'));
});

test('a forwarded port gives the same answers as the proxy, and reaches a daemon on loopback', async () => {
  stage.addDaemon('worker-1', page.port, [REACHABLE]);
  const byProxy = await Promise.all(COMMANDS.map((args) => stage.run(args)));
  stage.server.requests.length = 0;
  stage.addDaemon('worker-1', page.port, ['--http-address', '14710']);
  const byPort = await Promise.all(COMMANDS.map((args) => stage.run(args)));
  expect(byPort).toEqual(byProxy);
  expect(stage.paths.filter((path) => path.includes('cpusetd-worker-1'))).toEqual([
    '/api/v1/namespaces/cpusetd/pods/cpusetd-worker-1/portforward',
  ]);
});

test.each([
  [[], 'portforward', '14710'],
  [['--http-address=8080'], 'portforward', '8080'],
  [['--http-address', '127.0.0.1:8080'], 'portforward', '8080'],
  [['--http-address=[::]:8080'], 'proxy', '8080'],
  [['--http-address=192.0.2.7:8080'], 'proxy', '8080'],
])('with the arguments %j it is asked by %s on port %s', async (args, way, port) => {
  stage.addDaemon('worker-1', page.port, args);
  expect(await stage.run(['map', 'worker-1'])).toMatchObject({ status: 0 });
  const { path, query } = stage.server.requests.at(-1)!;
  expect(path).toContain(way);
  expect(way === 'proxy' ? /:(\d+)\/proxy/.exec(path)![1] : query['ports']).toBe(port);
});

test('--via and --daemon-port come before what the pod says', async () => {
  stage.addDaemon('worker-1', page.port, [REACHABLE]);
  await stage.run(['map', 'worker-1', '--via', 'port-forward', '--daemon-port', '9']);
  expect(stage.server.requests.at(-1)).toMatchObject({ query: { ports: '9' } });
});

const startWithout = async (args: readonly string[], ...missing: string[]): Promise<Stage> => {
  const rights = viewerRights();
  for (const right of missing) rights.delete(right);
  const other = await new Stage(new FakeApiServer({ rights })).start();
  other.addDaemon('worker-1', page.port, args);
  return other;
};

test('the right that is missing is named, of both ways where both were tried; one of them is enough', async () => {
  const without = await startWithout([REACHABLE], '/pods/proxy get', '/pods/portforward create');
  const { status, stderr } = await without.run(['map', 'worker-1']);
  expect(status).toBe(1);
  expect(stderr).toContain('may not get pods/proxy in namespace cpusetd: bind the roles of deploy/kubectl/viewer.yaml');
  expect(stderr).toContain('; or your identity may not create pods/portforward in namespace cpusetd');
  await without.stop();
  const half = await startWithout([REACHABLE], '/pods/proxy get');
  expect(await half.run(['map', 'worker-1'])).toMatchObject({ status: 0, stderr: '' });
  await half.stop();
});

test('given an address that the arguments do not tell, then the proxy is tried where no port may be forwarded', async () => {
  const other = await startWithout([], '/pods/portforward create');
  const { status, stderr } = await other.run(['map', 'worker-1', '--daemon-port', String(page.port)]);
  expect(stderr).toBe('');
  expect(status).toBe(0);
  expect(other.server.requests.at(-1)!.path).toContain('/proxy/');
  await other.stop();
});

test('a node without a daemon, a daemon without the endpoint and an answer of something else are told', async () => {
  expect((await stage.run(['map', 'worker-1'])).stderr).toMatch(/has no pod of cpusetd in namespace cpusetd/);
  stage.addDaemon('worker-1', undefined);
  expect((await stage.run(['map', 'worker-1'])).stderr).toMatch(
    /the daemon of node worker-1 does not answer: .*connection refused; is it started with --http-address\?/,
  );
  stage.addDaemon('worker-1', page.port);
  page.backend.shownTopology = {} as never;
  expect((await stage.run(['map', 'worker-1'])).stderr).toMatch(/does not answer|not understood/);
});

test('pods and events of several nodes: what does not answer is told, and the others are shown', async () => {
  stage.addDaemon('worker-1', page.port);
  stage.addDaemon('worker-2', undefined);
  const { status, stdout, stderr } = await stage.run(['pods']);
  expect(status).toBe(1);
  expect(stdout).toMatch(/default\/web +app +worker-1 /);
  expect(stderr).toMatch(/^kubectl cpuset: the daemon of node worker-2 does not answer/);
  expect(await stage.run(['events', '--kind', 'alarm'])).toMatchObject({
    status: 1,
    stdout: expect.stringMatching(/worker-1 +alarm/) as string,
  });
});

test('pods without --node: the nodes that have no daemon are named, and nothing is said of their containers', async () => {
  const sentence = 'could not be asked, without a pod of cpusetd in namespace cpusetd:';
  expect(await stage.run(['pods'])).toEqual({
    status: 1,
    stdout: 'No node has answered.\n',
    stderr: `kubectl cpuset: 3 nodes ${sentence} worker-1, worker-2, worker-3\n`,
  });
  stage.addDaemon('worker-1', page.port);
  expect(await stage.run(['pods', '--namespace', 'other'])).toEqual({
    status: 1,
    stdout: 'No pinned containers on the nodes that have answered.\n',
    stderr: `kubectl cpuset: 2 nodes ${sentence} worker-2, worker-3\n`,
  });
  expect(await stage.run(['pods', '--namespace', 'other', '--node', 'worker-1'])).toEqual({
    status: 0,
    stdout: 'No pinned containers.\n',
    stderr: '',
  });
  expect(await stage.run(['events', '--kind', 'gap'])).toMatchObject({
    status: 1,
    stdout: 'No such events among the last records on the nodes that have answered.\n',
  });
});

test('pods in a cluster without cpusetd: it is told, and no containers are denied', async () => {
  const other = await new Stage().start();
  try {
    other.addNode('a', { publishes: 'none', condition: null });
    expect(await other.run(['pods'])).toEqual({
      status: 1,
      stdout: 'No node has answered.\n',
      stderr: 'kubectl cpuset: no node has a pod of cpusetd in namespace cpusetd\n',
    });
  } finally {
    await other.stop();
  }
});

test('pods: all, of a namespace, and those that need a look', async () => {
  stage.addDaemon('worker-1', page.port);
  const names = async (...args: string[]): Promise<string[]> => {
    const { stdout } = await stage.run(['pods', ...args, '-o', 'json']);
    const { containers } = JSON.parse(stdout) as { containers: { pod: string; container: string }[] };
    return containers.map(({ pod, container }) => `${pod}/${container}`);
  };
  expect(await names()).toEqual(['far/numa', 'web/app']);
  expect(await names('--all')).toEqual(['far/numa', 'old/x', 'web/app', 'web/sidecar']);
  expect(await names('--namespace', 'other')).toEqual([]);
  expect(await names('--drifted')).toEqual(expect.arrayContaining(['web/app']));
});

test('explain: a refused pod, one that is not bound yet, and one that the daemon does not know', async () => {
  stage.addDaemon('worker-1', page.port);
  const explain = page.backend.explain.bind(page.backend);
  page.backend.explain = () => ({
    kind: 'containers',
    containers: [],
    idle: [],
    refused: page.backend.refused,
    others: [],
  });
  expect((await stage.run(['explain', 'default/web'])).stdout).toContain('2 more CPUs have to come free');
  page.backend.explain = explain;
  stage.addPod('default', 'pending', [2]);
  expect(await stage.run(['explain', 'default/pending'])).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('kubectl cpuset why-not default/pending shows') as string,
  });
});

test('what a daemon says can’t move the cursor', async () => {
  stage.addDaemon('worker-1', page.port);
  const evil = 'x\u001b[2Jy\nz';
  const [first, ...others] = sampleStatus.containers;
  page.backend.current = { ...sampleStatus, containers: [{ ...first!, pod: evil, because: evil }, ...others] };
  page.records = [{ seq: 1, at, kind: 'pinned', pod: evil, because: evil }] as never;
  for (const args of [['pods', '--all'], ['events'], ['pods', '--all', '-o', 'json']]) {
    const { stdout } = await stage.run(args);
    expect(stdout).toContain('\\u001b[2J');
    expect(stdout).not.toContain('\u001b');
  }
});
