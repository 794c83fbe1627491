import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import type { PodSpec } from '../../../src/core/model/pod-spec';
import { KubeClient } from '../../../src/kube/api/kube-client';
import { PodInformer } from '../../../src/kube/pods/pod-informer';
import { FakeApiServer, type SeenRequest } from '../../support/kube/api-server';
import { deepFields, endlessFields } from '../../support/kube/managed-fields';
import { waitUntil } from '../../support/wait-until';

const PODS = '/api/v1/pods';
const folder = mkdtempSync(join(tmpdir(), 'kube-'));
const closers: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});
afterAll(() => rmSync(folder, { recursive: true }));

function pod(name: string, annotations: Record<string, string> = {}, nodeName = 'n1') {
  return {
    metadata: { name, namespace: 'default', uid: `uid-${name}`, annotations },
    spec: { nodeName, containers: [{ name: 'c', resources: {} }] },
    status: { phase: 'Running', qosClass: 'BestEffort' },
  };
}

interface Reported {
  readonly lists: string[][];
  readonly pods: PodSpec[];
  readonly gone: string[];
  readonly states: string[];
  readonly reasons: string[];
}

async function follow({ server = new FakeApiServer(), start = true, answerMs = 60_000 } = {}) {
  await server.start();
  closers.push(() => server.stop());
  const path = join(folder, `kubeconfig-${closers.length}`);
  writeFileSync(path, server.kubeconfig);
  if (!start) await server.stop();
  const stop = new AbortController();
  closers.push(() => stop.abort());
  const reported: Reported = { lists: [], pods: [], gone: [], states: [], reasons: [] };
  const informer = new PodInformer({
    client: new KubeClient({ kind: 'file', path }, stop.signal),
    nodeName: 'n1',
    sink: {
      onList: (pods) => reported.lists.push(pods.map(({ name }) => name).sort()),
      onPod: (spec) => reported.pods.push(spec),
      onGone: (uid) => reported.gone.push(uid),
    },
    onState: (state, because) => {
      reported.states.push(state);
      reported.reasons.push(because);
    },
    log: pino({ level: 'silent' }),
    signal: stop.signal,
    answerMs,
  });
  informer.start();
  return { server, reported, stop, informer };
}

const isWatch = ({ query }: SeenRequest): boolean => query['watch'] === 'true';
const isReady = (reported: Reported) => (): boolean => reported.states.at(-1) === 'ready';

test('the pods of the node are reported as a list, then each change', async () => {
  const server = new FakeApiServer();
  server.put(PODS, pod('a'));
  server.put(PODS, pod('other', {}, 'n2'));
  const { reported, informer } = await follow({ server });
  await waitUntil('ready', isReady(reported));
  expect(reported.lists).toEqual([['a']]);
  expect(reported.pods).toEqual([]);

  server.put(PODS, pod('b'));
  server.put(PODS, pod('a', { 'cpusetd.io/policy': 'numa' }));
  server.remove(PODS, pod('b'));
  await waitUntil('b is gone', () => reported.gone.length === 1);
  expect(reported.pods.map(({ name, annotations }) => [name, annotations])).toEqual([
    ['b', {}],
    ['a', { 'cpusetd.io/policy': 'numa' }],
  ]);
  expect(reported.gone).toEqual(['uid-b']);
  expect(informer.pods?.map(({ spec, phase }) => [spec.name, phase])).toEqual([['a', 'Running']]);
  expect(reported.lists).toHaveLength(1);
});

/** A pod whose author, or who may patch it, wrote these. */
function podWith(managedFields: readonly unknown[], name: string) {
  const plain = pod(name);
  return { ...plain, metadata: { ...plain.metadata, managedFields } };
}

test('managedFields of 1,000 levels keep no pod from being seen, nor the one that has them', async () => {
  const server = new FakeApiServer();
  server.put(PODS, podWith(deepFields(1_000), 'deep'));
  server.put(PODS, pod('a'));
  const { reported } = await follow({ server });
  await waitUntil('ready', isReady(reported));
  expect(reported.lists).toEqual([['a', 'deep']]);
  server.put(PODS, podWith(deepFields(1_000), 'deeper'));
  server.put(PODS, pod('b'));
  await waitUntil('the pods', () => reported.pods.length === 2);
  expect(reported.pods.map(({ name }) => name)).toEqual(['deeper', 'b']);
  expect(server.requests).toHaveLength(2);
});

