import * as grpc from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { callUnary, loadProtoClient } from '../load-proto-client';
import { withAdminRig } from '../with-admin-server';

const FILE = 'podresources/v1/podresources.proto';
const SERVICE = 'v1.PodResourcesLister';

/** Calls over a socket, with a client of another codec. */
async function ask(socketPath: string, method: string, request: object = {}): Promise<unknown> {
  const client = loadProtoClient(FILE, SERVICE, `unix:${socketPath}`);
  try {
    return await callUnary(client, method, request);
  } finally {
    client.close();
  }
}

/** A kubelet that gives these answers on its own socket, or an error. */
async function startKubelet(
  socketPath: string,
  answers: Readonly<Record<string, object>>,
  onAsked: () => void = () => undefined,
): Promise<grpc.Server> {
  const definition = loadSync(FILE, { includeDirs: [join(__dirname, '../../../proto')], keepCase: true });
  const server = new grpc.Server();
  server.addService(definition[SERVICE] as grpc.ServiceDefinition, {
    List: answerWith(answers['List'], onAsked),
    GetAllocatableResources: answerWith(answers['GetAllocatableResources']),
  });
  await new Promise<void>((resolve, reject) =>
    server.bindAsync(`unix:${socketPath}`, grpc.ServerCredentials.createInsecure(), (error) => {
      if (error) reject(error);
      else resolve();
    }),
  );
  return server;
}

function answerWith(
  answer: object | undefined,
  onAsked: () => void = () => undefined,
): grpc.handleUnaryCall<unknown, unknown> {
  return (_call, callback) => {
    onAsked();
    if (answer) callback(null, answer);
    else callback({ code: grpc.status.RESOURCE_EXHAUSTED, details: 'rejected by rate limit' });
  };
}

const WEB = {
  name: 'web',
  namespace: 'default',
  containers: [
    {
      name: 'app',
      cpuIds: [2, 3],
      memory: [{ memoryType: 'memory', size: 2 ** 32, topology: { nodes: [{}, { ID: 1 }] } }],
    },
    { name: 'sidecar' },
  ],
};
/** CPUs that the containers of a pod share are listed for the pod. */
const JOB = { name: 'job', namespace: 'default', containers: [{ name: 'init' }], cpuIds: [4, 5] };

describe('without a kubelet', () => {
  test('List has exclusive CPUs only, and the memory nodes', async () => {
    await withAdminRig(async ({ start, socketPath }) => {
      await start();
      expect(await ask(socketPath, 'List')).toEqual({ podResources: [WEB, JOB] });
    });
  });

  test('GetAllocatableResources has all allocatable CPUs', async () => {
    await withAdminRig(async ({ start, socketPath }) => {
      await start();
      expect(await ask(socketPath, 'GetAllocatableResources')).toEqual({
        cpuIds: [1, 2, 3, 4, 5, 6, 7],
        memory: [{ memoryType: 'memory', size: 2 ** 33, topology: { nodes: [{}] } }],
      });
    });
  });

  test('Get has one pod', async () => {
    await withAdminRig(async ({ start, socketPath }) => {
      await start();
      const asked = await ask(socketPath, 'Get', { podName: 'job', podNamespace: 'default' });
      expect(asked).toEqual({ podResources: JOB });
    });
  });

  test.each([
    ['of an unknown pod', { podName: 'nope', podNamespace: 'default' }],
    ['of another namespace', { podName: 'web', podNamespace: 'other' }],
    ['without a name', {}],
  ])('Get %s is NOT_FOUND', async (_what, request) => {
    await withAdminRig(async ({ start, socketPath }) => {
      await start();
      await expect(ask(socketPath, 'Get', request)).rejects.toMatchObject({ code: grpc.status.NOT_FOUND });
    });
  });
});

