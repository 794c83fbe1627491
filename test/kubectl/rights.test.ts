import { readPage, readTable } from '../docs/markdown';
import { startPage } from '../admin/page/page-rig';
import { SampleBackend } from '../admin/sample-status';
import { FakeApiServer } from '../support/kube/api-server';
import { readRequest, rightOf } from '../support/kube/rbac';
import { addSampleCluster, CRANE, Stage, viewerRights } from './stage';

// The table of rights in docs/kubectl.md, against what each command asks for.

const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  nodes: ['nodes'],
  top: ['top'],
  'why-not': ['why-not', 'shop/db'],
  'drain-check': ['drain-check', 'worker-1'],
  map: ['map', 'worker-1'],
  pods: ['pods'],
  explain: ['explain', 'shop/web'],
  events: ['events'],
};

/** By group and resource as in the file, without those of the other way to a daemon. */
async function rightsUsedBy(args: readonly string[], isReachable: boolean): Promise<string[]> {
  const stage = await new Stage(new FakeApiServer({ rights: viewerRights() })).start();
  const page = await startPage(new SampleBackend());
  try {
    addSampleCluster(stage);
    stage.addPod('shop', 'db', [3]);
    stage.addPod('shop', 'web', [2], { node: 'worker-1' });
    stage.addDaemon('worker-1', page.port, isReachable ? ['--http-address=0.0.0.0:14710'] : []);
    await stage.run(args);
    expect(stage.server.requests.length).toBeGreaterThan(0);
    const used = stage.server.requests.map(({ method, path, query }) => rightOf(readRequest(method, path, query)!));
    return [...new Set(used)].sort();
  } finally {
    await page.close();
    await stage.stop();
  }
}

const table = readTable(readPage('kubectl.md'), '### Rights');

test.each(table.map(([commands, rights]) => [commands!, rights!] as const))('%s needs %s', async (commands, rights) => {
  const expected = rights.split(', ').map((right) => {
    const [verb, resource] = right.split(' ') as [string, string];
    const [name, ...group] = resource.split('.');
    return `${group.join('.')}/${name} ${verb}`;
  });
  for (const command of commands.split(', ')) {
    const used = [await rightsUsedBy(COMMANDS[command]!, true), await rightsUsedBy(COMMANDS[command]!, false)].flat();
    // A WebSocket is a GET: whether `create` is asked for too depends on the version of the API server.
    const all = used.includes('/pods/portforward get') ? [...used, '/pods/portforward create'] : used;
    expect({ command, rights: [...new Set(all)].sort() }).toEqual({ command, rights: expected.sort() });
  }
});

test('the table has every command, and deploy/kubectl/viewer.yaml exactly its rights and Crane’s kind', () => {
  const commands = table.flatMap(([cell]) => cell!.split(', '));
  expect(commands.sort()).toEqual(Object.keys(COMMANDS).sort());
  const rights = table
    .flatMap(([, cell]) => cell!.split(', '))
    .map((right) => {
      const [verb, resource] = right.split(' ') as [string, string];
      const [name, ...group] = resource.split('.');
      return `${group.join('.')}/${name} ${verb}`;
    });
  const crane = 'topology.crane.io/noderesourcetopologies list';
  expect([...viewerRights()].sort()).toEqual([...new Set([...rights, crane])].sort());
});

test('Crane’s kind is asked for where no object of the community’s is', async () => {
  const stage = await new Stage().start();
  stage.addNode('a', { publishes: 'crane' });
  await stage.run(['nodes']);
  expect(stage.paths).toContain(CRANE);
  await stage.stop();
});
