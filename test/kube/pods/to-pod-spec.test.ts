import { leastCpuMsOf } from '../../support/cpu-time';
import { costlyAnnotations, manyAnnotations } from '../../support/hostile-annotations';
import { toWatchedPod } from '../../../src/kube/pods/to-pod-spec';

const containerNames = Array.from({ length: 1000 }, (_, i) => `c${i}`);

type Json = Record<string, unknown>;

function podOf({ spec = {}, status = {}, metadata = {} }: { spec?: Json; status?: Json; metadata?: Json } = {}) {
  return toWatchedPod({
    metadata: { name: 'p', namespace: 'ns', uid: 'u', ...metadata },
    spec: { containers: [{ name: 'main' }], ...spec },
    status: { phase: 'Running', qosClass: 'Burstable', ...status },
  })!.spec;
}

test('init containers, sidecars and apps in the order of the spec, with exact amounts', () => {
  const { containers, podResources, qos, finished } = podOf({
    spec: {
      initContainers: [
        { name: 'setup', resources: { requests: { cpu: '1500m' }, limits: { cpu: '2' } } },
        { name: 'proxy', restartPolicy: 'Always', resources: { requests: { cpu: '0.1' } } },
      ],
      containers: [
        {
          name: 'main',
          resources: {
            requests: { cpu: '300', memory: '1Gi' },
            limits: { cpu: '300', memory: '1Gi', 'hugepages-2Mi': '4Mi', 'hugepages-x': '1' },
          },
        },
      ],
      ephemeralContainers: [{ name: 'debugger' }],
      resources: { requests: { cpu: '302' } },
    },
  });
  expect(containers).toEqual([
    { name: 'setup', kind: 'init', ended: false, requestMilliCpu: 1500, limitMilliCpu: 2000 },
    { name: 'proxy', kind: 'sidecar', ended: false, requestMilliCpu: 100 },
    {
      name: 'main',
      kind: 'app',
      ended: false,
      requestMilliCpu: 300_000,
      limitMilliCpu: 300_000,
      requestMemoryBytes: 2 ** 30,
      limitMemoryBytes: 2 ** 30,
      limitHugePages: { 'hugepages-2Mi': 2 ** 22 },
    },
  ]);
  expect(podResources).toEqual({ requestMilliCpu: 302_000 });
  expect([qos, finished]).toEqual(['Burstable', false]);
});

test('amounts beyond all machines are read as the largest, and take nothing with them', () => {
  const resources = { requests: { cpu: '9e15' }, limits: { memory: '9Pi', 'hugepages-2Mi': '16Ei' } };
  const { containers } = podOf({ spec: { containers: [{ name: 'main', resources }], resources: resources } });
  const MAX = Number.MAX_SAFE_INTEGER;
  expect(containers).toEqual([
    {
      name: 'main',
      kind: 'app',
      ended: false,
      requestMilliCpu: MAX,
      limitMemoryBytes: MAX,
      limitHugePages: { 'hugepages-2Mi': MAX },
    },
  ]);
});

const exited = (name: string, exitCode: number) => [{ name, state: { terminated: { exitCode } } }];

test.each<[string, Json, Json, boolean]>([
  ['it runs', {}, { containerStatuses: [{ name: 'main', state: { running: {} } }] }, false],
  ['it has no status', {}, {}, false],
  ['it exited, and is started again', {}, { containerStatuses: exited('main', 0) }, false],
  ['it exited for good: Never', { restartPolicy: 'Never' }, { containerStatuses: exited('main', 1) }, true],
  ['it succeeded: OnFailure', { restartPolicy: 'OnFailure' }, { containerStatuses: exited('main', 0) }, true],
  ['it failed: OnFailure', { restartPolicy: 'OnFailure' }, { containerStatuses: exited('main', 1) }, false],
  [
    'only its last run is over',
    { restartPolicy: 'Never' },
    { containerStatuses: [{ name: 'main', state: {}, lastState: { terminated: {} } }] },
    false,
  ],
  [
    'its own policy counts',
    { containers: [{ name: 'main', restartPolicy: 'Never' }] },
    { containerStatuses: exited('main', 1) },
    true,
  ],
  [
    'its restart rules may start it again',
    { restartPolicy: 'Never', containers: [{ name: 'main', restartPolicyRules: [{ action: 'Restart' }] }] },
    { containerStatuses: exited('main', 1) },
    false,
  ],
])('ended: %s', (_name, spec, status, ended) => {
  expect(podOf({ spec, status }).containers[0]?.ended).toBe(ended);
});

test.each<[string, Json, number, boolean]>([
  ['an init container that succeeded', {}, 0, true],
  ['an init container that failed', {}, 1, false],
  ['a sidecar, however it exited', { restartPolicy: 'Always' }, 0, false],
])('ended: %s', (_name, more, exitCode, ended) => {
  const pod = podOf({
    spec: { initContainers: [{ name: 'setup', ...more }] },
    status: { initContainerStatuses: exited('setup', exitCode) },
  });
  expect(pod.containers[0]?.ended).toBe(ended);
});