test('a pod with more values than are read is left out, of a list and of a watch, and all others are seen', async () => {
  const server = new FakeApiServer();
  server.put(PODS, podWith(endlessFields(), 'endless'));
  server.put(PODS, pod('a'));
  const { reported } = await follow({ server });
  await waitUntil('ready', isReady(reported));
  expect(reported.lists).toEqual([['a']]);
  server.put(PODS, podWith(endlessFields(), 'endless'));
  server.put(PODS, pod('b'));
  await waitUntil('the pod', () => reported.pods.length === 1);
  expect(reported.pods.map(({ name }) => name)).toEqual(['b']);
  expect(server.requests).toHaveLength(2);
});

test('the requests name the node, bookmarks and a timeout of the watch', async () => {
  const { server, reported } = await follow();
  await waitUntil('ready', isReady(reported));
  const [list, watch] = server.requests;
  expect(list).toMatchObject({ method: 'GET', path: PODS, query: { fieldSelector: 'spec.nodeName=n1' } });
  expect(list?.query['resourceVersion']).toBeUndefined();
  expect(watch?.query).toMatchObject({ watch: 'true', fieldSelector: 'spec.nodeName=n1', allowWatchBookmarks: 'true' });
  expect(Number(watch?.query['timeoutSeconds'])).toBeGreaterThanOrEqual(300);
});

test('an event without an end ends the watch, and the next watch reports the pods', async () => {
  const server = new FakeApiServer();
  server.put(PODS, pod('a'));
  const { reported } = await follow({ server });
  await waitUntil('ready', isReady(reported));
  let sentMiB = 0;
  for (; server.openWatches > 0 && sentMiB < 200; sentMiB++) await server.babble('x'.repeat(1 << 20));
  await waitUntil('the reason is reported', () =>
    reported.reasons.some((because) => because.includes('an event of more than')),
  );
  expect(sentMiB).toBeLessThan(200);
  await waitUntil('ready again', isReady(reported));
  server.put(PODS, pod('b'));
  await waitUntil('b is reported', () => reported.pods.some(({ name }) => name === 'b'));
});

test('while the server is away at the start nothing is reported; once it is there all pods are', async () => {
  const server = new FakeApiServer();
  server.put(PODS, pod('a'));
  const { reported } = await follow({ server, start: false });
  await waitUntil('the reason is reported', () => reported.reasons.some((because) => because.includes('ECONNREFUSED')));
  expect(reported.lists).toEqual([]);
  await server.start();
  await waitUntil('ready', isReady(reported));
  expect(reported.lists).toEqual([['a']]);
});

test('when the server goes away no pod is dropped, and changes meanwhile are reported after its return', async () => {
  const server = new FakeApiServer();
  server.put(PODS, pod('a'));
  server.put(PODS, pod('b'));
  const { reported } = await follow({ server });
  await waitUntil('ready', isReady(reported));
  await server.stop();
  await waitUntil('noticed', () => reported.states.at(-1) === 'connecting');
  server.remove(PODS, pod('a'));
  server.put(PODS, pod('b', { changed: 'yes' }));
  expect([reported.gone, reported.pods]).toEqual([[], []]);
  await server.start();
  await waitUntil('ready again', isReady(reported));
  await waitUntil('both are reported', () => reported.gone.length === 1 && reported.pods.length === 1);
  expect(reported.lists).toEqual([['a', 'b']]); // resumed from where it was
});

test.each([
  ['behind', -8],
  ['ahead', 8],
])('given a server whose clock is eight hours %s, the same pods are reported', async (_name, hours) => {
  const reportWith = async (clockOffsetMs: number) => {
    const server = new FakeApiServer();
    server.clockOffsetMs = clockOffsetMs;
    const at = new Date(Date.now() + clockOffsetMs).toISOString();
    const stamped = (name: string, more: object = {}) => {
      const { metadata, status, ...rest } = pod(name);
      const times = { startTime: at, conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: at }] };
      return { ...rest, metadata: { ...metadata, creationTimestamp: at, ...more }, status: { ...status, ...times } };
    };
    server.put(PODS, stamped('a'));
    const { reported } = await follow({ server });
    await waitUntil('ready', isReady(reported));
    server.put(PODS, stamped('b'));
    server.put(PODS, stamped('a', { deletionTimestamp: at })); // may be in the past or in the future
    server.endWatches();
    server.put(PODS, stamped('c'));
    await waitUntil('all are reported', () => reported.pods.length === 3);
    expect(reported.gone).toEqual([]); // it is gone only when it is deleted
    return [reported.lists, reported.pods];
  };
  expect(await reportWith(hours * 3_600_000)).toEqual(await reportWith(0));
});

