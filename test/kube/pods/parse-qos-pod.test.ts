import { parseQosPod } from '../../../src/kube/pods/parse-qos-pod';
import { asJson, podOf, sharedParts, type Json } from '../qos/objects';

const MAX = Number.MAX_SAFE_INTEGER;

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
      { name: 'setup', isInit: true, requestMilliCpu: 8000 },
      { name: 'proxy', requestMilliCpu: 100 },
      {
        name: 'app',
        requestMilliCpu: 500,
        limitMilliCpu: 1500,
        requestMemoryBytes: 2 ** 30,
        limitMemoryBytes: 2 ** 31,
      },
      { name: 'debugger' },
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
  [
    'it is being deleted',
    { metadata: { deletionTimestamp: '2026-11-26T04:00:00Z', deletionGracePeriodSeconds: 30 } },
    { isBeingDeleted: true, deletion: { askedAtMs: Date.UTC(2026, 10, 26, 3, 59, 30), graceSeconds: 30 } },
  ],
  [
    'it is being deleted, with a time that can’t be read: as long ago as can be',
    { metadata: { deletionTimestamp: 'soon', deletionGracePeriodSeconds: 2 ** 63 - 1 } },
    { isBeingDeleted: true, deletion: { askedAtMs: 0, graceSeconds: MAX } },
  ],
  ['the kubelet has not taken it yet', { status: { phase: 'Pending', startTime: null } }, { awaitsKubelet: true }],
  ['the kubelet has taken it', { status: { phase: 'Pending' } }, { awaitsKubelet: undefined }],
  [
    'a resize waits for the kubelet',
    { status: { conditions: [{ type: 'PodResizePending', status: 'True', reason: 'Infeasible' }] } },
    { isResizePending: true },
  ],
  [
    'a resize was granted',
    { status: { conditions: [{ type: 'PodResizePending', status: 'False' }] } },
    { isResizePending: undefined },
  ],
  ['it runs', { status: { startTime: null } }, { awaitsKubelet: undefined }],
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
  const pod = read(parts);
  for (const [key, value] of Object.entries(want)) expect(pod[key as keyof typeof pod]).toEqual(value);
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
  const containerOf = (cpu: string, more: Json = {}): Json => ({
    name: `c${cpu}`,
    ...more,
    resources: { requests: { 'gocrane.io/cpu': cpu, 'gocrane.io/memory': `${cpu}Mi`, 'gocrane.io/cpu-low': '9' } },
  });
  const sidecar = (cpu: string): Json => containerOf(cpu, { restartPolicy: 'Always' });
  test.each<[string, Json[], Json[], number]>([
    ['the sum of its containers', [], [containerOf('1'), containerOf('2')], 3],
    [
      'an init container that requests more',
      [containerOf('5'), containerOf('4')],
      [containerOf('1'), containerOf('2')],
      5,
    ],
    ['one that requests less', [containerOf('2')], [containerOf('1'), containerOf('2')], 3],
    ['sidecars and containers', [sidecar('2')], [containerOf('1')], 3],
    [
      'an init container beside the sidecars before it',
      [sidecar('2'), containerOf('4'), sidecar('1')],
      [containerOf('1')],
      6,
    ],
  ])('%s', (_name, initContainers, containers, want) => {
    const pod = read({ spec: { initContainers, containers } });
    expect([pod.heldMilliCpu, pod.heldMemoryBytes]).toEqual([1000 * want, want * 2 ** 20]);
  });
});

test('a limit alone', () => {
  expect(resourcesOf({}, { 'gocrane.io/cpu': '2' })).toEqual({ name: 'app', elasticLimitMilliCpu: 2000 });
});

const container = (requests: Json): Parts => ({ spec: { containers: [{ name: 'app', resources: { requests } }] } });
const labelsOf = (count: number): Json =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`l${i}`, `${i}`]));

