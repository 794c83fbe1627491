import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { KubeClient } from '../../../src/kube/api/kube-client';
import { NodeInformer } from '../../../src/kube/nodes/node-informer';
import { FakeApiServer, type SeenRequest } from '../../support/kube/api-server';
import { slowness, waitUntil } from '../../support/wait-until';

const NODES = '/api/v1/nodes';
const LABEL = 'topology.crane.io/topology-awareness';
const folder = mkdtempSync(join(tmpdir(), 'node-'));
const closers: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});
afterAll(() => rmSync(folder, { recursive: true }));

const node = (labels: Record<string, string> = {}, uid = 'u1', name = 'n1') => ({ metadata: { name, uid, labels } });
const isWatch = ({ path, query }: SeenRequest): boolean => path === NODES && query['watch'] === 'true';
const isRead = ({ path }: SeenRequest): boolean => path === `${NODES}/n1`;

interface Options {
  readonly trouble?: FakeApiServer['trouble'];
  readonly pollMs?: number;
  readonly hasNode?: boolean;
  /** `onNode` throws. */
  readonly isBroken?: () => boolean;
}

async function follow({ trouble, pollMs = 60_000, hasNode = true, isBroken = () => false }: Options = {}) {
  const server = new FakeApiServer();
  await server.start();
  closers.push(() => server.stop());
  if (trouble) server.trouble = trouble;
  if (hasNode) server.put(NODES, node({ a: '1' }));
  server.put(NODES, node({}, 'u2', 'n2'));
  const path = join(folder, `kubeconfig-${closers.length}`);
  writeFileSync(path, server.kubeconfig);
  const stop = new AbortController();
  const logged: { readonly level: number; readonly msg: string; readonly verb?: string; readonly resource?: string }[] =
    [];
  const informer = new NodeInformer({
    client: new KubeClient({ kind: 'file', path }, stop.signal),
    nodeName: 'n1',
    onChange: () => changes.push(informer.node!.labels),
    onNode: (object) => {
      seen.push((object as { status?: object } | undefined)?.status ?? object);
      if (isBroken()) throw new Error('a fault of the caller');
    },
    log: pino({ level: 'info' }, { write: (line: string) => void logged.push(JSON.parse(line) as (typeof logged)[0]) }),
    signal: stop.signal,
    pollMs,
  });
  const changes: Readonly<Record<string, string>>[] = [];
  const seen: unknown[] = [];
  const ended = informer.follow();
  closers.push(() => (stop.abort(), ended));
  await waitUntil('the Node is known', () => informer.node !== undefined);
  return { server, informer, changes, logged, seen };
}

test('the Node is known, and the watch reports a changed label once', async () => {
  const { server, informer, changes } = await follow();
  expect(informer.node).toEqual({ name: 'n1', uid: 'u1', labels: { a: '1' } });
  await waitUntil('the watch', () => server.openWatches === 1);
  server.put(NODES, { ...node({ a: '1' }), status: { heartbeat: 1 } }); // irrelevant
  server.put(NODES, node({ [LABEL]: 'false' }, 'u2', 'n2')); // another Node
  const begunMs = performance.now();
  server.put(NODES, node({ a: '1', [LABEL]: 'false' }));
  await waitUntil('the label', () => changes.length === 2);
  expect(performance.now() - begunMs).toBeLessThan(10_000 * slowness());
  expect(changes).toEqual([{ a: '1' }, { a: '1', [LABEL]: 'false' }]);
  expect(server.requests.filter(isRead)).toHaveLength(1);
});

test('each state of the Node is passed on whole, also one that changes no label, and its end', async () => {
  const { server, seen, changes } = await follow();
  await waitUntil('the watch', () => server.openWatches === 1);
  server.put(NODES, { ...node({ a: '1' }), status: { capacity: { 'gocrane.io/cpu': '0' } } });
  await waitUntil('the status', () => seen.length === 2);
  expect(seen[1]).toEqual({ capacity: { 'gocrane.io/cpu': '0' } });
  expect(changes).toHaveLength(1);
  server.remove(NODES, node());
  await waitUntil('the end', () => seen.length === 3);
  expect(seen[2]).toBeUndefined();
});

test('given a caller that throws, the Node is followed all the same, and the log says so', async () => {
  const { server, informer, logged } = await follow({ isBroken: () => true });
  await waitUntil('the watch', () => server.openWatches === 1);
  server.put(NODES, node({ b: '2' }));
  await waitUntil('the label', () => informer.node?.labels['b'] === '2');
  expect(logged.map(({ level, msg }) => [level, msg])).toEqual([
    [50, 'taking over the Node failed'],
    [50, 'taking over the Node failed'],
  ]);
});

test('a change while the watch is down is seen when it is back', async () => {
  const { server, informer } = await follow();
  await waitUntil('the watch', () => server.openWatches === 1);
  server.cutConnections();
  server.put(NODES, node({ b: '2' }));
  await waitUntil('the label', () => informer.node?.labels['b'] === '2');
});

test('a Node that is created again has another uid', async () => {
  const { server, informer } = await follow();
  await waitUntil('the watch', () => server.openWatches === 1);
  server.remove(NODES, node());
  await waitUntil('it is gone', () => informer.node?.uid === '');
  server.put(NODES, node({}, 'u-new'));
  await waitUntil('the new one', () => informer.node?.uid === 'u-new');
});

test.each<[string, Options, string]>([
  ['no Node of this name', { hasNode: false }, ''],
  ['no right to read', { trouble: (seen) => (isRead(seen) ? { status: 403 } : undefined) }, 'get'],
])('%s: only the name of the Node is known', async (_name, options, verb) => {
  const { informer, logged, server } = await follow({ ...options, pollMs: 5 });
  expect(informer.node).toEqual({ name: 'n1', uid: '', labels: {} });
  await waitUntil('it asks again', () => server.requests.filter(isRead).length > 2);
  expect(logged.map((line) => line.verb)).toEqual(verb === '' ? [] : [verb]);
});

test('without the right to watch the Node is read again and again, with one line at info', async () => {
  const { server, informer, logged } = await follow({
    trouble: (seen) => (isWatch(seen) ? { status: 403 } : undefined),
    pollMs: 5,
  });
  server.put(NODES, node({ b: '2' }));
  await waitUntil('the label', () => informer.node?.labels['b'] === '2');
  await waitUntil('it tries to watch', () => server.requests.filter(isWatch).length > 2);
  expect(logged).toEqual([expect.objectContaining({ level: 30, verb: 'watch', resource: 'nodes' })]);
});

test('a server that ends each watch at once is called with pauses', async () => {
  const { server } = await follow({ trouble: (seen) => (isWatch(seen) ? { status: 410 } : undefined) });
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  expect(server.requests.filter(isWatch).length).toBeLessThanOrEqual(4);
});
