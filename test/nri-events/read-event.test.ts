import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { Event, encodeEventRequest, encodeStateChange } from './build-request';
import { CpusetdError } from '../../src/core/errors';
import { decisiveAnnotations } from '../../src/core/annotations/decisive';
import type { RuntimeEvent } from '../../src/core/model/events';
import { readEvent, readSynchronize } from '../../src/nri-events/read-event';
import { toContainerInfo, toPodInfo } from '../../src/nri-events/to-core';
import { readNriCapture, type CapturedRequest } from '../support/read-nri-capture';

/** The message in the form of the other decoder: 64-bit numbers as texts, absent fields left out. */
interface Decoded {
  readonly dir: string;
  readonly type: string;
  readonly method: string;
  readonly payload: {
    readonly pod?: DecodedPod;
    readonly container?: DecodedContainer;
    readonly pods?: readonly DecodedPod[];
    readonly containers?: readonly DecodedContainer[];
  };
}

interface DecodedPod {
  readonly pid?: number;
  readonly id: string;
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly annotations: Record<string, string>;
  readonly linux: {
    readonly cgroup_parent: string;
    readonly cgroups_path?: string;
    readonly pod_resources?: DecodedResources;
  };
}

interface DecodedContainer {
  readonly pid?: number;
  readonly id: string;
  readonly pod_sandbox_id: string;
  readonly name: string;
  readonly state?: string;
  readonly linux: {
    readonly cgroups_path: string;
    readonly oom_score_adj: Wrapped;
    readonly resources: DecodedResources;
  };
}

interface DecodedResources {
  readonly memory?: { readonly limit?: Wrapped };
  readonly cpu?: {
    readonly shares?: Wrapped;
    readonly quota?: Wrapped;
    readonly period?: Wrapped;
    readonly cpus?: string;
    readonly mems?: string;
  };
}

interface Wrapped {
  readonly value?: string;
}

function readDecoded(session: string): readonly Decoded[] {
  const file = join(__dirname, '../fixtures/captures', `${session}.messages.json`);
  const messages = JSON.parse(readFileSync(file, 'utf8')) as Decoded[];
  return messages.filter(({ dir, type }) => dir === 'r2p' && type === 'request');
}

const isEvent = ({ method }: { readonly method: string }) => method !== 'Configure' && method !== 'Synchronize';

function eventsOf(requests: readonly CapturedRequest[]): RuntimeEvent[] {
  return requests.filter(isEvent).map(({ method, payload }) => readEvent(method, payload) as RuntimeEvent);
}

/** Kind and, where the event has one, name and phase of the container. */
function summarize(event: RuntimeEvent): string {
  return 'container' in event ? `${event.kind} ${event.container.name} ${event.container.phase}` : event.kind;
}

const ofOneContainer = (name: string) => [
  `create-container ${name} creating`,
  `container-created ${name} created`,
  `container-starting ${name} running`,
  `container-started ${name} running`,
];

test.each(['1.7.24', '2.1.9', '2.2.7', '2.3.4'])(
  'the life of containers on containerd %s reads the same',
  (version) => {
    expect(eventsOf(readNriCapture(`containerd-${version}-life`)).map(summarize)).toEqual([
      'pod-started',
      ...ofOneContainer('app'),
      'update-container app running',
      'container-updated',
      'container-stopped',
      'container-removed',
      ...ofOneContainer('job'),
      'container-stopped',
      'container-removed',
      'create-container refused creating',
      'container-stopped',
      'container-removed',
      'pod-stopped',
      'pod-removed',
    ]);
  },
);

test('the event of a creation has all fields that a decision needs', () => {
  const [created] = eventsOf(readNriCapture('containerd-2.3.4-life')).filter(({ kind }) => kind === 'create-container');
  expect(created).toEqual({
    kind: 'create-container',
    pod: {
      sandboxId: 'a24286f21ee64695c0fc8821b2c2f563042eab2fa2e14db8e841609ca4eb39b8',
      uid: 'f2e1a117-8d58-4675-82db-f75dc80c3592',
      namespace: 'default',
      name: 'web-6d4b75cb6d-hswdl',
      annotations: {},
      cgroupParent: '/kubepods/burstable/podf2e1a117-8d58-4675-82db-f75dc80c3592',
      podResources: { shares: 1024, quotaUs: 200_000, periodUs: 100_000, memoryLimitBytes: 268_435_456 },
      pause: {
        cgroupsPath:
          '/kubepods/burstable/podf2e1a117-8d58-4675-82db-f75dc80c3592/a24286f21ee64695c0fc8821b2c2f563042eab2fa2e14db8e841609ca4eb39b8',
        pid: 14829,
      },
    },
    container: {
      id: 'f9dfce2d4cc607199d2f0cd9d5c7978eeb2eb9c9c95c49dd6349eb39d407abac',
      sandboxId: 'a24286f21ee64695c0fc8821b2c2f563042eab2fa2e14db8e841609ca4eb39b8',
      name: 'app',
      phase: 'creating',
      cgroupsPath:
        '/kubepods/burstable/podf2e1a117-8d58-4675-82db-f75dc80c3592/f9dfce2d4cc607199d2f0cd9d5c7978eeb2eb9c9c95c49dd6349eb39d407abac',
      resources: { shares: 1024, quotaUs: 200_000, periodUs: 100_000, memoryLimitBytes: 268_435_456 },
      oomScoreAdj: 936,
    },
  });
});

