import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApiServer } from '../../../src/app/apiserver/api-server';
import type { Config } from '../../../src/app/config';
import type { NodeEvent } from '../../../src/core/model/events';
import type { Cgroups } from '../../../src/host';
import type { PromiseCounts } from '../../../src/kube';
import { NodeDriver } from '../../core/transition/node-driver';
import { contextOf } from '../../support/daemon-context';
import { FakeApiServer } from '../../support/kube/api-server';
import { waitUntil } from '../../support/wait-until';

let folder: string;
let server: FakeApiServer;
let stop: AbortController;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'api-server-'));
  server = new FakeApiServer();
  stop = new AbortController();
  await server.start();
});
afterEach(async () => {
  stop.abort();
  await server.stop();
  rmSync(folder, { recursive: true });
});

function pod(name: string, nodeName: string): Record<string, unknown> {
  return {
    metadata: { name, namespace: 'ns', uid: `uid-${name}` },
    spec: { nodeName, containers: [{ name: 'c', image: 'x' }] },
    status: { phase: 'Running', qosClass: 'BestEffort' },
  };
}

const NO_PROMISES: PromiseCounts = { pinned: 0, verdicts: {} };

function open(options: Partial<Config> = {}, promises = (): PromiseCounts => NO_PROMISES) {
  writeFileSync(join(folder, 'kubeconfig'), server.kubeconfig);
  const events: NodeEvent[] = [];
  const node = new NodeDriver();
  node.send({ kind: 'synchronize', pods: [], containers: [] });
  const context = contextOf({
    model: node.model,
    cgroups: {} as Cgroups,
    signal: stop.signal,
    config: {
      mode: 'nri',
      nodeName: 'n1',
      kubeconfig: { kind: 'file', path: join(folder, 'kubeconfig') },
      nodeResourceTopology: 'off',
      topologyPodFingerprint: 'off',
      ...options,
    },
  });
  const apiServer = new ApiServer({
    context,
    transactor: { handle: (event) => (events.push(event), { kind: 'ok' }) },
    kubelet: { isStatic: false, config: undefined, accept: () => undefined },
    labels: { wanted: new Promise(() => undefined), accept: () => undefined },
    promises: { counts: promises, gap: () => undefined },
  });
  return { apiServer, context, events, ended: apiServer.run(stop.signal) };
}

test('only pods of this node reach the transactor, and the source counts them', async () => {
  server.put('/api/v1/pods', pod('mine', 'n1'));
  server.put('/api/v1/pods', pod('other', 'n2'));
  const { apiServer, context, events, ended } = open();
  await waitUntil('ready', () => apiServer.source.state === 'ready' && events.length > 0);
  expect(JSON.stringify(events)).toContain('mine');
  expect(JSON.stringify(events)).not.toContain('other');
  expect(apiServer.source).toMatchObject({ pods: 1, heardAt: '2026-01-01T00:00:00Z' });
  expect(context.health.get('kube')).toBe('SERVING');
  stop.abort();
  await ended;
});

test('given the node condition, an alarm is published on the Node', async () => {
  server.put('/api/v1/nodes', { metadata: { name: 'n1', uid: 'node-uid' }, status: {} });
  const { context, ended } = open({ nodeCondition: true });
  context.health.set('nri', 'SERVING');
  const seen = () => JSON.stringify(server.get('/api/v1/nodes', 'n1') ?? {});
  await waitUntil('published', () => seen().includes('CpusetdReady'));
  context.alarms.raise('state-not-saved', '', 'the disk is full');
  context.events.emit('alarmsChanged');
  await waitUntil('the alarm', () => seen().includes('the disk is full'));
  stop.abort();
  await ended;
});

const conditionOf = (name: string): Record<string, string> | undefined => {
  const { conditions = [] } = (server.get('/api/v1/nodes', name)?.['status'] ?? {}) as {
    conditions?: Record<string, string>[];
  };
  return conditions.find(({ type }) => type === 'CpusetdReady');
};

test('given the node condition, an orderly end is published before run has ended', async () => {
  server.put('/api/v1/nodes', { metadata: { name: 'n1', uid: 'node-uid' }, status: {} });
  const { context, ended } = open({ nodeCondition: true });
  context.health.set('nri', 'SERVING');
  context.events.emit('alarmsChanged');
  await waitUntil('published', () => conditionOf('n1')?.['status'] === 'True');
  stop.abort();
  await ended;
  expect(conditionOf('n1')).toMatchObject({
    status: 'False',
    reason: 'Stopped',
    message: 'cpusetd was stopped: new containers are not pinned',
  });
});

test('without the node condition, nothing is written to the Node at the end', async () => {
  server.put('/api/v1/nodes', { metadata: { name: 'n1', uid: 'node-uid' }, status: {} });
  const { apiServer, ended } = open();
  await waitUntil('ready', () => apiServer.source.state === 'ready');
  stop.abort();
  await ended;
  expect(server.requests.filter(({ method }) => method === 'PATCH')).toEqual([]);
  expect(conditionOf('n1')).toBeUndefined();
});

test('given the node condition and an API server that is silent, the end waits two seconds for it and no longer', async () => {
  server.put('/api/v1/nodes', { metadata: { name: 'n1', uid: 'node-uid' }, status: {} });
  const { ended } = open({ nodeCondition: true });
  await waitUntil('published', () => conditionOf('n1') !== undefined);
  server.trouble = () => ({ hang: true });
  const beganAt = performance.now();
  stop.abort();
  await ended;
  const tookMs = performance.now() - beganAt;
  expect(tookMs).toBeGreaterThan(1_900); // it was tried
  expect(tookMs).toBeLessThan(6_000); // of a busy machine; a call has 15 s elsewhere
});

test('a verdict of a round is published, and a round without another one is not', async () => {
  const topologies = '/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies';
  server.put('/api/v1/nodes', { metadata: { name: 'n1', uid: 'node-uid' } });
  let counts = NO_PROMISES;
  const { context, ended } = open({ nodeResourceTopology: 'community' }, () => counts);
  const published = () => JSON.stringify(server.get(topologies, 'n1') ?? {});
  await waitUntil('published', () => published().includes('cpusetd.io/summary'));
  expect(published()).not.toContain('drifted');
  counts = { pinned: 0, verdicts: { drifted: 1 } };
  context.events.emit('changed');
  await waitUntil('the drift', () => published().includes('drifted'));
  const writes = server.requests.length;
  context.events.emit('changed');
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(server.requests.length).toBe(writes);
  stop.abort();
  await ended;
});

test('given the node condition, a Node that was deleted and registered again has it soon', async () => {
  const nodes = '/api/v1/nodes';
  const node = (uid: string) => ({ metadata: { name: 'n1', uid }, status: {} });
  server.put(nodes, node('first'));
  const { ended } = open({ nodeCondition: true });
  const hasCondition = (uid: string) => {
    const found = JSON.stringify(server.get(nodes, 'n1') ?? {});
    return found.includes(uid) && found.includes('CpusetdReady');
  };
  await waitUntil('published', () => hasCondition('first') && server.openWatches > 1);
  server.remove(nodes, node('first'));
  server.put(nodes, node('second'));
  await waitUntil('published again', () => hasCondition('second'), 10_000);
  stop.abort();
  await ended;
});

test('run ends on abort, also while the API server does not answer', async () => {
  server.trouble = () => ({ hang: true });
  const { apiServer, ended } = open();
  await waitUntil('asked', () => server.requests.length > 0);
  expect(apiServer.source).toMatchObject({ state: 'connecting', pods: 0 });
  stop.abort();
  await ended;
});
