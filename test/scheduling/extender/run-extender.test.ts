import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request, type OutgoingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { runExtender, type ExtenderOptions } from '../../../src/scheduling/extender/run-extender';
import { TimeZone } from '../../../src/scheduling/load/time-zone';
import type { SchedulerPolicy } from '../../../src/scheduling/policy/policy';
import { FakeApiServer } from '../../support/kube/api-server';
import { waitUntil } from '../../support/wait-until';
import { AWARENESS, podObject, resultText, RESULT, topologyObject } from '../topology/objects';

const zone = TimeZone.of('UTC');
const policy: SchedulerPolicy = {
  syncPolicy: ['cpu', 'mem'].map((name) => ({ name, periodMs: 180_000 })),
  predicate: [{ name: 'cpu', maxLimit: 0.65 }],
  priority: ['cpu', 'mem'].map((name) => ({ name, weight: 1 })),
  hotValue: [],
};
const RIGHTS = ['/nodes', '/pods', 'topology.crane.io/noderesourcetopologies'].flatMap((resource) =>
  ['list', 'watch'].map((verb) => `${resource} ${verb}`),
);
const TOPOLOGIES = '/apis/topology.crane.io/v1alpha1/noderesourcetopologies';
const MAX_BYTES = 1024 * 1024;

interface Load {
  readonly cpu?: number;
  readonly mem?: number;
  readonly hot?: number;
}

function nodeOf(name: string, { cpu, mem, hot }: Load) {
  const stamp = zone.format(Date.now());
  const figures = Object.entries({ cpu: cpu?.toFixed(5), mem: mem?.toFixed(5), node_hot_value: hot });
  const annotations = Object.fromEntries(
    figures.flatMap(([key, value]) => (value === undefined ? [] : [[key, `${value},${stamp}`]])),
  );
  return { metadata: { name, annotations }, spec: {}, status: {} };
}

const LOADS: Readonly<Record<string, Load>> = {
  'node-a': { cpu: 0.2, mem: 0.4 },
  'node-b': { cpu: 0.2, mem: 0.4, hot: 2 },
  'node-c': { cpu: 0.8, mem: 0.1 },
  'node-d': {},
};
const names = Object.keys(LOADS);

let api: FakeApiServer;
let folder: string;
let ends: (() => Promise<void>)[] = [];
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'run-extender-'));
  api = new FakeApiServer({ rights: new Set(RIGHTS) });
  await api.start();
  for (const [name, load] of Object.entries(LOADS)) api.put('/api/v1/nodes', nodeOf(name, load));
  for (const name of names) api.put(TOPOLOGIES, topologyObject({ name, zones: ['8', '8'] }));
  const bound = podObject(['6'], {
    uid: 'b',
    name: 'bound',
    node: 'node-a',
    annotations: { [RESULT]: resultText({ node0: 6 }) },
  });
  api.put('/api/v1/pods', bound);
});
afterEach(async () => {
  for (const end of ends) await end();
  ends = [];
  await api.stop();
  rmSync(folder, { recursive: true });
});

interface Answer {
  readonly status: number;
  readonly text: string;
}

const JSON_BODY = { 'content-type': 'application/json' };

/** Unlike `fetch`, it sends any Host header. Without a body: GET. */
function send(port: number, path: string, body: string | undefined, headers: OutgoingHttpHeaders): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path, method: body === undefined ? 'GET' : 'POST', headers };
    const call = request(options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.once('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    call.once('error', reject).end(body);
  });
}

/** Runs an extender in this process until `stop`. */
async function start(more: Partial<ExtenderOptions> = {}) {
  const end = new AbortController();
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, api.kubeconfig);
  let port = 0;
  const write = (line: string): void => {
    const fields = JSON.parse(line) as { readonly port?: number };
    port = fields.port ?? port;
  };
  const running = runExtender({
    policy: { path: join(folder, 'policy.yaml'), first: policy },
    zone,
    kubeconfig: { kind: 'file', path: kubeconfig },
    listen: { host: '127.0.0.1', port: 0 },
    plugins: { Dynamic: 3, NodeResourceTopologyMatch: 2 },
    resources: ['cpu'],
    maxRequestBytes: MAX_BYTES,
    isDryRun: false,
    log: pino({ level: 'debug' }, { write }),
    signal: end.signal,
    ...more,
  });
  const stop = async (): Promise<void> => {
    end.abort();
    await running;
  };
  ends.push(stop);
  await waitUntil('the port', () => port !== 0);
  const ask = (path: string, body?: string | object, headers: OutgoingHttpHeaders = JSON_BODY): Promise<Answer> =>
    send(port, path, body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body), headers);
  const post = async (path: string, body: object): Promise<unknown> => JSON.parse((await ask(path, body)).text);
  const untilReady = () => waitUntil('the caches', async () => (await ask('/healthz')).status === 200);
  return { ask, post, stop, untilReady };
}

