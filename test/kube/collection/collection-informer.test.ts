import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { KubeClient } from '../../../src/kube/api/kube-client';
import { CollectionInformer } from '../../../src/kube/collection/collection-informer';
import { FakeApiServer, type Json, type SeenRequest } from '../../support/kube/api-server';
import { deepFields, endlessFields } from '../../support/kube/managed-fields';
import { waitUntil } from '../../support/wait-until';

const NODES = '/api/v1/nodes';
const folder = mkdtempSync(join(tmpdir(), 'informer-'));
const closers: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});
afterAll(() => rmSync(folder, { recursive: true }));

const node = (name: string, zone = 'a'): Json => ({ metadata: { name, labels: { zone } } });
const isList = ({ method, query }: SeenRequest): boolean => method === 'GET' && query['watch'] === undefined;

const withFields = (name: string, managedFields: Json[]): Json => ({
  metadata: { name, labels: { zone: 'a' }, managedFields },
});

async function follow({
  extra = [],
  count = 3,
  pageSize = 2,
  trouble,
  fault,
}: { extra?: Json[]; fault?: string; count?: number; pageSize?: number; trouble?: FakeApiServer['trouble'] } = {}) {
  const server = new FakeApiServer({ rights: new Set(['/nodes list', '/nodes watch']) });
  await server.start();
  closers.push(() => server.stop());
  if (trouble) server.trouble = trouble;
  for (let n = 0; n < count; n++) server.put(NODES, node(`n${n}`));
  for (const object of extra) server.put(NODES, object);
  const path = join(folder, `kubeconfig-${closers.length}`);
  writeFileSync(path, server.kubeconfig);
  const stop = new AbortController();
  const seen: string[] = [];
  const logged: string[] = [];
  const informer = new CollectionInformer<string>({
    client: new KubeClient({ kind: 'file', path }, stop.signal),
    path: NODES,
    reduce: (object) => {
      const { labels } = (object as { metadata: { labels: { zone: string } } }).metadata;
      return labels.zone === 'none' ? undefined : labels.zone;
    },
    onChange: (entry, key, before) => {
      if (key === fault) throw new Error('a fault');
      seen.push(`${key} ${before ?? '-'} ${entry}`);
    },
    onDelete: (entry, key, isGone) => {
      if (key === fault) throw new Error('a fault');
      seen.push(`${key} ${entry} ${isGone ? 'gone' : 'left out'}`);
    },
    isSame: (a, b) => a === b,
    log: pino({ level: 'error' }, { write: (line) => void logged.push(line) }),
    signal: stop.signal,
    pageSize,
  });
  const ended = informer.run();
  closers.push(() => (stop.abort(), ended));
  return { server, informer, seen, logged, known: () => Object.fromEntries(informer.entries()) };
}

const watching = (server: FakeApiServer): Promise<void> => waitUntil('the watch', () => server.openWatches === 1);

test('given three objects and pages of two: two lists, then a watch; each object is reported once', async () => {
  const { server, informer, seen } = await follow();
  await waitUntil('the watch', () => informer.reason === '');
  expect({ isSynced: informer.isSynced, reason: informer.reason, size: informer.size }).toEqual({
    isSynced: true,
    reason: '',
    size: 3,
  });
  expect(server.requests.filter(isList).map(({ query }) => query['limit'])).toEqual(['2', '2']);
  expect(seen).toEqual(['n0 - a', 'n1 - a', 'n2 - a']);
});

test('a fault of the caller over one object of a list keeps no other from being reported', async () => {
  const { server, seen } = await follow({ fault: 'n0' });
  await watching(server);
  expect(seen).toEqual(['n1 - a', 'n2 - a']);
  server.remove(NODES, node('n0'));
  server.remove(NODES, node('n2'));
  server.put(NODES, node('n3'));
  await waitUntil('the changes', () => seen.length === 4);
  expect(seen.slice(2)).toEqual(['n2 a gone', 'n3 - a']);
});