test('CPUs that the runtime gives to pause containers are in the pod', () => {
  const linux = { cgroupsPath: 'kubepods-podu.slice:crio:s', resources: { cpu: { cpus: '0-1' } } };
  const payload = encodeEventRequest({ pod: { id: 's', linux } });
  const event = readEvent('RunPodSandbox', payload) as Extract<RuntimeEvent, { kind: 'pod-started' }>;
  expect(event.pod.pause).toEqual({ cgroupsPath: 'kubepods-podu.slice:crio:s', cpus: '0-1' });
});

test('limits of huge pages are in the container; the kubelet sends the other sizes of the machine with 0', () => {
  const hugepageLimits = [
    { pageSize: '1GB', limit: 0n },
    { pageSize: '2MB', limit: 134_217_728n },
    { pageSize: '2 MB', limit: 5n },
  ];
  const read = (limits: typeof hugepageLimits) => {
    const container = { id: 'c', name: 'app', linux: { resources: { hugepageLimits: limits } } };
    const event = readEvent('CreateContainer', encodeEventRequest({ pod: { id: 's' }, container }));
    return (event as Extract<RuntimeEvent, { kind: 'create-container' }>).container.resources;
  };
  expect(read(hugepageLimits)).toEqual({ hugePages: { 'hugepages-2Mi': 134_217_728 } });
  expect(read(hugepageLimits.slice(0, 1))).toEqual({});
});

test('an update has only the requested fields: wrappers around 0 are not set', () => {
  const [update] = eventsOf(readNriCapture('containerd-2.3.4-life')).filter(({ kind }) => kind === 'update-container');
  expect(update).toMatchObject({ container: { resources: { shares: 1024, cpus: '1' } } });
  expect((update as { resources: unknown }).resources).toEqual({ shares: 512, cpus: '0-1' });
});

test.each(['containerd-1.7.24-life', 'containerd-2.3.4-life'])('%s reads as the other decoder read it', (session) => {
  const decoded = readDecoded(session).filter(isEvent);
  const events = eventsOf(readNriCapture(session));
  expect(events).toHaveLength(decoded.length);
  events.forEach((event, index) => {
    const { pod, container } = decoded[index]!.payload;
    if ('pod' in event) expect(event.pod).toEqual(expectedPod(pod!));
    if ('container' in event)
      expect(event.container).toEqual({ ...expectedContainer(container!), phase: event.container.phase });
    if ('containerId' in event) expect(event.containerId).toBe(container!.id);
    if ('sandboxId' in event) expect(event.sandboxId).toBe(pod!.id);
  });
});

test.each(['containerd-1.7.24-life', 'containerd-2.3.4-life'])(
  '%s synchronizes what the other decoder saw',
  (session) => {
    const decoded = readDecoded(session).find(({ method }) => method === 'Synchronize')!.payload;
    const piece = readSynchronize(readNriCapture(session).find(({ method }) => method === 'Synchronize')!.payload);
    expect(piece.more).toBe(false);
    expect(piece.pods.map(toPodInfo)).toEqual(decoded.pods!.map(expectedPod));
    expect(piece.containers.map((each) => toContainerInfo(each))).toEqual(decoded.containers!.map(expectedContainer));
  },
);

function expectedPod(pod: DecodedPod) {
  const podResources = expectedResources(pod.linux.pod_resources);
  return {
    sandboxId: pod.id,
    uid: pod.uid,
    namespace: pod.namespace,
    name: pod.name,
    annotations: decisiveAnnotations(pod.annotations, []),
    cgroupParent: pod.linux.cgroup_parent,
    ...(Object.keys(podResources).length > 0 && { podResources }),
    ...(pod.linux.cgroups_path && {
      pause: { cgroupsPath: pod.linux.cgroups_path, ...(pod.pid && { pid: pod.pid }) },
    }),
  };
}

function expectedContainer({ id, pod_sandbox_id, name, state, linux, pid }: DecodedContainer) {
  return {
    id,
    sandboxId: pod_sandbox_id,
    name,
    phase: state === 'CONTAINER_CREATED' ? 'created' : 'running',
    cgroupsPath: linux.cgroups_path,
    ...(pid && { pid }),
    resources: expectedResources(linux.resources),
    oomScoreAdj: Number(linux.oom_score_adj.value ?? 0),
  };
}