const pod = podObject(['4'], { uid: 'u1', name: 'web' });

test('given names, and caches that are filled: load and zones decide, by the vectors of crane-scheduler', async () => {
  const { ask, post, untilReady } = await start();
  await untilReady();
  expect(await ask('/healthz')).toEqual({ status: 200, text: 'ok' });
  expect(await post('/filter', { Pod: pod, NodeNames: names })).toEqual({
    Nodes: null,
    FailedAndUnresolvableNodes: {},
    Error: '',
    NodeNames: ['node-a', 'node-b', 'node-d'],
    FailedNodes: { 'node-c': 'Load[cpu] of node[node-c] is too high' },
  });
  // Dynamic scores 70, 50 less for the hot value, and 0 without figures; the zones 100 of 100. 70 · 0.3 + 100 · 0.2 =
  // 41.
  expect(await post('/prioritize', { Pod: pod, NodeNames: ['node-a', 'node-b', 'node-d'] })).toEqual([
    { Host: 'node-a', Score: 41 },
    { Host: 'node-b', Score: 35 },
    { Host: 'node-d', Score: 20 },
  ]);
  // A zone of node-a has 8 free CPUs, and no zone 9.
  const large = podObject(['9'], { uid: 'u2', name: 'large', annotations: { [AWARENESS]: 'true' } });
  expect(await post('/filter', { Pod: large, NodeNames: ['node-a'] })).toMatchObject({
    FailedNodes: { 'node-a': 'node(s) had insufficient resource of NUMA node' },
  });
  expect((await ask('/explain?pod=default/large', {})).status).toBe(405);
  expect(JSON.parse((await ask('/explain?pod=default/large')).text)).toMatchObject({
    nodes: [{ node: 'node-a', fits: false, rejection: { subject: 'cpu', value: 9, limit: 8 } }],
  });
  expect((await ask('/explain?pod=large')).status).toBe(400);
  expect((await ask('/explain?pod=default/unknown')).status).toBe(404);
  expect((await ask('/metrics')).text).toMatch(/^cpusetd_extender_request_seconds_count\{verb="filter"[^}]*\} 2$/m);
});

test('given whole Nodes and no API server: Dynamic decides as with names', async () => {
  const cached = await start({ plugins: { Dynamic: 3 } });
  await cached.untilReady();
  const alone = await start({ plugins: { Dynamic: 3 }, kubeconfig: undefined });
  const items = names.map((name) => nodeOf(name, LOADS[name]!));
  const { Nodes, ...answer } = (await alone.post('/filter', { Pod: pod, Nodes: { items } })) as {
    Nodes: { items: object[] };
  };
  expect(Nodes.items).toEqual(items.filter(({ metadata }) => metadata.name !== 'node-c'));
  const byNames = (await cached.post('/filter', { Pod: pod, NodeNames: names })) as object;
  expect({
    ...answer,
    Nodes: null,
    NodeNames: Nodes.items.map((node) => (node as (typeof items)[number]).metadata.name),
  }).toEqual(byNames);
  expect(await alone.post('/prioritize', { Pod: pod, Nodes: { items } })).toEqual(
    await cached.post('/prioritize', { Pod: pod, NodeNames: names }),
  );
  expect(await alone.post('/filter', { Pod: pod, NodeNames: names })).toMatchObject({
    Error: expect.stringContaining('nodeCacheCapable: false'),
  });
});

test('given a restart: filter and scores are the same', async () => {
  const pods = [1, 3, 6, 8, 9].map((cpus) => podObject([String(cpus)], { uid: `u${cpus}`, name: `p${cpus}` }));
  const decide = async ({ post }: Awaited<ReturnType<typeof start>>): Promise<unknown[]> => {
    const decisions = [];
    for (const Pod of pods)
      for (const verb of ['/filter', '/prioritize']) decisions.push(await post(verb, { Pod, NodeNames: names }));
    return decisions;
  };
  const first = await start();
  await first.untilReady();
  const before = await decide(first);
  expect(await decide(first)).toEqual(before);
  await first.stop();
  const second = await start();
  await second.untilReady();
  expect(await decide(second)).toEqual(before);
});

