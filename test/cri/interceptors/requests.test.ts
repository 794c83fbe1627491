import fc from 'fast-check';
import {
  ContainerState,
  ContainerConfig,
  ContainerStatusResponse,
  CreateContainerRequest,
  ListContainersRequest,
  ListContainersResponse,
  Mount,
  RunPodSandboxRequest,
} from '../../gen/cri/v1/cri';
import { CpusetdError } from '../../../src/core/errors';
import { CpuSet, parseCpuList } from '../../../src/core/cpuset';
import { appendToCreate, appendToUpdate } from '../../../src/cri/messages/append-resources';
import { nameCgroupsPath } from '../../../src/cri/messages/container-cgroups-path';
import {
  readCreateContainer,
  readId,
  readRunPodSandbox,
  readUpdateContainer,
} from '../../../src/cri/messages/read-request';
import { asksForAll, readListedStates, readStatusState } from '../../../src/cri/messages/read-container-states';
import { createRequest, updateRequest } from './messages';

const exclusive = { cpus: parseCpuList('2-3'), mems: parseCpuList('0'), quotaUs: -1 };

test("a CreateContainer request is read as the core's types", () => {
  expect(readCreateContainer(createRequest('uid/db', 2))).toEqual({
    pod: {
      sandboxId: 'sandbox-uid',
      uid: 'uid',
      namespace: 'ns',
      name: 'uid',
      annotations: { 'cpusetd.io/policy': 'none' },
      cgroupParent: '/kubepods/poduid',
      podResources: { shares: 2048, quotaUs: 200_000, periodUs: 100_000, memoryLimitBytes: 1 << 26 },
    },
    container: {
      sandboxId: 'sandbox-uid',
      name: 'db',
      phase: 'creating',
      cgroupsPath: '',
      resources: { shares: 2048, quotaUs: 200_000, periodUs: 100_000, memoryLimitBytes: 1 << 26 },
      oomScoreAdj: -997,
    },
  });
});

test('a changed request has the original bytes first, and reads as the original with the change', () => {
  const message = createRequest('uid/db', 2);
  const changed = appendToCreate(message, { adjust: exclusive });
  expect(changed.subarray(0, message.length)).toEqual(message);
  const before = readCreateContainer(message)!;
  expect(readCreateContainer(changed)).toEqual({
    ...before,
    container: {
      ...before.container,
      resources: { ...before.container.resources, cpus: '2-3', mems: '0', quotaUs: -1 },
    },
  });
});

test('a mount and its variables are added to those of the request, and everything else is as it was', () => {
  const message = createRequest('uid/db', 2);
  const own = [{ containerPath: '/data', hostPath: '/srv/data', readonly: false }];
  const request = CreateContainerRequest.decode(message);
  const withOwn = CreateContainerRequest.encode({
    ...request,
    config: ContainerConfig.create({
      ...request.config,
      mounts: own.map((mount) => Mount.create(mount)),
      envs: [{ key: 'A', value: Buffer.from('b') }],
    }),
  }).finish();
  const changed = appendToCreate(withOwn, {
    adjust: exclusive,
    mount: { hostDirectory: '/run/cpusetd/identity/s.db', cpus: parseCpuList('2-3') },
  });
  expect(changed.subarray(0, withOwn.length)).toEqual(withOwn);
  expect(readCreateContainer(changed)?.container.resources).toMatchObject({ cpus: '2-3', mems: '0', quotaUs: -1 });
  // The generated decoder replaces a part that comes twice, so it reads the addition alone.
  const { config } = CreateContainerRequest.decode(changed.subarray(withOwn.length));
  expect(config?.mounts).toMatchObject([
    { containerPath: '/etc/cpusetd', hostPath: '/run/cpusetd/identity/s.db', readonly: true },
  ]);
  expect(config?.envs.map(({ key, value }) => `${key}=${Buffer.from(value).toString()}`)).toEqual([
    'CPUSETD_CPUS_FILE=/etc/cpusetd/cpus.json',
    'CPUSETD_CPUS=2-3',
  ]);
});

