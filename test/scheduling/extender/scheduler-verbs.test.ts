import { MAX_JSON_BYTES } from '../../../src/core/bounded-json';
import { pino } from 'pino';
import { SeenPods } from '../../../src/scheduling/extender/bind/seen-pods';
import { NodeRecords } from '../../../src/scheduling/extender/cluster/node-records';
import { DecisionLog } from '../../../src/scheduling/extender/explain/decision-log';
import { Judge } from '../../../src/scheduling/extender/judge';
import { ExtenderMetrics } from '../../../src/scheduling/extender/metrics';
import { BadRequest } from '../../../src/scheduling/extender/protocol/read-args';
import { SchedulerVerbs } from '../../../src/scheduling/extender/scheduler-verbs';
import { TimeZone } from '../../../src/scheduling/load/time-zone';
import type { SchedulerPolicy } from '../../../src/scheduling/policy/policy';

const zone = TimeZone.of('Asia/Shanghai');
const nowMs = Date.parse('2023-03-01T02:00:00Z');
const policy: SchedulerPolicy = {
  syncPolicy: [
    { name: 'cpu', periodMs: 180_000 },
    { name: 'mem', periodMs: 180_000 },
  ],
  predicate: [{ name: 'cpu', maxLimit: 0.65 }],
  priority: [
    { name: 'cpu', weight: 1 },
    { name: 'mem', weight: 1 },
  ],
  hotValue: [],
};

interface Options {
  readonly dryRun?: boolean;
  readonly notReady?: string;
  readonly maxRequestBytes?: number;
}

/** The extender without an API server, with Dynamic at weight 3. */
function create({ dryRun = false, notReady = '', maxRequestBytes = MAX_JSON_BYTES }: Options = {}) {
  const log = pino({ level: 'silent' });
  const none = () => 0;
  const metrics = new ExtenderMetrics({
    isSynced: () => true,
    nodes: none,
    topologies: none,
    pods: none,
    policyIsRefused: () => false,
  });
  const records = new NodeRecords();
  const decisions = new DecisionLog(records);
  const verbs = new SchedulerVerbs({
    judge: new Judge({ plugins: { Dynamic: 3 }, policy: () => policy, state: undefined }),
    records,
    loads: undefined,
    binder: undefined,
    seen: new SeenPods(),
    decisions,
    metrics,
    zone,
    dryRun,
    log,
    policy: () => policy,
    resources: ['cpu'],
    maxRequestBytes,
    notReady: () => notReady,
    nowMs: () => nowMs,
  });
  return { verbs, decisions, metrics };
}

const pod = { metadata: { name: 'web', namespace: 'default', uid: 'u1' }, spec: { containers: [] } };
const node = (name: string, cpu?: number, mem?: number) => {
  const figure = (value: number | undefined) =>
    value === undefined ? undefined : `${value.toFixed(5)},${zone.format(nowMs)}`;
  return { metadata: { name, annotations: { cpu: figure(cpu), mem: figure(mem) } }, spec: {} };
};
const bodyOf = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const nodes = [node('hot', 0.9, 0.1), node('calm', 0.2, 0.4), node('unknown')];

test('given Nodes, one above its limit: the others pass as they were sent, and the message is that of crane-scheduler', () => {
  const { verbs } = create();
  expect(verbs.filter(bodyOf({ Pod: pod, Nodes: { items: nodes }, NodeNames: null }))).toEqual({
    Nodes: { items: JSON.parse(JSON.stringify(nodes.slice(1))) as unknown },
    NodeNames: null,
    FailedNodes: { hot: 'Load[cpu] of node[hot] is too high' },
    FailedAndUnresolvableNodes: {},
    Error: '',
  });
});

test('given a pod of a DaemonSet: every node passes', () => {
  const { verbs } = create();
  const owned = { ...pod, metadata: { ...pod.metadata, ownerReferences: [{ kind: 'DaemonSet', name: 'agent' }] } };
  expect(verbs.filter(bodyOf({ Pod: owned, Nodes: { items: nodes } }))).toMatchObject({ FailedNodes: {} });
});

test('given Nodes: their scores are round(score * weight / 10), whole numbers', () => {
  const { verbs } = create();
  // 70 points for calm, 50 for hot, and none for a node without figures.
  expect(verbs.prioritize(bodyOf({ Pod: pod, Nodes: { items: nodes } }))).toEqual([
    { Host: 'hot', Score: 15 },
    { Host: 'calm', Score: 21 },
    { Host: 'unknown', Score: 0 },
  ]);
});

test('given only names and no API server: an error with the remedy, and no scores', () => {
  const { verbs } = create();
  const body = bodyOf({ Pod: pod, NodeNames: ['a', 'b'] });
  expect(verbs.filter(body)).toMatchObject({
    NodeNames: null,
    Error: expect.stringContaining('nodeCacheCapable: false'),
  });
  expect(verbs.prioritize(body)).toEqual([
    { Host: 'a', Score: 0 },
    { Host: 'b', Score: 0 },
  ]);
});

test('given caches that are not filled: filter answers with the reason', () => {
  const { verbs } = create({ notReady: 'the Nodes are not known yet' });
  expect(verbs.filter(bodyOf({ Pod: pod, Nodes: { items: nodes } }))).toMatchObject({
    Error: 'the Nodes are not known yet',
  });
});

