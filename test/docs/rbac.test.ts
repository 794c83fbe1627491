import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startDaemon, waitUntil } from '../e2e/rig';
import { builtBundle } from '../support/built-bundle';
import { makeDaemonHost, rigArguments } from '../support/daemon-paths';
import { FakeApiServer } from '../support/kube/api-server';
import { readRequest, readRights, readRightsOf, rightOf } from '../support/kube/rbac';
import { NriRuntime } from '../support/nri-runtime';
import { slowness } from '../support/wait-until';
import { readPage } from './markdown';

// deploy/components/api-server/rbac.yaml against what the daemon really asks for: the built daemon, a runtime that
// speaks NRI, and an API server that enforces the rights of the file.

const NODES = '/api/v1/nodes';
const EVENTS = '/api/v1/events';

let folder: string;
beforeAll(() => {
  builtBundle();
  folder = mkdtempSync(join(tmpdir(), 'cpusetd-rbac-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

test.each`
  method     | path                                                               | query                | want
  ${'GET'}   | ${'/api/v1/pods'}                                                  | ${{}}                | ${'/pods list'}
  ${'GET'}   | ${'/api/v1/pods'}                                                  | ${{ watch: 'true' }} | ${'/pods watch'}
  ${'GET'}   | ${'/api/v1/nodes/n1'}                                              | ${{}}                | ${'/nodes get'}
  ${'GET'}   | ${'/api/v1/nodes'}                                                 | ${{ watch: 'true' }} | ${'/nodes watch'}
  ${'GET'}   | ${'/api/v1/nodes/n1/proxy/configz'}                                | ${{}}                | ${'/nodes/proxy get'}
  ${'PATCH'} | ${'/api/v1/nodes/n1/status'}                                       | ${{}}                | ${'/nodes/status patch'}
  ${'POST'}  | ${'/api/v1/namespaces/default/events'}                             | ${{}}                | ${'/events create'}
  ${'PATCH'} | ${'/api/v1/namespaces/default/events/e1'}                          | ${{}}                | ${'/events patch'}
  ${'PATCH'} | ${'/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies/n1'} | ${{}}                | ${'topology.node.k8s.io/noderesourcetopologies patch'}
`(
  '$method $path needs: $want',
  ({ method, path, query, want }: Record<'method' | 'path' | 'want', string> & { query: Record<string, string> }) => {
    expect(rightOf(readRequest(method, path, query)!)).toBe(want);
  },
);

test('docs/scheduling.md lists the rights of the role', () => {
  const [, sentence = ''] = /^The role has (.+?)\. /ms.exec(readPage('scheduling.md')) ?? [];
  const listed = sentence.split(';').flatMap((part) => {
    const [, verbs = '', resource = ''] = /^\s*(.+?)\s+of\s+(.+)$/s.exec(part) ?? [];
    const kinds = resource.includes('NodeResourceTopology')
      ? ['topology.node.k8s.io/noderesourcetopologies', 'topology.crane.io/noderesourcetopologies']
      : [`/${resource.replaceAll('`', '')}`];
    return kinds.flatMap((kind) => [...verbs.matchAll(/\w+/g)].map(([verb]) => `${kind} ${verb}`));
  });
  expect(listed.sort()).toEqual([...readRights({ withOptional: false })].sort());
});

test('docs/scheduling.md lists the rights of the role for usage rules', () => {
  const [, sentence = ''] = /^Usage rules need .+? It has (.+?)\. /ms.exec(readPage('scheduling.md')) ?? [];
  const groupOf = (kind: string): string =>
    /qoss$|^avoidance/.test(kind) ? 'ensurance.crane.io' : kind.endsWith('predictions') ? 'prediction.crane.io' : '';
  const listed = sentence.split(';').flatMap((part) => {
    const [, verbs = '', kinds = ''] = /^\s*(.+?)\s+of\s+(.+)$/s.exec(part) ?? [];
    return [...kinds.matchAll(/[\w/]+/g)].flatMap(([kind]) =>
      [...verbs.matchAll(/\w+/g)].map(([verb]) => `${groupOf(kind)}/${kind} ${verb}`),
    );
  });
  expect(listed.sort()).toEqual([...readRightsOf('components/qos/rbac.yaml')].sort());
});

test('with every option on, the daemon asks for each right of the file, and for no other', async () => {
  const api = new FakeApiServer();
  await api.start();
  writeFileSync(join(folder, 'kubeconfig'), api.kubeconfig);
  api.put(NODES, { metadata: { name: 'n1', uid: 'uid-n1', labels: {} }, status: { conditions: [] } });
  api.put('configz', {
    metadata: { name: 'n1' },
    kubeletconfig: { cpuManagerPolicy: 'none', reservedSystemCPUs: '0' },
  });
  const runtime = await NriRuntime.listen({ socketPath: join(folder, 'nri.sock') });
  makeDaemonHost(folder, '1x4x2');
  const options = {
    'nri-socket': join(folder, 'nri.sock'),
    'cri-endpoint': 'off',
    'reserved-cpus': '0',
    kubeconfig: join(folder, 'kubeconfig'),
    'node-name': 'n1',
    'node-resource-topology': 'both',
    'kube-events': 'on',
    'node-condition': 'on',
    'kubelet-config': 'configz',
  };
  const daemon = startDaemon({ args: rigArguments(folder, options) });
  const asked = (): Set<string> =>
    new Set(api.requests.map(({ method, path, query }) => rightOf(readRequest(method, path, query)!)));
  const hasAsked = (right: string): Promise<void> => waitUntil(right, () => asked().has(right));
  const kinds = ['topology.node.k8s.io', 'topology.crane.io'].map((group) => `${group}/noderesourcetopologies`);
  try {
    await daemon.ready();
    for (const kind of kinds) await hasAsked(`${kind} create`);
    await hasAsked('/pods watch');
    await hasAsked('/nodes/status patch');
    // A container takes a CPU: what is published changes. One that asks for too many is refused, and again: an event,
    // counted up.
    const pod = await runtime.runPod({ name: 'db', qos: 'guaranteed' });
    await runtime.createContainer(pod, { name: 'db', milliCpu: 1_000, memoryBytes: 1 << 26 });
    for (const kind of kinds) await hasAsked(`${kind} patch`);
    const greedy = await runtime.runPod({ name: 'greedy', qos: 'guaranteed' });
    const tooMany = { name: 'greedy', milliCpu: 1_000_000, memoryBytes: 1 << 26 };
    await expect(runtime.createContainer(greedy, tooMany)).rejects.toThrow(/exclusive CPU/);
    await waitUntil('the event', () => api.listAll(EVENTS).length > 0);
    await expect(runtime.createContainer(greedy, tooMany)).rejects.toThrow(/exclusive CPU/);
    await hasAsked('/events patch');
    await hasAsked('/nodes/proxy get');
    await hasAsked('/nodes watch');
    // A label of the Node is in what is published soon after.
    const begunMs = performance.now();
    const labels = { 'topology.crane.io/topology-awareness': 'false' };
    api.put(NODES, { metadata: { name: 'n1', uid: 'uid-n1', labels }, status: { conditions: [] } });
    await waitUntil('the label', () =>
      api
        .listAll('/apis/topology.crane.io/v1alpha1/noderesourcetopologies')
        .some((topology) => JSON.stringify(topology['craneManagerPolicy']).includes('"topologyManagerPolicy":"None"')),
    );
    expect(performance.now() - begunMs).toBeLessThan(10_000 * slowness());
  } finally {
    await daemon.dispose();
    await runtime.close();
    await api.stop();
  }
  const pods = api.requests.filter(({ path }) => path === '/api/v1/pods');
  for (const { query } of pods) expect(query['fieldSelector']).toBe('spec.nodeName=n1'); // RBAC can't say so
  const nodes = api.requests.filter(({ path }) => path === NODES);
  for (const { query } of nodes) expect(query['fieldSelector']).toBe('metadata.name=n1');
  expect([...asked()].sort()).toEqual([...readRights({ withOptional: true })].sort());
  const optional = [...readRights({ withOptional: true })].filter(
    (right) => !readRights({ withOptional: false }).has(right),
  );
  expect(optional).toEqual(['/nodes/proxy get']);
});
