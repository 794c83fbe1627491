import { parseCpuList } from '../../../src/core/cpuset';
import type { Container } from '../../../src/core/model/container';
import type { ContainerInfo, CpuResources, NodeEvent, PodInfo } from '../../../src/core/model/events';
import type { ContainerSpec, PodSpec } from '../../../src/core/model/pod-spec';
import { InputRecorder } from '../../../src/state/journal';
import { readInput } from '../../../src/state/journal/inputs';
import { decodeLine, encodeRecord } from '../../../src/state/journal/record';
import { NodeDriver } from '../../core/transition/node-driver';

// Each value has all fields of its type: a new one has to be added here, or this does not compile.

const resources: Required<CpuResources> = {
  shares: 2048,
  quotaUs: -1,
  periodUs: 100_000,
  memoryLimitBytes: 2 ** 30,
  hugePages: { 'hugepages-2Mi': 2 ** 21 },
  cpus: '1-2',
  mems: '0',
};
const pod: Required<PodInfo> = {
  sandboxId: 's',
  uid: 'u',
  namespace: 'n',
  name: 'p',
  annotations: { a: 'b' },
  cgroupParent: '/kubepods',
  podResources: resources,
  pause: { cgroupsPath: '/kubepods/s' },
};
const container: Required<ContainerInfo> = {
  id: 'c',
  sandboxId: 's',
  name: 'app',
  phase: 'running',
  cgroupsPath: '/kubepods/c',
  pid: 7,
  resources,
  oomScoreAdj: 2,
};
const amounts = { requestMilliCpu: 1, limitMilliCpu: 2, requestMemoryBytes: 3, limitMemoryBytes: 4 };
const containerSpec: Required<ContainerSpec> = {
  name: 'app',
  kind: 'app',
  ended: false,
  limitHugePages: { 'hugepages-2Mi': 1 },
  ...amounts,
};
const spec: Required<PodSpec> = {
  uid: 'u',
  namespace: 'n',
  name: 'p',
  annotations: {},
  qos: 'Burstable',
  finished: false,
  isBeingDeleted: true,
  containers: [containerSpec],
  podResources: amounts,
};

/** The pause container decides nothing, and is not recorded. */
const { pause: _pause, ...recordedPod } = pod;

type Event<K extends NodeEvent['kind']> = Extract<NodeEvent, { readonly kind: K }>;
const creation: Required<Event<'create-container'>> = {
  kind: 'create-container',
  pod,
  container,
  shareBecause: 'x',
  runsBeside: ['d'],
  counts: 'never',
};
const update: Required<Event<'update-container'>> = {
  kind: 'update-container',
  pod,
  container,
  resources,
  counts: 'never',
};

function record(events: readonly NodeEvent[]) {
  const recorder = new InputRecorder(new NodeDriver().model, () => ({ options: {} }));
  const answer = { kind: 'ok' } as const;
  return events.flatMap((request) => [...recorder.of({ request, timing: {}, answer, reported: [] })]);
}

/** The result of a reader. */
function readBack(records: ReturnType<typeof record>) {
  return records.map((each) => {
    const line = decodeLine(encodeRecord({ at: '2026-01-01T00:00:00Z', ...each }).trimEnd());
    if (line.kind !== 'record') throw new Error('no record');
    return readInput(line.record);
  });
}

const eventsOf = (inputs: ReturnType<typeof readBack>) =>
  inputs.flatMap((input) => (input.kind === 'event' ? [input.event] : []));

test('every field of an event that decides is read as it was recorded', () => {
  const { counts: _counts, ...request } = creation;
  const { counts: _of, ...change } = update;
  const gone: NodeEvent[] = [
    { kind: 'container-named', temporaryId: 'c', containerId: 'd', cgroupsPath: '/kubepods/d' },
    { kind: 'container-stopped', containerId: 'd' },
    { kind: 'pod-spec', spec },
    { kind: 'pod-spec-gone', uid: 'u' },
    { kind: 'pod-stopped', sandboxId: 's' },
    { kind: 'pod-removed', sandboxId: 's' },
  ];
  expect(eventsOf(readBack(record([creation, update, ...gone])))).toEqual([
    { kind: 'pod-started', pod: recordedPod },
    { ...request, pod: recordedPod },
    { ...change, pod: recordedPod },
    ...gone,
  ]);
});

test('every field of the node as it is', () => {
  const promise = { cpus: parseCpuList('1-2'), mems: parseCpuList('0'), quota: { quotaUs: -1, periodUs: 100_000 } };
  const whole: Required<Omit<Container, 'pause' | 'applied' | 'runtimeRecord'>> = {
    ...container,
    podUid: 'u',
    placement: 'shared',
    entitledCpus: 1,
    leftAlone: true,
    avoidsReserved: true,
    annotationDigest: 'd',
    blockedSwitch: { because: 'x', since: 't' },
    quota: 'lifted',
    promise,
    promisedAt: 't',
    waitingSince: 't',
    freshAssignment: true,
    because: 'x',
    becauseOfCpus: 'y',
  };
  const { model } = new NodeDriver();
  const view = Object.create(model, {
    pods: { value: new Map([['s', { ...pod, stopped: true }]]) },
    containers: { value: new Map([['c', whole]]) },
    podSpecs: { value: new Map([['u', spec]]) },
    unplanned: { value: new Map([['u', 'too large']]) },
  }) as typeof model;
  const inputs = readBack([...new InputRecorder(view, () => ({ options: { a: 'b' } })).list(3)]);
  expect(inputs.map(({ kind }) => kind)).toEqual(['settings', 'pod', 'container', 'spec', 'listed']);
  const [, ofPod, ofContainer, ofSpec, listed] = inputs;
  expect(ofPod).toEqual({ kind: 'pod', info: recordedPod, isStopped: true });
  if (ofContainer?.kind !== 'container') throw new Error('no container');
  expect({ ...ofContainer.info, ...ofContainer.state }).toEqual(whole);
  expect(ofSpec).toEqual({ kind: 'spec', spec, isKnown: false, unplanned: 'too large' });
  expect(listed).toMatchObject({ kind: 'listed', isStart: true, ahead: 3, isAfterGap: false });
});

test.each([
  ['another version', { of: 'weather' }, 'weather'],
  ['a name that objects inherit', { of: 'constructor' }, 'constructor'],
  ['an event of an unknown kind', { of: 'event', event: { kind: 'toString' } }, 'event'],
  ['an event that is none', { of: 'event', event: null }, 'event'],
  ['a container without its name', { of: 'container', info: { id: 'c' } }, 'container'],
  ['none', {}, undefined],
])('unreadable: %s', (_name, facts, was) => {
  expect(readInput({ at: '2026-01-01T00:00:00Z', kind: 'input', ...facts })).toEqual({ kind: 'unreadable', was });
});
