import { type sendUnaryData, type Server, type ServerUnaryCall, status } from '@grpc/grpc-js';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CpuSet } from '../../../src/core/cpuset';
import { createCriClient, type CriClient } from '../../../src/cri/client';
import { serveRuntime } from './fake-runtime';

type Call = ServerUnaryCall<Record<string, unknown>, unknown>;
type Reply = sendUnaryData<unknown>;
const answer = (value: unknown) => (_call: Call, reply: Reply) => reply(null, value);

let dir: string;
let socket: string;
let client: CriClient;
let server: Server | undefined;

const serve = async (handlers: Parameters<typeof serveRuntime>[1]) => {
  server = await serveRuntime(socket, handlers);
};

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'cri-'));
  socket = join(dir, 's');
  client = createCriClient(socket);
});

afterEach(() => {
  client.close();
  server?.forceShutdown();
  server = undefined;
  rmSync(dir, { recursive: true });
});

test('gives name and version of the runtime', async () => {
  await serve({ Version: answer({ version: 'v1', runtimeName: 'r', runtimeVersion: '2.1', runtimeApiVersion: 'v1' }) });
  expect(await client.version()).toEqual({ name: 'r', version: '2.1', apiVersion: 'v1' });
});

test.each([
  ['containerd by default', 'containerd', { config: '{"disableHugetlbController":true}' }, 'dropped'],
  ['containerd that was set to tell them', 'containerd', { config: '{"disableHugetlbController":false}' }, 'reported'],
  ['containerd that tells no settings', 'containerd', {}, 'not-known'],
  ['containerd without this setting', 'containerd', { config: '{}' }, 'not-known'],
  ['containerd with another kind of value', 'containerd', { config: '{"disableHugetlbController":"no"}' }, 'not-known'],
  ['containerd whose answer is cut', 'containerd', { config: '{"disableHuge' }, 'not-known'],
  ['an unknown runtime', 'youki', { config: '[youki]' }, 'not-known'],
])('huge pages of containers, %s: of %s with %j they are %s', async (_what, name, info, hugePages) => {
  await serve({ Status: answer({ status: { conditions: [] }, info }) });
  expect(await client.readSettings(name)).toEqual({ hugePages });
});

test('huge pages of containers: CRI-O tells them, and is not asked', async () => {
  await serve({});
  expect(await client.readSettings('cri-o')).toEqual({ hugePages: 'reported' });
});

const listed = (id: string, state: string) => ({ id, podSandboxId: 'p', metadata: { name: `n-${id}` }, state });

test('a node is read with cgroups and resources; containers that were removed meanwhile are left out', async () => {
  const runtimeSpec = (cgroupsPath: string, cpus?: string) => ({
    info: JSON.stringify({ runtimeSpec: { linux: { cgroupsPath, resources: { cpu: { cpus } } } } }),
  });
  const linux = { cpuShares: 1024, cpuQuota: 100000, cpuPeriod: 100000, memoryLimitInBytes: 5, oomScoreAdj: -997 };
  await serve({
    ListContainers: answer({
      containers: [
        listed('a', 'CONTAINER_RUNNING'),
        listed('gone', 'CONTAINER_EXITED'),
        listed('b', 'CONTAINER_UNKNOWN'),
        listed('c', 'CONTAINER_CREATED'),
        listed('d', 'CONTAINER_EXITED'),
      ],
    }),
    ContainerStatus: ({ request }: Call, reply: Reply) => {
      const state = { a: 'CONTAINER_RUNNING', b: 'CONTAINER_UNKNOWN', c: 'CONTAINER_CREATED', d: 'CONTAINER_EXITED' }[
        request.containerId as string
      ];
      if (state === undefined) reply({ code: status.NOT_FOUND, details: 'no such container' });
      else if (request.containerId !== 'a') reply(null, { status: { state } });
      else reply(null, { status: { state, resources: { linux } }, info: runtimeSpec('/kubepods/podu/a', '3') });
    },
    ListPodSandbox: answer({
      items: ['p', 'q'].map((id) => ({
        id,
        metadata: { uid: 'u', namespace: 'ns', name: 'pod' },
        annotations: { k: 'v', 'cpusetd.io/policy': 'none' },
      })),
    }),
    PodSandboxStatus: ({ request }: Call, reply: Reply) => {
      const path = request.podSandboxId === 'p' ? '/kubepods/podu/p' : 'kubepods-podq.slice:cri-containerd:q';
      reply(null, { info: runtimeSpec(path) });
    },
  });
  const bare = { sandboxId: 'p', cgroupsPath: '', resources: {} };
  const pod = { uid: 'u', namespace: 'ns', name: 'pod', annotations: { 'cpusetd.io/policy': 'none' } };
  expect(await client.readNode()).toEqual({
    containers: [
      {
        id: 'a',
        sandboxId: 'p',
        name: 'n-a',
        phase: 'running',
        cgroupsPath: '/kubepods/podu/a',
        resources: { shares: 1024, quotaUs: 100000, periodUs: 100000, memoryLimitBytes: 5, cpus: '3' },
        oomScoreAdj: -997,
      },
      { ...bare, id: 'b', name: 'n-b', phase: 'running' },
      { ...bare, id: 'c', name: 'n-c', phase: 'created' },
      { ...bare, id: 'd', name: 'n-d', phase: 'exited' },
    ],
    pods: [
      { ...pod, sandboxId: 'p', cgroupParent: '/kubepods/podu', pause: { cgroupsPath: '/kubepods/podu/p' } },
      {
        ...pod,
        sandboxId: 'q',
        cgroupParent: 'kubepods-podq.slice',
        pause: { cgroupsPath: 'kubepods-podq.slice:cri-containerd:q' },
      },
    ],
  });
});