test('a request without any change is the same bytes', () => {
  const message = createRequest('uid/db', 2);
  expect(appendToCreate(message, {})).toBe(message);
});

test('fields that another proxy appended count: parts of a message are merged, the last value wins', () => {
  const twice = appendToCreate(appendToCreate(createRequest('uid/db', 2), { adjust: exclusive }), {
    adjust: { cpus: parseCpuList('5') },
  });
  expect(readCreateContainer(twice)?.container.resources).toMatchObject({ cpus: '5', mems: '0', shares: 2048 });
});

test('an update keeps the fields that it does not change', () => {
  const message = updateRequest('c1', { cpuShares: 512n, cpusetCpus: '0-7' });
  const changed = appendToUpdate(message, exclusive);
  expect(changed.subarray(0, message.length)).toEqual(message);
  expect(readUpdateContainer(changed)).toEqual({
    containerId: 'c1',
    resources: { shares: 512, cpus: '2-3', mems: '0', quotaUs: -1 },
  });
});

test('unknown fields stay, at every level', () => {
  // Field 1000 with a text, in the request and in its config.
  const unknown = [0xc2, 0x3e, 2, 0x68, 0x69];
  const message = Uint8Array.from([...createRequest('uid/db', 1), ...unknown, 0x12, unknown.length, ...unknown]);
  const changed = appendToCreate(message, { adjust: exclusive });
  expect(changed.subarray(0, message.length)).toEqual(message);
  expect(readCreateContainer(changed)?.container).toMatchObject({ name: 'db', resources: { cpus: '2-3' } });
});

test('an empty set is refused, since the runtime would read it as no change', () => {
  expect(() => appendToCreate(createRequest('uid/db', 1), { adjust: { cpus: CpuSet.empty } })).toThrow(RangeError);
  expect(() => appendToUpdate(updateRequest('c', {}), { mems: CpuSet.empty })).toThrow(RangeError);
});

test.each`
  name                              | request
  ${'a container without Linux'}    | ${{ podSandboxId: 's', config: { metadata: { name: 'c' } }, sandboxConfig: { linux: {} } }}
  ${'a pod without Linux'}          | ${{ podSandboxId: 's', config: { metadata: { name: 'c' }, linux: {} }, sandboxConfig: {} }}
  ${'a container and no pod'}       | ${{ podSandboxId: 's', config: { metadata: { name: 'c' }, linux: {} } }}
  ${'a request with nothing in it'} | ${{}}
`('$name is forwarded unchanged', ({ request }: { request: CreateContainerRequest }) => {
  const message = CreateContainerRequest.encode(CreateContainerRequest.fromPartial(request)).finish();
  expect(readCreateContainer(message)).toBeUndefined();
});

test.each`
  name            | request
  ${'no name'}    | ${{ podSandboxId: 's', config: { linux: {} }, sandboxConfig: { linux: {} } }}
  ${'no sandbox'} | ${{ config: { metadata: { name: 'c' }, linux: {} }, sandboxConfig: { linux: {} } }}
`('a Linux container with $name is an error', ({ request }: { request: CreateContainerRequest }) => {
  const message = CreateContainerRequest.encode(CreateContainerRequest.fromPartial(request)).finish();
  expect(() => readCreateContainer(message)).toThrow(CpusetdError);
});

test('a pod of another operating system is no event', () => {
  const linux = RunPodSandboxRequest.encode(
    RunPodSandboxRequest.fromPartial({ config: { metadata: { uid: 'u' }, linux: { cgroupParent: '/p' } } }),
  ).finish();
  expect(readRunPodSandbox(linux)?.('s')).toMatchObject({ sandboxId: 's', uid: 'u', cgroupParent: '/p' });
  const other = RunPodSandboxRequest.encode(RunPodSandboxRequest.fromPartial({ config: { windows: {} } })).finish();
  expect(readRunPodSandbox(other)).toBeUndefined();
});