describe('nothing that its author writes takes a pod out of the rules: it is read', () => {
  test.each<[string, Parts, object]>([
    [
      'a limit of 9Pi',
      { spec: { containers: [{ name: 'app', resources: { limits: { memory: '9Pi' } } }] } },
      { containers: [{ limitMemoryBytes: MAX }] },
    ],
    ['a request of 9e15 CPUs', container({ cpu: '9e15' }), { containers: [{ requestMilliCpu: MAX }] }],
    [
      'the largest quantity of Kubernetes',
      container({ memory: '9223372036854775807' }),
      { containers: [{ requestMemoryBytes: MAX }] },
    ],
    ['an exponent beyond all others', container({ cpu: '1e60' }), { containers: [{ requestMilliCpu: MAX }] }],
    [
      'lent amounts with too large a sum',
      container({ 'gocrane.io/cpu': '9007199254740', 'gocrane.io/cpu-low': '9007199254740' }),
      { containers: [{ elasticRequestMilliCpu: MAX }], heldMilliCpu: 9_007_199_254_740_000 },
    ],
    [
      'containers that hold too much together',
      {
        spec: {
          containers: ['a', 'b'].map((name) => ({ name, resources: { requests: { 'gocrane.io/memory': '8Ei' } } })),
        },
      },
      { heldMemoryBytes: MAX },
    ],
    ['a grace of 2^63-1 seconds', { spec: { terminationGracePeriodSeconds: 2 ** 63 - 1 } }, { graceSeconds: MAX }],
    ['1,001 labels', { metadata: { labels: labelsOf(1_001) } }, { labels: { l1000: '1000' } }],
    ['1,001 containers', { spec: { containers: Array(1_001).fill({ name: 'a' }) } }, { containers: { length: 1_001 } }],
    [
      'a name of many characters',
      { spec: { containers: [{ name: 'a'.repeat(300) }] } },
      { containers: [{ name: 'a'.repeat(300) }] },
    ],
  ])('%s', (_name, parts, want) => {
    expect(read(parts)).toMatchObject(want);
  });
});

describe('what can’t be understood spares a pod the least', () => {
  test.each<[string, Parts, object]>([
    ['a request that is no quantity is none', container({ cpu: 'two' }), { containers: [{ name: 'app' }] }],
    ['nor is a negative one', container({ memory: '-1Gi' }), { containers: [{ name: 'app' }] }],
    ['nor an object', container({ 'gocrane.io/cpu': {} }), { containers: [{ name: 'app' }] }],
    [
      'a priority beyond those of Kubernetes',
      { spec: { priority: 2 ** 40 } },
      { priority: 1_999_999_999, isCritical: false },
    ],
    ['a priority below them', { spec: { priority: -(2 ** 40) } }, { priority: -(2 ** 31) }],
    ['a priority as text', { spec: { priority: '2000000000' } }, { priority: 0, isCritical: false }],
    ['a class that is no text', { spec: { priorityClassName: ['system-node-critical'] } }, { isCritical: false }],
    ['a grace as text', { spec: { terminationGracePeriodSeconds: '9' } }, { graceSeconds: undefined }],
  ])('%s', (_name, parts, want) => {
    const pod = read(parts);
    for (const [key, value] of Object.entries(want)) expect(pod[key as keyof typeof pod]).toEqual(value);
  });

  test.each<[string, unknown]>([
    ['more than are kept', labelsOf(4_097)],
    ['a label that is a number', { a: 1 }],
    ['a list', []],
  ])('labels can’t be told: %s', (_name, labels) => {
    expect(read({ metadata: { labels } })).not.toHaveProperty('labels');
  });
});

test.each(['uid', 'namespace', 'name'])('refused: a pod without %s', (field) => {
  expect(refusalOf({ metadata: { [field]: '' } })).toContain(`metadata.${field} is "": it has to be set`);
});

test('labels with keys that objects inherit are labels of its own', () => {
  const labels = JSON.parse('{"__proto__": "a", "constructor": "b"}') as Json;
  expect(Object.entries(read({ metadata: { labels } }).labels ?? {})).toEqual([
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