test('an update has only the fields that change', async () => {
  const seen: unknown[] = [];
  await serve({
    UpdateContainerResources: ({ request }: Call, reply: Reply) => {
      seen.push(request);
      reply(null, {});
    },
  });
  await client.updateContainer({ containerId: 'c', cpus: CpuSet.of([1, 2, 3, 7]) });
  await client.updateContainer({ containerId: 'c', mems: CpuSet.of([0]), quotaUs: -1 });
  await client.updateContainer({ containerId: 'c', quotaUs: 50_000, periodUs: 100_000, shares: 512 });
  expect(seen).toEqual([
    { containerId: 'c', linux: { cpusetCpus: '1-3,7' } },
    { containerId: 'c', linux: { cpusetMems: '0', cpuQuota: -1 } },
    { containerId: 'c', linux: { cpuQuota: 50_000, cpuPeriod: 100_000, cpuShares: 512 } },
  ]);
});

test.each`
  given                                    | failure                      | state                  | code
  ${'the runtime knows no such container'} | ${status.UNKNOWN}            | ${undefined}           | ${'NOT_FOUND'}
  ${'the container has ended'}             | ${status.UNKNOWN}            | ${'CONTAINER_EXITED'}  | ${'NOT_FOUND'}
  ${'the container runs'}                  | ${status.UNKNOWN}            | ${'CONTAINER_RUNNING'} | ${'UNKNOWN'}
  ${'the runtime lacks memory'}            | ${status.RESOURCE_EXHAUSTED} | ${'CONTAINER_EXITED'}  | ${'RESOURCE_EXHAUSTED'}
`(
  'an update fails, and $given: its status is $code',
  async ({ failure, state, code }: { failure: status; state?: string; code: string }) => {
    await serve({
      UpdateContainerResources: (_: Call, reply: Reply) => reply({ code: failure, details: 'no' }),
      ListContainers: answer({ containers: state === undefined ? [] : [listed('c', state)] }),
    });
    await expect(client.updateContainer({ containerId: 'c', cpus: CpuSet.of([0]) })).rejects.toMatchObject({
      code,
      message: expect.stringContaining('no'),
    });
  },
);

test('an empty set is refused: for the runtime it would mean "no change"', async () => {
  await expect(client.updateContainer({ containerId: 'c', cpus: CpuSet.empty })).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
  });
});

test("a runtime's refusal comes with its status and text", async () => {
  await serve({
    ListContainers: (_: Call, reply: Reply) => reply({ code: status.RESOURCE_EXHAUSTED, details: 'full' }),
  });
  await expect(client.listContainers()).rejects.toMatchObject({
    code: 'RESOURCE_EXHAUSTED',
    message: expect.stringMatching(/ListContainers.*full/),
  });
});

test('a call that is not answered ends with its deadline', async () => {
  await serve({ Version: () => undefined });
  await expect(client.version({ timeoutMs: 100 })).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
});

test('an aborted call is cancelled, also at the runtime', async () => {
  const stop = new AbortController();
  const cancelled = new Promise<void>((resolve) => {
    void serve({
      Version: (call: Call) => {
        call.on('cancelled', resolve);
        stop.abort();
      },
    });
  });
  await expect(client.version({ signal: stop.signal, waitForReady: true })).rejects.toMatchObject({
    code: 'CANCELLED',
  });
  await cancelled;
  await expect(client.version({ signal: stop.signal })).rejects.toMatchObject({ code: 'CANCELLED' });
});

test('a list of 15 MiB arrives, one above 16 MiB is refused', async () => {
  let sizeMiB = 15;
  await serve({
    ListContainers: (_: Call, reply: Reply) =>
      reply(null, { containers: [{ id: 'a', labels: { big: 'x'.repeat(sizeMiB * 1024 * 1024) } }] }),
  });
  expect(await client.listContainers()).toHaveLength(1);
  sizeMiB = 17;
  await expect(client.listContainers()).rejects.toMatchObject({ code: 'RESOURCE_EXHAUSTED' });
});

test('a runtime that went away is UNAVAILABLE, and found again when it is back', async () => {
  const handlers = { ListPodSandbox: answer({ items: [] }) };
  await serve(handlers);
  expect(await client.listPods()).toEqual([]);
  server?.forceShutdown();
  await expect(client.listPods()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  rmSync(socket, { force: true });
  await serve(handlers);
  expect(await client.listPods({ waitForReady: true })).toEqual([]);
});

test('without a socket a call fails at once, or waits for one until its deadline', async () => {
  await expect(client.listPods()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  await expect(client.listPods({ waitForReady: true, timeoutMs: 100 })).rejects.toMatchObject({
    code: 'DEADLINE_EXCEEDED',
  });
});

test('after closing, calls fail; closing twice is harmless', async () => {
  await serve({ ListPodSandbox: answer({ items: [] }) });
  await client.listPods();
  client.close();
  client.close();
  await expect(client.listPods()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});