test('a message that is cut off at any byte is read or refused, and never crashes', () => {
  const message = createRequest('uid/db', 2);
  for (let length = 0; length < message.length; length++) {
    try {
      readCreateContainer(message.subarray(0, length));
    } catch (error) {
      expect(error).toMatchObject({ code: 'INVALID_ARGUMENT' });
    }
  }
});

test('any bytes are read or refused', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      for (const read of [readCreateContainer, readUpdateContainer, (b: Uint8Array) => readId('x', b)]) {
        try {
          read(bytes);
        } catch (error) {
          if (!(error instanceof CpusetdError && error.code === 'INVALID_ARGUMENT')) throw error;
        }
      }
    }),
    { seed: 5, numRuns: 2000 },
  );
});

test('states of containers are read from lists and from a status', () => {
  const {
    CONTAINER_CREATED: made,
    CONTAINER_RUNNING: runs,
    CONTAINER_EXITED: exited,
    CONTAINER_UNKNOWN: lost,
  } = ContainerState;
  const containers = [made, runs, exited, lost].map((state, i) => ({ id: `c${i}`, state, labels: { a: 'b' } }));
  const list = ListContainersResponse.encode(ListContainersResponse.fromPartial({ containers })).finish();
  expect([...readListedStates(list)]).toEqual([
    ['c0', 'other'],
    ['c1', 'running'],
    ['c2', 'exited'],
    ['c3', 'other'],
  ]);
  const status = ContainerStatusResponse.encode(
    ContainerStatusResponse.fromPartial({ status: { id: 'c', state: exited, exitCode: 3 }, info: { info: '{}' } }),
  ).finish();
  expect([...readStatusState(status)]).toEqual([['c', 'exited']]);
});

test.each`
  name                  | filter                           | want
  ${'no filter'}        | ${undefined}                     | ${true}
  ${'an empty filter'}  | ${{}}                            | ${true}
  ${'one of a sandbox'} | ${{ podSandboxId: 's' }}         | ${false}
  ${'one of running'}   | ${{ state: { state: 1 } }}       | ${false}
  ${'one of created'}   | ${{ state: { state: 0 } }}       | ${false}
  ${'one of labels'}    | ${{ labelSelector: { a: 'b' } }} | ${false}
`('a list with $name asks for all: $want', ({ filter, want }: { filter: object | undefined; want: boolean }) => {
  const message = ListContainersRequest.encode(ListContainersRequest.fromPartial(filter ? { filter } : {})).finish();
  expect(asksForAll(message)).toBe(want);
});

test.each`
  what                                    | bytes
  ${'an unknown filter'}                  | ${[0x0a, 2, 0x28, 1]}
  ${'an unknown field'}                   | ${[0x10, 1]}
  ${'an empty filter and something else'} | ${[0x0a, 0, 0x10, 1]}
`(
  'a list with $what may be incomplete: a container that is missing in it is not gone',
  ({ bytes }: { bytes: number[] }) => {
    expect(asksForAll(Uint8Array.from(bytes))).toBe(false);
  },
);

test.each`
  runtime         | parent                                   | want
  ${'containerd'} | ${'/kubepods/podU'}                      | ${'/kubepods/podU/id'}
  ${'containerd'} | ${'/kubepods.slice/kubepods-podU.slice'} | ${'kubepods-podU.slice:cri-containerd:id'}
  ${'cri-o'}      | ${'kubepods-podU.slice'}                 | ${'kubepods-podU.slice:crio:id'}
  ${'cri-o'}      | ${'/kubepods/podU'}                      | ${'/kubepods/podU/crio-id'}
  ${'docker'}     | ${'/kubepods/podU'}                      | ${'/kubepods/podU/id'}
  ${'other'}      | ${'/kubepods/podU'}                      | ${undefined}
  ${'containerd'} | ${''}                                    | ${undefined}
`('the cgroup of a container of $runtime in $parent is $want', ({ runtime, parent, want }: Record<string, string>) => {
  expect(nameCgroupsPath(runtime!, parent!, 'id')).toBe(want);
});
