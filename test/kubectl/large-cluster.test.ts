import { leastCpuMsOfAsync } from '../support/cpu-time';
import { FakeApiServer, type Json } from '../support/kube/api-server';
import { COMMUNITY, Stage, viewerRights } from './stage';

// 1,000 nodes as large as those of real clusters: fifty images, and who manages which field.

const NODES = 1_000;
const PODS_PER_NODE = 10;
const MOST_MS = 3_000;

let stage: Stage;
beforeAll(async () => {
  stage = await new Stage(new FakeApiServer({ rights: viewerRights() })).start();
  stage.addNode('template', { steps: 'make a/x 5; make b/x 5' });
  const { server } = stage;
  const [node, topology] = [server.get('/api/v1/nodes', 'template')!, server.get(COMMUNITY, 'template')!];
  server.remove('/api/v1/nodes', node);
  server.remove(COMMUNITY, topology);
  const images = Array.from({ length: 50 }, (_, i) => {
    return { names: [`registry.example/team/image-${i}@sha256:${'0123456789abcdef'.repeat(4)}`], sizeBytes: 1e8 + i };
  });
  const managedFields = Array.from({ length: 4 }, (_, i) => {
    return { manager: `manager-${i}`, fieldsV1: Object.fromEntries(images.map((_image, j) => [`f:field-${j}`, {}])) };
  });
  for (let i = 0; i < NODES; i++) {
    const metadata = { name: `worker-${i}`, labels: { zone: 'a' }, managedFields };
    server.put('/api/v1/nodes', { ...node, metadata, status: { ...(node['status'] as Json), images } });
    server.put(COMMUNITY, { ...topology, metadata: { name: `worker-${i}`, managedFields } });
    for (let pod = 0; pod < PODS_PER_NODE; pod++)
      stage.addPod('shop', `web-${i}-${pod}`, ['500m'], { node: `worker-${i}` });
  }
  stage.addPod('shop', 'db', [3]);
});
afterAll(() => stage.stop());

test.each([
  [['nodes'], NODES + 1],
  [['nodes', '--cpus', '3', '--aligned', 'node'], NODES + 1],
  [['top'], NODES + 1],
  [['why-not', 'shop/db'], NODES + 3],
])('%j of 1,000 nodes takes less than 3 s, the API server of the test included', async (args, lines) => {
  let stdout = '';
  const run = async (): Promise<unknown> => ({ stdout } = await stage.run(args));
  const cpuMs = await leastCpuMsOfAsync(run, { limitMs: MOST_MS });
  expect(stdout.trimEnd().split('\n')).toHaveLength(lines);
  expect(cpuMs).toBeLessThan(MOST_MS);
  if (process.env['CPUSETD_FIGURES']) process.stderr.write(`${args.join(' ')}: ${Math.round(cpuMs)} ms\n`);
});

test('the lists come in pages', async () => {
  stage.server.requests.length = 0;
  await stage.run(['nodes']);
  const lists = stage.server.requests.filter(({ path }) => path === '/api/v1/nodes');
  expect(lists.map(({ query }) => query['limit'])).toEqual(['500', '500']);
});