describe('with a kubelet', () => {
  const devices = [{ resource_name: 'vendor/nic', device_ids: ['0000:01:00.0'], topology: { nodes: [{ ID: 1 }] } }];
  const claims = [{ claim_name: 'c', claim_namespace: 'default', claim_resources: [{ share_id: 's' }] }];
  const List = {
    pod_resources: [
      {
        name: 'web',
        namespace: 'default',
        containers: [
          {
            name: 'app',
            devices,
            cpu_ids: [6], // the kubelet's CPUs are not used
            memory: [
              { memory_type: 'memory', size: 1 },
              { memory_type: 'hugepages-2Mi', size: 2_097_152 },
            ],
            dynamic_resources: claims,
          },
          { name: 'starting', devices },
        ],
      },
      { name: 'new', namespace: 'default', containers: [{ name: 'c', devices }] },
    ],
  };
  const shownDevices = [{ resourceName: 'vendor/nic', deviceIds: ['0000:01:00.0'], topology: { nodes: [{ ID: 1 }] } }];

  test('List has devices, claims, huge pages and unknown pods of the kubelet, and CPUs and memory of cpusetd', async () => {
    await withAdminRig(async ({ start, socketPath, folder }) => {
      const kubelet = await startKubelet(join(folder, 'kubelet.sock'), { List });
      await start();
      expect(await ask(socketPath, 'List')).toEqual({
        podResources: [
          {
            ...WEB,
            containers: [
              {
                ...WEB.containers[0],
                devices: shownDevices,
                memory: [...WEB.containers[0]!.memory!, { memoryType: 'hugepages-2Mi', size: 2_097_152 }],
                dynamicResources: [
                  {
                    claimName: 'c',
                    claimNamespace: 'default',
                    claimResources: [{ shareId: 's', _shareId: 'shareId' }],
                  },
                ],
              },
              { name: 'starting', devices: shownDevices },
              { name: 'sidecar' },
            ],
          },
          { name: 'new', namespace: 'default', containers: [{ name: 'c', devices: shownDevices }] },
          JOB,
        ],
      });
      kubelet.forceShutdown();
    });
  });

  test('GetAllocatableResources has the devices of the kubelet', async () => {
    await withAdminRig(async ({ start, socketPath, folder }) => {
      const kubelet = await startKubelet(join(folder, 'kubelet.sock'), {
        GetAllocatableResources: { devices, cpu_ids: [0] },
      });
      await start();
      expect(await ask(socketPath, 'GetAllocatableResources')).toMatchObject({
        devices: shownDevices,
        cpuIds: [1, 2, 3, 4, 5, 6, 7],
      });
      kubelet.forceShutdown();
    });
  });

  test.each([
    ['refuses', async (path: string) => startKubelet(path, {})],
    ['has left a dead socket', (path: string) => Promise.resolve(writeFileSync(path, ''))],
  ])('that %s fails the call, because an answer without devices would be wrong', async (_what, prepare) => {
    await withAdminRig(async ({ start, socketPath, folder }) => {
      const kubelet = await prepare(join(folder, 'kubelet.sock'));
      await start();
      await expect(ask(socketPath, 'List')).rejects.toMatchObject({
        code: grpc.status.UNAVAILABLE,
        details: 'the kubelet does not answer for devices on its own PodResources socket',
      });
      kubelet?.forceShutdown();
    });
  });
});

describe('200 calls at the same time', () => {
  test('share one call of the kubelet, which begins after theirs', async () => {
    await withAdminRig(async ({ start, socketPath, folder }) => {
      let asked = 0;
      const counting = await startKubelet(
        join(folder, 'kubelet.sock'),
        { List: { pod_resources: [] } },
        () => (asked += 1),
      );
      await start({ kubeletTimeoutMs: 600_000 }); // a busy machine answers too
      const client = loadProtoClient(FILE, SERVICE, `unix:${socketPath}`);
      const ask = () => callUnary(client, 'List', {});
      const answers = await Promise.all(Array.from({ length: 200 }, ask));
      for (const answer of answers) expect(answer.podResources).toHaveLength(2);
      expect(asked).toBeLessThan(50);
      const before = asked;
      await ask();
      expect(asked).toBe(before + 1); // a later call gets its own answer
      client.close();
      counting.forceShutdown();
    });
  });
});

describe('the PodResources socket', () => {
  test('serves PodResources only, has mode 0600, and is removed with the server', async () => {
    await withAdminRig(async ({ start, folder }) => {
      const podResourcesSocket = join(folder, 'mount/kubelet.sock');
      const server = await start({ podResourcesSocket });
      expect(statSync(podResourcesSocket).mode & 0o777).toBe(0o600);
      expect(await ask(podResourcesSocket, 'List')).toEqual({ podResources: [WEB, JOB] });
      const manager = loadProtoClient(
        'cpusetd/v1/cpusetd.proto',
        'cpusetd.v1.CpuManager',
        `unix:${podResourcesSocket}`,
      );
      await expect(callUnary(manager, 'GetStatus', {})).rejects.toMatchObject({ code: grpc.status.UNIMPLEMENTED });
      manager.close();
      await server.close();
      expect(statSync(podResourcesSocket, { throwIfNoEntry: false })).toBeUndefined();
    });
  });

  test('of another process: ALREADY_EXISTS with its name, and the admin socket is removed', async () => {
    await withAdminRig(async ({ start, socketPath, folder }) => {
      const podResourcesSocket = join(folder, 'kubelet.sock');
      const kubelet = await startKubelet(podResourcesSocket, {});
      await expect(start({ podResourcesSocket })).rejects.toMatchObject({
        code: 'ALREADY_EXISTS',
        message: expect.stringContaining('another process answers there'),
      });
      expect(statSync(socketPath, { throwIfNoEntry: false })).toBeUndefined();
      kubelet.forceShutdown();
    });
  });
});