function expectedResources({ cpu = {}, memory = {} }: DecodedResources = {}) {
  const wanted = {
    shares: Number(cpu.shares?.value ?? 0),
    quotaUs: Number(cpu.quota?.value ?? 0),
    periodUs: Number(cpu.period?.value ?? 0),
    memoryLimitBytes: Number(memory.limit?.value ?? 0),
    cpus: cpu.cpus,
    mems: cpu.mems,
  };
  return Object.fromEntries(Object.entries(wanted).filter(([, value]) => value));
}

const pod = { id: 'p1', uid: 'u1' };
const container = { id: 'c1', podSandboxId: 'p1' };

test.each`
  what                                | method               | payload                                                     | kind
  ${'a pod with a method of its own'} | ${'RunPodSandbox'}   | ${encodeEventRequest({ pod })}                              | ${'pod-started'}
  ${'a pod by StateChange'}           | ${'StateChange'}     | ${encodeStateChange({ event: Event.RUN_POD_SANDBOX, pod })} | ${'pod-started'}
  ${'an exit without its pod'}        | ${'StopContainer'}   | ${encodeEventRequest({ container })}                        | ${'container-stopped'}
  ${'a removal without its pod'}      | ${'RemoveContainer'} | ${encodeEventRequest({ container })}                        | ${'container-removed'}
  ${'an update that asks nothing'}    | ${'UpdateContainer'} | ${encodeEventRequest({ pod, container })}                   | ${'update-container'}
`('$what is $kind', ({ method, payload, kind }) => {
  expect(readEvent(method, payload)).toMatchObject({ kind });
});

test.each`
  event                            | number
  ${'an updated pod'}              | ${Event.POST_UPDATE_POD_SANDBOX}
  ${'no event at all'}             | ${0}
  ${'an event of a later release'} | ${77}
  ${'a negative number'}           | ${-1}
`('StateChange about $event is ignored', ({ number }) => {
  expect(readEvent('StateChange', encodeStateChange({ event: number, pod, container }))).toBe('ignored');
});

test.each`
  what                                     | method               | payload
  ${'a creation without a container'}      | ${'CreateContainer'} | ${encodeEventRequest({ pod })}
  ${'a creation without a pod'}            | ${'CreateContainer'} | ${encodeEventRequest({ container })}
  ${'a container without an id'}           | ${'StopContainer'}   | ${encodeEventRequest({ container: { id: '' } })}
  ${'a pod without an id'}                 | ${'StopPodSandbox'}  | ${encodeEventRequest({ pod: { id: '' } })}
  ${'an empty message'}                    | ${'RemoveContainer'} | ${new Uint8Array(0)}
  ${'a field that ends too early'}         | ${'CreateContainer'} | ${Uint8Array.of(0x0a, 0x05, 0x0a)}
  ${'a length beyond the message'}         | ${'CreateContainer'} | ${Uint8Array.of(0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f)}
  ${'a varint without an end'}             | ${'StateChange'}     | ${new Uint8Array(16).fill(0xff)}
  ${'a group, which proto3 does not have'} | ${'StateChange'}     | ${Uint8Array.of(0x1b)}
  ${'text instead of a message'}           | ${'CreateContainer'} | ${Buffer.from('GET / HTTP/1.1')}
`('$what is refused as INVALID_ARGUMENT', ({ method, payload }) => {
  const error = catchError(() => readEvent(method, payload));
  expect(error).toBeInstanceOf(CpusetdError);
  expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', message: expect.stringMatching(`^${method}: `) });
});

test('a recorded creation that is cut off anywhere is an event or an INVALID_ARGUMENT, never another failure', () => {
  const { payload } = readNriCapture('containerd-2.3.4-life').find(({ method }) => method === 'CreateContainer')!;
  for (let length = 0; length < payload.length; length++) {
    const error = catchError(() => readEvent('CreateContainer', payload.subarray(0, length)));
    if (error !== undefined) expect(error).toMatchObject({ code: 'INVALID_ARGUMENT' });
  }
});

function catchError(run: () => unknown): unknown {
  try {
    run();
    return undefined;
  } catch (error) {
    return error;
  }
}

test('environment, arguments, mounts and labels of a container do not get past the decoder', () => {
  const secret = 'hunter2';
  const container = {
    id: 'c',
    podSandboxId: 'p',
    name: 'main',
    args: [secret],
    env: [`PASSWORD=${secret}`],
    labels: { token: secret },
    mounts: [{ source: `/run/${secret}`, destination: '/run' }],
  };
  const payload = encodeEventRequest({ pod: { id: 'p', name: 'web', labels: { token: secret } }, container });
  expect(Buffer.from(payload).includes(secret)).toBe(true);
  expect(JSON.stringify(readEvent('CreateContainer', payload))).not.toContain(secret);
});
