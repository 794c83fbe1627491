import { startPage } from '../admin/page/page-rig';
import { SampleBackend } from '../admin/sample-status';
import { addSampleCluster, Stage } from '../kubectl/stage';
import { listExamples, readPage } from './markdown';

// The examples of docs/kubectl.md; UPDATE_DOCS=1 writes them.

const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  nodes: ['nodes'],
  fits: ['nodes', '--cpus', '6', '--aligned', 'node'],
  top: ['top'],
  'why-not': ['why-not', 'shop/db'],
  'drain-check': ['drain-check', 'worker-1'],
  map: ['map', 'worker-1'],
  pods: ['pods', '--node', 'worker-1'],
};

const shown = new Map<string, string>();
beforeAll(async () => {
  const stage = await new Stage().start();
  const page = await startPage(new SampleBackend());
  addSampleCluster(stage);
  stage.addNode('worker-4', { steps: 'make a/x 9' });
  stage.addPod('shop', 'db', [7], {});
  stage.addPod('shop', 'web', [2], { node: 'worker-1', labels: { app: 'web' } });
  stage.addPod('shop', 'cache', [4], { node: 'worker-1' });
  stage.addDaemon('worker-1', page.port);
  stage.server.put('/apis/policy/v1/poddisruptionbudgets', {
    metadata: { namespace: 'shop', name: 'web' },
    spec: { selector: { matchLabels: { app: 'web' } } },
    status: { disruptionsAllowed: 0 },
  });
  for (const [name, args] of Object.entries(EXAMPLES)) {
    const { stdout } = await stage.run(args, { columns: 110 });
    shown.set(name, `$ kubectl cpuset ${args.join(' ')}\n${stdout}`.trimEnd());
  }
  await page.close();
  await stage.stop();
  if (process.env['UPDATE_DOCS']) readPage('kubectl.md', (name) => shown.get(name)!);
});

test.each(Object.keys(EXAMPLES))('the example %s is what the plugin prints', (name) => {
  expect(listExamples(readPage('kubectl.md')).get(name)).toBe(shown.get(name));
});

test('each example of the page is checked', () => {
  expect([...listExamples(readPage('kubectl.md')).keys()].sort()).toEqual(Object.keys(EXAMPLES).sort());
});