test('given an object with managedFields of 1,000 levels: it is seen, and so is what comes later', async () => {
  const { server, seen, logged } = await follow({ count: 1, extra: [withFields('deep', deepFields(1_000))] });
  await watching(server);
  server.put(NODES, withFields('deeper', deepFields(1_000)));
  server.put(NODES, node('last'));
  await waitUntil('the last', () => seen.includes('last - a'));
  expect(seen).toEqual(['n0 - a', 'deep - a', 'deeper - a', 'last - a']);
  expect(logged).toEqual([]);
});

test('given an object with more values than are read: it alone is left out, and that is logged once', async () => {
  const { server, informer, seen, logged } = await follow({
    count: 1,
    extra: [withFields('endless', endlessFields()), node('n1')],
  });
  await watching(server);
  expect(informer.isSynced).toBe(true);
  server.put(NODES, withFields('endless', endlessFields()));
  server.put(NODES, node('last'));
  await waitUntil('the last', () => seen.includes('last - a'));
  expect(seen).toEqual(['n0 - a', 'n1 - a', 'last - a']);
  expect(logged).toEqual([expect.stringContaining('is left out')]);
});

test('given changes in the watch: new, changed and deleted objects are reported; what the caller does not keep is left out', async () => {
  const { server, seen, known } = await follow({ count: 1 });
  await watching(server);
  server.put(NODES, node('n1'));
  server.put(NODES, node('n0', 'b'));
  server.put(NODES, { ...node('n0', 'b'), status: { heartbeat: 1 } }); // the same entry
  server.put(NODES, node('n1', 'none'));
  server.remove(NODES, node('n0'));
  await waitUntil('all changes', () => seen.length === 5);
  expect(seen).toEqual(['n0 - a', 'n1 - a', 'n0 a b', 'n1 a left out', 'n0 b gone']);
  expect(known()).toEqual({});
});

test('given history that was dropped while the API server was away: a new list reports the difference only', async () => {
  const { server, seen, known, informer } = await follow({ count: 3 });
  await watching(server);
  await server.stop();
  await waitUntil('the loss is noticed', () => informer.reason !== '');
  expect(Object.keys(known())).toEqual(['n0', 'n1', 'n2']); // kept while there is no news
  server.remove(NODES, node('n1'));
  server.put(NODES, node('n2', 'none'));
  server.put(NODES, node('n3'));
  server.compact();
  await server.start();
  await waitUntil('the difference', () => seen.length === 6);
  expect(seen.slice(3).sort()).toEqual(['n1 a gone', 'n2 a left out', 'n3 - a']);
  expect(Object.keys(known()).sort()).toEqual(['n0', 'n3']);
});

test('given pages that expire between two of them: the list is read anew in one piece, and no object is missed or doubled', async () => {
  let isFirst = true;
  const { server, seen } = await follow({
    count: 5,
    trouble: ({ query }) => {
      if (query['continue'] === undefined || !isFirst) return undefined;
      isFirst = false;
      return { status: 410, reason: 'Expired' };
    },
  });
  await watching(server);
  expect(server.requests.filter(isList).map(({ query }) => query['limit'])).toEqual(['2', '2', undefined]);
  expect(seen).toHaveLength(5);
});

test('given no right to list: the reason says so, and it does not ask again at once', async () => {
  const { server, informer } = await follow({ trouble: () => ({ status: 403, reason: 'Forbidden' }) });
  await waitUntil('the reason', () => informer.reason.includes('forbids'));
  expect(informer.isSynced).toBe(false);
  await new Promise((resolve) => setTimeout(resolve, 1_500)); // another failure is tried again within 0.7 s
  expect(server.requests).toHaveLength(1);
});

test('given an empty collection: it is synced', async () => {
  const { server, informer } = await follow({ count: 0 });
  await watching(server);
  expect({ isSynced: informer.isSynced, size: informer.size }).toEqual({ isSynced: true, size: 0 });
});