test.each<[string, (server: FakeApiServer) => void]>([
  ['410 in answer to the watch', (server) => server.endWatches()],
  ['410 within the watch', (server) => server.expireWatches()],
])('given a lost history (%s), a new list is read and reported as a whole', async (_name, end) => {
  const server = new FakeApiServer();
  server.put(PODS, pod('a'));
  server.put(PODS, pod('b'));
  const { reported } = await follow({ server });
  await waitUntil('ready', isReady(reported));
  server.trouble = (request) => (isWatch(request) ? { delayMs: 20 } : undefined);
  server.remove(PODS, pod('a'));
  await waitUntil('a is gone', () => reported.gone.length === 1);
  end(server);
  server.remove(PODS, pod('b'));
  server.put(PODS, pod('c'));
  server.compact();
  await waitUntil('listed anew', () => reported.lists.length === 2);
  expect(reported.lists[1]).toEqual(['c']);
  await waitUntil('ready', isReady(reported));
});

test('a bookmark moves the point from which a watch is resumed', async () => {
  const { server, reported } = await follow();
  await waitUntil('ready', isReady(reported));
  server.put('/api/v1/nodes', { metadata: { name: 'n1' } }); // the resource version grows without a change of pods
  server.bookmark();
  const before = server.requests.length;
  server.endWatches();
  await waitUntil('resumed', () => server.requests.length > before);
  expect(server.requests.at(-1)?.query).toMatchObject({ watch: 'true', resourceVersion: '101' });
  expect(reported.lists).toHaveLength(1);
});

test.each<[string, number, string]>([
  ['429 is retried after the time that the server asks for', 429, 'slow down'],
  ['403 is explained by the missing rights', 403, 'deploy/components/api-server/rbac.yaml'],
  ['500 is tried again', 500, 'status 500'],
])('%s', async (_name, status, because) => {
  const server = new FakeApiServer();
  let refusals = 0;
  const at: number[] = [];
  server.trouble = (request) => {
    if (isWatch(request)) return undefined;
    at.push(performance.now());
    return refusals++ < 1 ? { status, retryAfterS: 1 } : undefined;
  };
  const { reported } = await follow({ server });
  await waitUntil('ready', isReady(reported));
  expect(reported.reasons.join()).toContain(because);
  expect(at[1]! - at[0]!).toBeGreaterThan(status === 429 ? 990 : 300);
});

test('a watch that is never answered ends at its timeout, and is tried again', async () => {
  const server = new FakeApiServer();
  let hung = 0;
  server.trouble = (request) => (isWatch(request) && hung++ < 1 ? { hang: true } : undefined);
  const { reported } = await follow({ server, answerMs: 500 });
  await waitUntil('ready', isReady(reported));
  expect(reported.states.slice(0, 2)).toEqual(['connecting', 'connecting']); // and again, where the machine is busy
  expect(reported.lists).not.toEqual([]);
});

test('watches that end at once are repeated with pauses', async () => {
  const { server, reported } = await follow();
  await waitUntil('ready', isReady(reported));
  const beforeMs = performance.now();
  const before = server.requests.length;
  const ending = setInterval(() => server.endWatches(), 1);
  closers.push(() => clearInterval(ending));
  await waitUntil('asked for again three times', () => server.requests.length >= before + 3);
  // The pauses are at least 375, 750 and 1,500 ms.
  expect(performance.now() - beforeMs).toBeGreaterThan(2_500);
});

test('an aborted informer closes the watch and reports nothing more', async () => {
  const { server, reported, stop } = await follow();
  await waitUntil('ready', isReady(reported));
  expect(server.openWatches).toBe(1);
  stop.abort();
  await waitUntil('closed', () => server.openWatches === 0);
  server.put(PODS, pod('late'));
  await server.stop();
  expect(reported.pods).toEqual([]);
  expect(reported.states.at(-1)).toBe('ready');
});