test('given a dry run: every node passes and scores 0, and the metrics count what would have been', async () => {
  const { verbs, metrics } = create({ dryRun: true });
  const body = bodyOf({ Pod: pod, Nodes: { items: nodes } });
  expect(verbs.filter(body)).toMatchObject({ FailedNodes: {}, Nodes: { items: { length: 3 } } });
  expect(verbs.prioritize(body)).toEqual(nodes.map(({ metadata: { name } }) => ({ Host: name, Score: 0 })));
  expect(await metrics.expose()).toContain('cpusetd_extender_rejected_nodes_total{plugin="Dynamic",subject="cpu"} 1');
});

test('given no API server: a binding is refused with the remedy', async () => {
  const body = bodyOf({ PodName: 'web', PodNamespace: 'default', PodUID: 'u1', Node: 'calm' });
  expect(await create().verbs.bind(body)).toEqual({ Error: expect.stringContaining('remove its bindVerb') });
});

test('given victims on an overloaded node and on another: only the other is kept, with uids and budgets', () => {
  const { verbs } = create();
  const victims = {
    calm: { Pods: [{ metadata: { uid: 'v1' } }, { UID: 'v2' }], NumPDBViolations: 1 },
  };
  expect(verbs.preempt(bodyOf({ Pod: pod, NodeNameToVictims: victims }))).toEqual({
    NodeNameToMetaVictims: { calm: { Pods: [{ UID: 'v1' }, { UID: 'v2' }], NumPDBViolations: 1 } },
  });
});

test.each`
  name                       | body
  ${'no JSON'}               | ${'{'}
  ${'a list'}                | ${'[]'}
  ${'null'}                  | ${'null'}
  ${'no pod'}                | ${'{"NodeNames":[]}'}
  ${'no nodes'}              | ${'{"Pod":{}}'}
  ${'nodes of another type'} | ${'{"Pod":{},"NodeNames":"a"}'}
`('given $name: the request is refused', ({ body }: { body: string }) => {
  expect(() => create().verbs.filter(Buffer.from(body))).toThrow(BadRequest);
});

test.each([
  { PodName: 'web', PodNamespace: 'default', PodUID: 'u', Node: '' },
  { PodName: '../secrets/x', PodNamespace: 'default', PodUID: 'u', Node: 'n' },
  { PodName: 'web', PodNamespace: 'a/b', PodUID: 'u', Node: 'n' },
])('given the binding %j: it is refused', async (args) => {
  await expect(create().verbs.bind(bodyOf(args))).rejects.toThrow(BadRequest);
});

test('given keys in another case, null and unknown ones: they are read as Go reads them', () => {
  const { verbs } = create();
  expect(verbs.filter(bodyOf({ pod, nodes: null, nodeNames: null, Nodes: { items: nodes }, more: 1 }))).toMatchObject({
    FailedNodes: { hot: expect.any(String) },
  });
});

describe('explain', () => {
  test('given a filter and a prioritization: each node with the figure and limit, or with its scores', () => {
    const { verbs, decisions } = create();
    verbs.filter(bodyOf({ Pod: pod, Nodes: { items: nodes } }));
    verbs.prioritize(bodyOf({ Pod: pod, Nodes: { items: nodes.slice(1) } }));
    expect(decisions.explain('default', 'web')).toEqual({
      namespace: 'default',
      pod: 'web',
      uid: 'u1',
      filteredAt: '2023-03-01T02:00:00.000Z',
      bound: null,
      nodes: [
        {
          node: 'hot',
          fits: false,
          scores: null,
          rejection: { plugin: 'Dynamic', subject: 'cpu', value: 0.9, limit: 0.65, message: 'Load[cpu] is too high' },
        },
        {
          node: 'calm',
          fits: true,
          rejection: null,
          scores: { Dynamic: 70, NodeResourceTopologyMatch: 0, wholeCpus: 0, total: 21 },
        },
        {
          node: 'unknown',
          fits: true,
          rejection: null,
          scores: { Dynamic: 0, NodeResourceTopologyMatch: 0, wholeCpus: 0, total: 0 },
        },
      ],
    });
    expect(decisions.explain('default', 'web', 'calm')!.nodes.map(({ node: name }) => name)).toEqual(['calm']);
    expect(decisions.explain('default', 'other')).toBeUndefined();
  });

  test('given more pods than are remembered: the oldest is forgotten', () => {
    const { verbs, decisions } = create();
    for (let n = 0; n <= 256; n++) {
      const named = { ...pod, metadata: { ...pod.metadata, name: `web-${n}`, uid: `u${n}` } };
      verbs.filter(bodyOf({ Pod: named, Nodes: { items: nodes } }));
    }
    expect(decisions.explain('default', 'web-0')).toBeUndefined();
    expect(decisions.explain('default', 'web-256')).toBeDefined();
  });
});

describe('given 900 whole Nodes in 6 MB', () => {
  // Of the fields of a Node its images have the most values.
  const images = Array.from({ length: 50 }, (_, i) => ({
    names: [`team/image-${'x'.repeat(60)}@${i}`, `i:${i}`],
    sizeBytes: i,
  }));
  const many = Array.from({ length: 900 }, (_, i) => ({ ...node(`n${i}`, 0.1, 0.1), status: { images } }));
  const body = bodyOf({ Pod: pod, Nodes: { items: many } });

  test('where the operator allows long requests: they are read', () => {
    expect(body.length).toBeLessThan(MAX_JSON_BYTES);
    const { verbs } = create({ maxRequestBytes: 512 * 1024 * 1024 });
    expect(verbs.filter(body)).toMatchObject({ Nodes: { items: { length: 900 } }, Error: '' });
  });

  test('else the bound in memory counts', () => {
    expect(() => create().verbs.filter(body)).toThrow('the request has more values than are read');
  });
});