test('given an API server that is not there yet: filter has an error, scores are 0, and /healthz says why', async () => {
  await api.stop();
  const { ask, post, untilReady } = await start();
  expect(await ask('/healthz')).toEqual({ status: 503, text: 'the Nodes are not known yet\n' });
  expect(await post('/filter', { Pod: pod, NodeNames: names })).toMatchObject({
    NodeNames: null,
    Error: 'the Nodes are not known yet',
  });
  expect(await post('/prioritize', { Pod: pod, NodeNames: ['node-a'] })).toEqual([{ Host: 'node-a', Score: 0 }]);
  await api.start();
  await untilReady();
  expect(await post('/filter', { Pod: pod, NodeNames: names })).toMatchObject({ Error: '' });
});

const deep = (text: string): string => `{"Pod":${text.repeat(100_000)}`;
test.each([
  ['no JSON', 'Pod', 400],
  ['an array', '[]', 400],
  ['no Pod', '{}', 400],
  ['a Pod of another type, and no nodes', '{"Pod":7}', 400],
  ['brackets without end', deep('['), 400],
  ['objects without end', deep('{"a":'), 400],
  ['a longer body than is allowed', `{"Pod":{},"NodeNames":["${'x'.repeat(MAX_BYTES)}"]}`, 413],
  ['a Pod without a name', '{"Pod":{"metadata":7,"spec":[]},"NodeNames":["node-a"]}', 400],
  ['fields of other types', '{"Pod":{"metadata":{"uid":"x","name":"x"},"spec":[]},"NodeNames":[7,null,"node-a"]}', 200],
  ['nodes with names of JavaScript', '{"Pod":{"metadata":{"uid":"x","name":"x"}},"NodeNames":["__proto__","constructor","node-a"]}', 200],
  ['a Pod that is nested', `{"Pod":{"metadata":{"uid":"x","name":"x"},"spec":${'{"a":'.repeat(50)}1${'}'.repeat(50)}},"NodeNames":["node-a"]}`, 200],
  ['a Pod with deep managedFields', `{"Pod":{"metadata":{"uid":"x","name":"x","managedFields":[${'{"a":'.repeat(9_000)}1${'}'.repeat(9_000)}]}},"NodeNames":["node-a"]}`, 200],
  ['a Node that would be too deep for an answer', `{"Pod":{"metadata":{"uid":"x","name":"x"}},"Nodes":{"items":[{"metadata":{"name":"node-a"},"a":${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}}]}}`, 200],
  ['more nodes than a cluster has', `{"Pod":{},"NodeNames":["n"${',"n"'.repeat(65_536)}]}`, 400],
])('given %s: an answer, and the next request is answered', async (_name, body, status) => {
  const { ask, post, untilReady } = await start();
  await untilReady();
  for (const verb of ['/filter', '/prioritize']) expect((await ask(verb, body)).status).toBe(status);
  expect(await post('/filter', { Pod: pod, NodeNames: ['node-a'] })).toMatchObject({ NodeNames: ['node-a'], Error: '' });
}); // prettier-ignore

test('on loopback, given the page of somebody else whose name leads here, or a form that it sends: refused, and nothing is bound', async () => {
  const { ask, untilReady } = await start();
  await untilReady();
  const binding = { PodName: 'web', PodNamespace: 'default', PodUID: 'u1', Node: 'node-a' };
  for (const host of ['attacker.example', 'attacker.example:8099', '10.0.0.1'])
    for (const verb of ['/filter', '/prioritize', '/bind', '/preempt'])
      expect((await ask(verb, binding, { ...JSON_BODY, host })).status).toBe(421);
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=application/json',
  ])
    expect((await ask('/bind', binding, { 'content-type': type })).status).toBe(415);
  expect((await ask('/bind', binding, {})).status).toBe(415);
  expect((await ask('/explain?pod=default/web', undefined, { host: 'attacker.example' })).status).toBe(421);
  expect((await ask('/healthz', undefined, { host: 'a-probe.example' })).status).toBe(200);
  expect((await ask('/filter', { Pod: pod, NodeNames: names }, { ...JSON_BODY, host: 'localhost:1' })).status).toBe(
    200,
  );
  expect((await ask('/filter', {}, { 'content-type': 'Application/JSON; charset=utf-8' })).status).toBe(400);
  expect(api.requests.filter(({ path }) => path.endsWith('/binding'))).toEqual([]);
});
