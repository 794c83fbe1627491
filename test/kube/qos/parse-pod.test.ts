import { parseQosPod } from '../../../src/kube/qos/parse-pod';
import { asJson, podOf, sharedParts, type Json } from './objects';

type Parts = Parameters<typeof podOf>[0];

const read = (parts: Parts) => {
  const parsed = parseQosPod(asJson(podOf(parts)));
  if (!parsed.ok) throw new Error(parsed.because);
  return parsed.value;
};
const refusalOf = (parts: Parts): string => {
  const parsed = parseQosPod(asJson(podOf(parts)));
  return parsed.ok ? 'read' : parsed.because;
};
const resourcesOf = (requests: Json, limits: Json = requests) =>
  read({ spec: { containers: [{ name: 'app', resources: { requests, limits } }] } }).containers[0];

test('all fields of a pod', () => {
  const pod = read({
    metadata: { labels: { app: 'web' } },
    spec: {
      priority: 1000,
      priorityClassName: 'high',
      terminationGracePeriodSeconds: 45,
      initContainers: [
        { name: 'setup', resources: { requests: { cpu: '8' } } },
        { name: 'proxy', restartPolicy: 'Always', resources: { requests: { cpu: '100m' } } },
      ],
      containers: [
        {
          name: 'app',
          resources: { requests: { cpu: '0.5', memory: '1Gi' }, limits: { cpu: '1500m', memory: '2Gi' } },
        },
      ],
      ephemeralContainers: [{ name: 'debugger' }],
    },
    status: { qosClass: 'Burstable' },
  });
  expect(pod).toEqual({
    uid: 'u1',
    runtimeUid: 'u1',
    namespace: 'shop',
    name: 'web',
    labels: { app: 'web' },
    qos: 'Burstable',
    priority: 1000,
    isCritical: false,
    isStatic: false,
    phase: 'Running',
    isBeingDeleted: false,
    graceSeconds: 45,
    startedAtMs: Date.UTC(2026, 10, 26, 3, 0, 5),
    containers: [
      { name: 'proxy', requestMilliCpu: 100 },
      {
        name: 'app',
        requestMilliCpu: 500,
        limitMilliCpu: 1500,
        requestMemoryBytes: 2 ** 30,
        limitMemoryBytes: 2 ** 31,
      },
    ],
  });
});

const mirror = { 'kubernetes.io/config.mirror': 'hash', 'kubernetes.io/config.hash': 'hash' };

test.each<[string, Parts, boolean]>([
  ['an ordinary pod', {}, false],
  ['a priority below those of the system', { spec: { priority: 1_999_999_999 } }, false],
  ['the first priority of the system', { spec: { priority: 2_000_000_000 } }, true],
  ['system-node-critical', { spec: { priorityClassName: 'system-node-critical' } }, true],
  ['system-cluster-critical', { spec: { priorityClassName: 'system-cluster-critical' } }, true],
  ['another class', { spec: { priorityClassName: 'system-node-critical-2' } }, false],
  ['a mirror of a static pod', { metadata: { annotations: mirror } }, true],
  [
    'config.source alone: anybody can write it',
    { metadata: { annotations: { 'kubernetes.io/config.source': 'file' } } },
    false,
  ],
])('critical: %s', (_name, parts, want) => {
  expect(read(parts).isCritical).toBe(want);
});

test('the runtime knows a static pod by another uid', () => {
  expect(read({ metadata: { annotations: mirror } })).toMatchObject({ uid: 'u1', runtimeUid: 'hash', isStatic: true });
  const only = { 'kubernetes.io/config.hash': 'hash' };
  expect(read({ metadata: { annotations: only } })).toMatchObject({ runtimeUid: 'u1', isStatic: false });
});

