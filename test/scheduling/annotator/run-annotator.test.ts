import { readRequest, rightOf } from '../../support/kube/rbac';
import { waitUntil } from '../../support/wait-until';
import { request } from 'node:http';
import { readLease, writeLease } from '../../../src/kube/leases/lease';
import { EVENTS, LEASE, LEASES, NODES, PODS, POLICY, Rig, RIGHTS } from './rig';
import { findFreePort } from '../../support/free-port';

let rig: Rig;
beforeEach(async () => {
  rig = await Rig.start();
});
afterEach(() => rig.close());

/** Series of all nodes for both metrics of the policy. */
function setLoad(names: readonly string[], value: number): void {
  for (const { name } of POLICY.syncPolicy)
    rig.prometheus.series.set(
      name,
      names.map((instance) => ({ instance, value })),
    );
}
const ratioOf = (node: string): number => Number(rig.annotations(node)['cpu_usage_avg_5m']?.split(',')[0]);
const hotValueOf = (node: string): number => Number(rig.annotations(node)['node_hot_value']?.split(',')[0]);

test('given nodes without annotations: each gets its figures and its hot value in one patch', async () => {
  rig.addNode('n1', '10.0.0.1');
  rig.addNode('n2', '10.0.0.2');
  rig.prometheus.series.set('cpu_usage_avg_5m', [
    { instance: '10.0.0.1:9100', value: 31.25 },
    { instance: '10.0.0.2:9100', value: 50 },
  ]);
  rig.prometheus.series.set('mem_usage_avg_5m', [
    { instance: '10.0.0.1:9100', value: 10 },
    { instance: 'n2', value: 20 },
  ]);
  for (let pod = 0; pod < 5; pod++) rig.bindPod(`p${pod}`, 'n1');
  rig.run();
  await waitUntil('both nodes are written', () => rig.patches.length === 2);
  const stamp = expect.stringMatching(/^\d\.\d{5},\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  expect(rig.annotations('n1')).toEqual({
    cpu_usage_avg_5m: stamp,
    mem_usage_avg_5m: stamp,
    node_hot_value: expect.stringMatching(/^3,/),
  });
  expect(rig.annotations('n1')['cpu_usage_avg_5m']).toMatch(/^0\.31250,/);
  expect(rig.annotations('n2')['mem_usage_avg_5m']).toMatch(/^0\.20000,/);
  expect(rig.prometheus.queries).toHaveLength(2);
  expect(rig.prometheus.queries[0]).toMatchObject({
    method: 'POST',
    path: '/api/v1/query',
    query: 'cpu_usage_avg_5m /100',
  });
});

test('given a Prometheus of two clusters with equal addresses, and a selector: the figure is that of the own cluster', async () => {
  rig.addNode('n1', '10.0.0.1');
  rig.prometheus.series.set('cpu_usage_avg_5m', [
    { instance: '10.0.0.1:9100', value: 90, labels: { cluster: 'b' } },
    { instance: '10.0.0.1:9100', value: 20, labels: { cluster: 'a' } },
  ]);
  rig.run({ metricSelector: 'cluster="a"' });
  await waitUntil('the figure', () => ratioOf('n1') === 0.2);
  expect(rig.prometheus.queries.map(({ query }) => query).sort()).toEqual([
    'cpu_usage_avg_5m{cluster="a"} /100',
    'mem_usage_avg_5m{cluster="a"} /100',
  ]);
});

test('given a node that has no annotations at all: it is written (`add` on an annotation-less node fails, fault of upstream)', async () => {
  rig.addNode('n1');
  setLoad(['n1'], 50);
  expect(rig.api.get(NODES, 'n1')).not.toHaveProperty('metadata.annotations');
  rig.run();
  await waitUntil('it is written', () => ratioOf('n1') === 0.5);
  expect(rig.patches[0]).toMatchObject({
    contentType: 'application/merge-patch+json',
    accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
    userAgent: 'crane-scheduler-controller',
  });
});

test('given annotations of others: they stay', async () => {
  rig.addNode('n1', undefined, { annotations: { other: 'x' } });
  setLoad(['n1'], 50);
  rig.run();
  await waitUntil('it is written', () => ratioOf('n1') === 0.5);
  expect(rig.annotations('n1')['other']).toBe('x');
});

test('given a Prometheus that is away: hot values are written all the same (hot value tied to load success, fault of upstream)', async () => {
  rig.addNode('n1');
  await rig.prometheus.stop();
  for (let pod = 0; pod < 5; pod++) rig.bindPod(`p${pod}`, 'n1');
  const { lines } = rig.run();
  await waitUntil('the hot value', () => hotValueOf('n1') === 3);
  expect(ratioOf('n1')).toBeNaN();
  const warnings = lines.filter(({ level }) => level === 'warn');
  expect(warnings.map(({ metric }) => metric).sort()).toEqual(['cpu_usage_avg_5m', 'mem_usage_avg_5m']);
});

test('given a node that appears: it is written soon (new nodes wait for a tick, fault of upstream)', async () => {
  rig.addNode('n1');
  setLoad(['n1', 'n2'], 50);
  rig.run();
  await waitUntil('n1 is written', () => ratioOf('n1') === 0.5);
  rig.addNode('n2');
  await waitUntil('n2 is written', () => ratioOf('n2') === 0.5 && hotValueOf('n2') === 0);
  expect(rig.prometheus.queries).toHaveLength(2); // the figures were in the last answers
});

test('given a node that is created again under its name: it is written again', async () => {
  rig.addNode('n1');
  setLoad(['n1'], 50);
  rig.run();
  await waitUntil('n1 is written', () => ratioOf('n1') === 0.5);
  rig.api.remove(NODES, rig.api.get(NODES, 'n1')!);
  rig.addNode('n1', undefined, { uid: 'another' });
  await waitUntil('n1 is written again', () => ratioOf('n1') === 0.5 && hotValueOf('n1') === 0);
});

test('given pods that are updated: each counts once; given one that is deleted or has ended: it counts no more', async () => {
  rig.addNode('n1');
  rig.run();
  await waitUntil('the first value', () => hotValueOf('n1') === 0);
  for (let time = 0; time < 10; time++) rig.bindPod('p1', 'n1', { more: { spec: { nodeName: 'n1', round: time } } });
  rig.bindPod('p2', 'n1');
  await waitUntil('the pods count', () => hotValueOf('n1') > 0);
  expect(hotValueOf('n1')).toBe(1); // two bindings
  rig.api.remove(PODS, rig.api.get(PODS, 'p1', 'default')!);
  await waitUntil('one pod counts', () => hotValueOf('n1') === 0);
});

test('given forged Events of a tenant: they have no effect, but by the choice of the operator', async () => {
  rig.addNode('n1');
  for (let pod = 0; pod < 300; pod++) rig.addEvent(`fake${pod}`, 'n1');
  for (let pod = 0; pod < 5; pod++) rig.bindPod(`p${pod}`, 'n1');
  const { stop } = rig.run();
  await waitUntil('the value', () => hotValueOf('n1') === 3);
  expect(rig.api.requests.filter(({ path }) => path === EVENTS)).toEqual([]);
  await stop();
  await rig.close();

  rig = await Rig.start({ rights: new Set([...RIGHTS, '/events list', '/events watch']) });
  rig.addNode('n1');
  for (let time = 0; time < 10; time++) rig.addEvent('p1', 'n1', { more: { count: time } });
  rig.addEvent('p2', 'n1');
  rig.run({ bindingSource: 'events' });
  await waitUntil('the Events count', () => hotValueOf('n1') === 1); // two bindings
});

test('given pods of before the start, some bound too long ago: the young ones count', async () => {
  rig.addNode('n1');
  for (let pod = 0; pod < 4; pod++) rig.bindPod(`young${pod}`, 'n1', { timeMs: Date.now() - 120_000 });
  for (let pod = 0; pod < 5; pod++) rig.bindPod(`old${pod}`, 'n1', { timeMs: Date.now() - 400_000 });
  rig.bindPod('last', 'n1', { timeMs: Date.now() - 240_000 });
  rig.run();
  await waitUntil('the value', () => hotValueOf('n1') === 1);
});

test('given more old bindings than may be remembered: they take no place of the young ones', async () => {
  rig.addNode('n1');
  for (let pod = 0; pod < 5; pod++) rig.bindPod(`young${pod}`, 'n1', { timeMs: Date.now() - 120_000 });
  for (let pod = 0; pod < 20; pod++) rig.bindPod(`old${pod}`, 'n1', { timeMs: Date.now() - 400_000 });
  rig.run({ bindingHeapSize: 5 });
  await waitUntil('the value', () => hotValueOf('n1') === 1);
});

test('given an API server that is away for a while: annotations follow again when it is back, and nodes that went meanwhile are forgotten', async () => {
  for (const name of ['n1', 'n2']) rig.addNode(name);
  setLoad(['n1', 'n2', 'n3'], 50);
  rig.run();
  await waitUntil('all are written', () => ratioOf('n2') === 0.5);
  await rig.api.stop();
  rig.api.remove(NODES, rig.api.get(NODES, 'n1')!);
  rig.addNode('n3');
  rig.api.compact();
  await rig.api.start();
  await waitUntil('n3 is written', () => ratioOf('n3') === 0.5);
});

test('given an API server that refuses all patches: the log names the right that is missing', async () => {
  await rig.close();
  rig = await Rig.start({ rights: new Set([...RIGHTS].filter((right) => right !== '/nodes patch')) });
  rig.addNode('n1');
  const { lines } = rig.run();
  await waitUntil('the message', () =>
    lines.some(({ because }) => String(because).includes('the verb patch for nodes')),
  );
});

test('given an API server that does not let Nodes be listed: the log says so, and it goes on trying (lister failure panics, fault of upstream)', async () => {
  let isForbidden = true;
  rig.api.trouble = ({ path }) => (isForbidden && path === NODES ? { status: 500 } : undefined);
  rig.addNode('n1');
  setLoad(['n1'], 50);
  const { lines } = rig.run();
  await waitUntil('the message', () => lines.some(({ level, path }) => level === 'warn' && path === NODES));
  isForbidden = false;
  await waitUntil('it is written', () => ratioOf('n1') === 0.5);
});

test('given 200 nodes: their patches of a later period are spread over a part of it (no jitter, fault of upstream)', async () => {
  const names = Array.from({ length: 200 }, (_, n) => `n${n}`);
  for (const name of names) rig.addNode(name);
  setLoad(names, 50);
  const times: number[] = [];
  rig.api.trouble = ({ method }) => {
    if (method === 'PATCH') times.push(performance.now());
    return undefined;
  };
  const syncPolicy = POLICY.syncPolicy.map((policy) => ({ ...policy, periodMs: 6_000 }));
  rig.run({ policy: { ...POLICY, syncPolicy, hotValue: [] } });
  await waitUntil('two rounds', () => times.length >= 400);
  const round = times.slice(200, 400);
  expect(round.at(-1)! - round[0]!).toBeGreaterThan(600); // of 1 s
});

test('given a clock that is set back by an hour: all values are written anew, with the new time', async () => {
  rig.addNode('n1');
  setLoad(['n1'], 50);
  let offsetMs = 0;
  const { lines } = rig.run({ nowMs: () => Date.now() + offsetMs });
  await waitUntil('it is written', () => ratioOf('n1') === 0.5);
  const stampsOf = (): number[] =>
    Object.values(rig.annotations('n1')).map((text) => Date.parse(text.split(',')[1]!) - Date.now());
  expect(stampsOf().every((ms) => Math.abs(ms) < 60_000)).toBe(true);
  offsetMs = -3_600_000;
  await waitUntil('all are of an hour ago', () => stampsOf().every((ms) => Math.abs(ms + 3_600_000) < 60_000));
  expect(lines.some(({ msg }) => msg.startsWith('the clock was set'))).toBe(true);
});

test('given one node that is always refused: the others are written, also later (one worker ends all, fault of upstream)', async () => {
  for (const name of ['bad', 'n1', 'n2']) rig.addNode(name);
  setLoad(['bad', 'n1', 'n2'], 50);
  rig.api.trouble = ({ path, method }) => (method === 'PATCH' && path.endsWith('/bad') ? { status: 422 } : undefined);
  rig.run({ concurrentSyncs: 1 });
  await waitUntil('the others', () => ratioOf('n1') === 0.5 && ratioOf('n2') === 0.5);
  for (let pod = 0; pod < 5; pod++) rig.bindPod(`p${pod}`, 'n1');
  await waitUntil('the hot value', () => hotValueOf('n1') === 3);
});

test('in a dry run: nothing is written and no lease is taken; the log has what would be written', async () => {
  rig.addNode('n1');
  setLoad(['n1'], 50);
  const { lines, stop } = rig.run({ isDryRun: true, lease: LEASE });
  await waitUntil('the line', () => lines.some(({ msg, node }) => msg === 'would be written' && node === 'n1'));
  expect(await stop()).toBe('ended');
  expect(new Set(rig.api.requests.map(({ method }) => method))).toEqual(new Set(['GET']));
  expect(rig.api.listAll(LEASES)).toEqual([]);
});

describe('with a lease', () => {
  const writers = (): Set<string> => new Set(rig.patches.map(({ userAgent }) => userAgent));

  test('given two annotators: only the leader writes; when it ends, the lease is released and the other goes on', async () => {
    rig.addNode('n1');
    setLoad(['n1'], 50);
    const first = rig.run({ lease: LEASE });
    await waitUntil('the first writes', () => ratioOf('n1') === 0.5);
    const second = rig.run({ lease: LEASE });
    await waitUntil('the second waits', () => second.lines.some(({ msg }) => msg === 'another process leads'));
    expect(rig.patches).toHaveLength(1);
    expect(rig.prometheus.queries).toHaveLength(2);
    setLoad(['n1'], 70);
    expect(await first.stop()).toBe('ended');
    await waitUntil('the second writes', () => ratioOf('n1') === 0.7);
    expect(writers().size).toBe(1);
    const [lease] = rig.api.listAll(LEASES);
    expect(lease).toMatchObject({ metadata: { name: 'crane-scheduler-controller' }, spec: { leaseTransitions: 1 } });
  });

  test('given a lease that is lost in the middle of a sync: the annotator ends, and no patch begins after the loss', async () => {
    const names = Array.from({ length: 300 }, (_, n) => `n${n}`);
    for (const name of names) rig.addNode(name);
    setLoad(names, 50);
    rig.api.trouble = ({ method }) => (method === 'PATCH' ? { delayMs: 20 } : undefined);
    const { outcome, lines } = rig.run({ lease: LEASE, concurrentSyncs: 4 });
    await waitUntil('some are written', () => rig.patches.length > 40);
    const lease = rig.api.listAll(LEASES)[0]!;
    rig.api.put(LEASES, writeLease(lease, { ...readLease(lease), holder: 'another' }));
    expect(await outcome).toBe('lost');
    const lostAt = rig.patches.length;
    expect(lostAt).toBeLessThan(300);
    expect(lines.some(({ level, msg }) => level === 'error' && msg.startsWith('the lease is lost'))).toBe(true);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(rig.patches).toHaveLength(lostAt);
  });

  test('given no right to leases: it says so and writes nothing', async () => {
    await rig.close();
    rig = await Rig.start({ rights: new Set([...RIGHTS].filter((right) => !right.includes('leases'))) });
    rig.addNode('n1');
    const { lines, stop } = rig.run({ lease: LEASE });
    await waitUntil('the message', () => lines.some(({ because }) => String(because).includes('forbids')));
    expect(await stop()).toBe('ended');
    expect(rig.patches).toEqual([]);
  });

  test('it asks for the rights of its role, and for no others', async () => {
    rig.addNode('n1');
    setLoad(['n1'], 50);
    rig.bindPod('p1', 'n1');
    const { stop } = rig.run({ lease: LEASE });
    await waitUntil('it is written', () => ratioOf('n1') === 0.5);
    await waitUntil('the watches', () => rig.api.openWatches === 2);
    await stop();
    const asked = rig.api.requests.map(({ method, path, query }) => rightOf(readRequest(method, path, query)!));
    expect([...new Set(asked)].sort()).toEqual([...RIGHTS].sort());
    for (const { path, query } of rig.api.requests)
      if (path === PODS)
        expect(query['fieldSelector']).toBe('spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed');
  });
});

test('given 5,000 nodes: one query for each metric, one patch for each node, and few connections', async () => {
  const names = Array.from({ length: 5_000 }, (_, n) => `n${n}`);
  names.forEach((name, n) => rig.addNode(name, `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`));
  for (const { name } of POLICY.syncPolicy)
    rig.prometheus.series.set(
      name,
      names.map((_name, n) => ({ instance: `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}:9100`, value: n / 100 })),
    );
  rig.run({ lease: LEASE });
  await waitUntil('all are written', () => rig.patches.length >= names.length);
  await waitUntil('the last', () => names.every((name) => rig.annotations(name)['cpu_usage_avg_5m'] !== undefined));
  expect(rig.prometheus.queries).toHaveLength(2);
  expect(rig.patches).toHaveLength(names.length);
  expect(new Set(rig.patches.map(({ path }) => path)).size).toBe(names.length);
  for (const { body } of rig.patches)
    expect(Object.keys((body as { metadata: { annotations: object } }).metadata.annotations)).toHaveLength(3);
  expect(ratioOf('n4321')).toBeCloseTo(0.4321, 5);
  expect(rig.api.connections).toBeLessThan(40);
});

describe('health and metrics', () => {
  const get = (port: number, path: string, method = 'GET'): Promise<{ status: number; text: string }> =>
    new Promise((resolve, reject) => {
      request({ host: '127.0.0.1', port, path, method }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        response.on('end', () => resolve({ status: response.statusCode!, text }));
      })
        .on('error', reject)
        .end();
    });

  test('given a process that waits for the lease: it is healthy, and says that it does not lead (no metrics, fault of upstream)', async () => {
    rig.addNode('n1');
    setLoad(['n1'], 50);
    const [leads, waits] = [await findFreePort(), await findFreePort()];
    rig.run({ lease: LEASE, healthPort: leads });
    await waitUntil('the first writes', () => ratioOf('n1') === 0.5);
    const second = rig.run({ lease: LEASE, healthPort: waits });
    await waitUntil('the second waits', () => second.lines.some(({ msg }) => msg === 'another process leads'));
    for (const port of [leads, waits]) expect(await get(port, '/healthz')).toEqual({ status: 200, text: 'ok' });
    expect((await get(waits, '/metrics')).text).toContain('cpusetd_annotator_leading 0\n');
    const { text } = await get(leads, '/metrics');
    for (const line of [
      'cpusetd_annotator_leading 1',
      'cpusetd_annotator_nodes 1',
      'cpusetd_annotator_bindings 0',
      'cpusetd_annotator_queries_total{metric="cpu_usage_avg_5m",result="ok"} 1',
      'cpusetd_annotator_queries_total{metric="cpu_usage_avg_5m",result="error"} 0',
      'cpusetd_annotator_nodes_without_figure{metric="mem_usage_avg_5m"} 0',
      'cpusetd_annotator_patches_total{result="ok"} 1',
      'cpusetd_annotator_dropped_values_total{reason="old"} 0',
      'cpusetd_annotator_pending_nodes 0',
    ])
      expect(text).toContain(`${line}\n`);
    expect(text).toMatch(/^cpusetd_annotator_last_answer_age_seconds\{metric="cpu_usage_avg_5m"\} \d/m);
    expect(await get(leads, '/nope')).toMatchObject({ status: 404 });
    expect(await get(leads, '/healthz', 'POST')).toMatchObject({ status: 405 });
  });
});