test.each<[string, Json, boolean | undefined]>([
  ['a pod', {}, undefined],
  ['a pod that somebody deletes', { deletionTimestamp: '2026-11-21T00:00:00Z' }, true],
  [
    'the mirror of a static pod, whose deletion ends nothing',
    { deletionTimestamp: '2026-11-21T00:00:00Z', annotations: { 'kubernetes.io/config.mirror': 'x' } },
    undefined,
  ],
])('being deleted: %s', (_name, metadata, expected) => {
  expect(podOf({ metadata }).isBeingDeleted).toBe(expected);
});

test('an exited container of a pod under deletion counts as ended', () => {
  const status = { containerStatuses: exited('main', 0) };
  expect(podOf({ status, metadata: { deletionTimestamp: '2026-11-21T00:00:00Z' } }).containers[0]?.ended).toBe(true);
});

test.each([
  ['Succeeded', true],
  ['Failed', true],
  ['Running', false],
  ['Pending', false],
  ['Unknown', false],
])('a pod that is %s: finished is %p', (phase, finished) => {
  expect(podOf({ status: { phase } }).finished).toBe(finished);
});

test.each<[string, Json, string]>([
  ['the class in the status counts', { status: { qosClass: 'BestEffort' } }, 'BestEffort'],
  ['without it, requests and limits', { status: { qosClass: undefined } }, 'BestEffort'],
  [
    'without it, equal requests and limits',
    {
      status: { qosClass: 'new' },
      spec: {
        containers: [
          { name: 'main', resources: { requests: { cpu: '1', memory: '1' }, limits: { cpu: '1000m', memory: '1' } } },
        ],
      },
    },
    'Guaranteed',
  ],
])('QoS: %s', (_name, parts, qos) => {
  expect(podOf(parts as Parameters<typeof podOf>[0]).qos).toBe(qos);
});

test('annotations that are no texts or decide nothing are left out', () => {
  const choice = { 'cpusetd.io/policy': 'none', 'policy.cpusetd.io/container.c': 'numa' };
  const others = { a: 'x', 'topology.crane.io/cpu-policy': 1, 'policy.cpusetd.io/container.gone': 'numa' };
  const spec = { containers: [{ name: 'c' }], ephemeralContainers: [{ name: 'debug' }] };
  const ofDebug = { 'policy.cpusetd.io/container.debug': 'none' };
  const annotations = { ...choice, ...others, ...ofDebug };
  expect(podOf({ metadata: { annotations }, spec }).annotations).toEqual({ ...choice, ...ofDebug });
});

test.each`
  name                                          | annotations
  ${'65,536 annotations of the shortest names'} | ${manyAnnotations()}
  ${'256 KiB of names like those of cpusetd'}   | ${costlyAnnotations(containerNames)}
`('a pod with $name and 1000 containers is reduced in 20 ms', ({ annotations }: { annotations: object }) => {
  const containers = containerNames.map((name) => ({ name, resources: { requests: { cpu: '1m' } } }));
  const containerStatuses = containerNames.map((name) => ({ name, state: { running: {} } }));
  const pod = { metadata: { uid: 'u', name: 'p', annotations }, spec: { containers }, status: { containerStatuses } };
  expect(leastCpuMsOf(() => pod, toWatchedPod, { tries: 20, limitMs: 20 })).toBeLessThan(20);
  expect(toWatchedPod(pod)?.spec.containers).toHaveLength(1000);
});

test.each<[string, unknown]>([
  ['nothing', undefined],
  ['null', null],
  ['a text', 'pod'],
  ['a list', []],
  ['no metadata', { spec: {} }],
  ['no uid', { metadata: { name: 'p' } }],
  ['no name', { metadata: { uid: 'u' } }],
  ['a uid that is no text', { metadata: { name: 'p', uid: 7 } }],
])('%s is no pod', (_name, pod) => {
  expect(toWatchedPod(pod)).toBeUndefined();
});

test('a malformed field counts as absent', () => {
  const pod = toWatchedPod({
    metadata: { name: 'p', uid: 'u', annotations: [] },
    spec: { containers: [{ resources: { requests: { cpu: 'much', memory: '-1' } } }, 'x'], initContainers: 'none' },
    status: 'fine',
  });
  expect(pod).toEqual({
    phase: '',
    spec: {
      uid: 'u',
      namespace: '',
      name: 'p',
      annotations: {},
      qos: 'BestEffort',
      finished: false,
      containers: [
        { name: '', kind: 'app', ended: false },
        { name: '', kind: 'app', ended: false },
      ],
    },
  });
});