test.each<[string, Parts, number]>([
  ['its start', {}, Date.UTC(2026, 10, 26, 3, 0, 5)],
  ['its creation before it has started', { status: { startTime: null } }, Date.UTC(2026, 10, 26, 3)],
  ['another time zone', { status: { startTime: '2026-11-26T05:00:00+02:00' } }, Date.UTC(2026, 10, 26, 3)],
  ['none', { status: { startTime: '' }, metadata: { creationTimestamp: null } }, 0],
  [
    'a text that only JavaScript takes for a time',
    { status: { startTime: '1' }, metadata: { creationTimestamp: '2026' } },
    0,
  ],
  ['a day that does not exist', { status: { startTime: '2026-13-40T03:00:00Z' } }, Date.UTC(2026, 10, 26, 3)],
])('time: %s', (_name, parts, want) => {
  expect(read(parts).startedAtMs).toBe(want);
});

test.each<[string, Parts, object]>([
  ['it is being deleted', { metadata: { deletionTimestamp: '2026-11-26T04:00:00Z' } }, { isBeingDeleted: true }],
  ['no priority is 0', { spec: { priority: null } }, { priority: 0 }],
  ['a negative priority', { spec: { priority: -5 } }, { priority: -5 }],
  ['a grace of 0', { spec: { terminationGracePeriodSeconds: 0 } }, { graceSeconds: 0 }],
  ['a negative grace is 1, as in Kubernetes', { spec: { terminationGracePeriodSeconds: -1 } }, { graceSeconds: 1 }],
  [
    'without a class in its status, the class that its containers give',
    { status: { qosClass: '' }, spec: { containers: [{ name: 'app', resources: { requests: { cpu: '1' } } }] } },
    { qos: 'Burstable' },
  ],
])('%s', (_name, parts, want) => {
  expect(read(parts)).toMatchObject(want);
});

test.each<[string, Json, object]>([
  ['whole CPUs', { 'gocrane.io/cpu': '2' }, { elasticRequestMilliCpu: 2000, elasticLimitMilliCpu: 2000 }],
  ['thousandths', { 'gocrane.io/cpu': '1500m' }, { elasticRequestMilliCpu: 1500, elasticLimitMilliCpu: 1500 }],
  ['a number', { 'gocrane.io/cpu': 3 }, { elasticRequestMilliCpu: 3000, elasticLimitMilliCpu: 3000 }],
  ['a longer name', { 'gocrane.io/cpu-low': '1' }, { elasticRequestMilliCpu: 1000, elasticLimitMilliCpu: 1000 }],
  [
    'two names',
    { 'gocrane.io/cpu': '1', 'gocrane.io/cpu-low': '1' },
    { elasticRequestMilliCpu: 2000, elasticLimitMilliCpu: 2000 },
  ],
  ['memory', { 'gocrane.io/memory': '1Gi' }, { elasticRequestMemoryBytes: 2 ** 30, elasticLimitMemoryBytes: 2 ** 30 }],
  ['0 is none', { 'gocrane.io/cpu': '0', cpu: '0', memory: 0 }, {}],
  ['another resource', { 'example.com/gocrane.io/cpu': '2' }, {}],
])('resources: %s', (_name, amounts, want) => {
  expect(resourcesOf(amounts)).toEqual({ name: 'app', ...want });
});

describe('what a pod holds is what scheduler and kubelet count', () => {
  const of = (cpu: string, more: Json = {}): Json => ({
    ...{ name: `c${cpu}`, ...more },
    resources: { requests: { 'gocrane.io/cpu': cpu, 'gocrane.io/memory': `${cpu}Mi`, 'gocrane.io/cpu-low': '9' } },
  });
  const sidecar = (cpu: string): Json => of(cpu, { restartPolicy: 'Always' });
  test.each<[string, Json[], Json[], number]>([
    ['the sum of its containers', [], [of('1'), of('2')], 3],
    ['an init container that requests more', [of('5'), of('4')], [of('1'), of('2')], 5],
    ['one that requests less', [of('2')], [of('1'), of('2')], 3],
    ['sidecars and containers', [sidecar('2')], [of('1')], 3],
    ['an init container beside the sidecars before it', [sidecar('2'), of('4'), sidecar('1')], [of('1')], 6],
  ])('%s', (_name, initContainers, containers, want) => {
    const pod = read({ spec: { initContainers, containers } });
    expect([pod.heldMilliCpu, pod.heldMemoryBytes]).toEqual([1000 * want, want * 2 ** 20]);
  });
});

test('a limit alone', () => {
  expect(resourcesOf({}, { 'gocrane.io/cpu': '2' })).toEqual({ name: 'app', elasticLimitMilliCpu: 2000 });
});

const container = (requests: Json): Parts => ({ spec: { containers: [{ name: 'app', resources: { requests } }] } });
const at = 'Pod shop/web: spec.containers[0] (app).resources.requests';

test.each<[string, Parts, string]>([
  ['a request that is no quantity', container({ cpu: 'two' }), `${at}.cpu is "two": it has to be a quantity`],
  ['a huge request', container({ cpu: '1e60' }), `${at}.cpu is "1e60": it has to be a quantity`],
  ['a negative request', container({ memory: '-1Gi' }), `${at}.memory is "-1Gi": it has to be a quantity`],
  [
    'an amount that is an object',
    container({ 'gocrane.io/cpu': {} }),
    `${at}.gocrane.io/cpu is an object: it has to be a quantity`,
  ],
  [
    'amounts with too large a sum',
    container({ 'gocrane.io/cpu': '9007199254740', 'gocrane.io/cpu-low': '9007199254740' }),
    `${at} is an object: it has too much of gocrane.io/cpu`,
  ],
  [
    'a priority beyond int32',
    { spec: { priority: 2 ** 40 } },
    'spec.priority is 1099511627776: it has to be a whole number',
  ],
  [
    'a priority as text',
    { spec: { priority: '2000000000' } },
    'spec.priority is "2000000000": it has to be a whole number',
  ],
  ['no uid', { metadata: { uid: '' } }, 'metadata.uid is "": it has to be set'],
  ['a label that is a number', { metadata: { labels: { a: 1 } } }, 'metadata.labels["a"] is 1: it has to be a text'],
  ['labels that are a list', { metadata: { labels: [] } }, 'metadata.labels has 0 entries: it has to be a map'],
  [
    '1001 containers',
    { spec: { containers: Array(1001).fill({ name: 'a' }) } },
    'spec.containers has 1001 entries: it has to have at most 1000',
  ],
  [
    '1001 labels',
    { metadata: { labels: Object.fromEntries(Array.from({ length: 1001 }, (_, i) => [`l${i}`, ''])) } },
    'metadata.labels is an object: it has to have at most 1000',
  ],
  ['containers that are a text', { spec: { containers: 'app' } }, 'spec.containers is "app": it has to be a list'],
])('refused, so that no action is taken against it: %s', (_name, parts, because) => {
  expect(refusalOf(parts)).toContain(because);
});

test('labels with keys that objects inherit are labels of its own', () => {
  const labels = JSON.parse('{"__proto__": "a", "constructor": "b"}') as Json;
  expect(Object.entries(read({ metadata: { labels } }).labels)).toEqual([
    ['__proto__', 'a'],
    ['constructor', 'b'],
  ]);
});

test.each([null, [], 7, 'x', {}, { metadata: null }, { metadata: { uid: 'u', name: {} } }])('no pod: %j', (object) => {
  expect(parseQosPod(object)).toMatchObject({ ok: false, because: expect.stringMatching(/Pod .+: it has to .+; .+/) });
});

test('no part of the JSON is kept', () => {
  const object = asJson(
    podOf({
      metadata: { labels: { a: 'b' } },
      spec: { containers: [{ name: 'app', resources: { requests: { cpu: '1' } } }] },
    }),
  );
  const parsed = parseQosPod(object);
  expect(parsed.ok).toBe(true);
  expect(sharedParts(object, parsed)).toEqual([]);
});
