import * as grpc from '@grpc/grpc-js';
import { connect as connectHttp2 } from 'node:http2';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

import { connectAdmin } from '../../../src/admin/client/admin-client';
import { startHealthServer } from '../../../src/admin/server/admin-server';
import type { StatusChange } from '../../../src/admin/model/status';
import { parseCpuList } from '../../../src/core/cpuset';
import { CpusetdError } from '../../../src/core/errors';
import { callUnary, loadProtoClient, readOneByOne } from '../load-proto-client';
import { container, sampleStatus, sampleTopology } from '../sample-status';
import { withAdminRig } from '../with-admin-server';
import { waitUntil } from '../../support/wait-until';

const HEALTH = ['grpc/health/v1/health.proto', 'grpc.health.v1.Health'] as const;
const CPU_MANAGER = ['cpusetd/v1/cpusetd.proto', 'cpusetd.v1.CpuManager'] as const;

describe('health', () => {
  test.each`
    service                    | set              | want
    ${''}                      | ${undefined}     | ${'NOT_SERVING'}
    ${''}                      | ${'SERVING'}     | ${'SERVING'}
    ${'nri'}                   | ${'SERVING'}     | ${'SERVING'}
    ${'nri'}                   | ${'NOT_SERVING'} | ${'NOT_SERVING'}
    ${'cri'}                   | ${undefined}     | ${'NOT_SERVING'}
    ${'cpusetd.v1.CpuManager'} | ${'SERVING'}     | ${'SERVING'}
  `('Check of "$service" set to $set answers $want', async ({ service, set, want }) => {
    await withAdminRig(async ({ start, health, socketPath }) => {
      await start();
      if (set) health.set(service, set);
      const client = loadProtoClient(...HEALTH, `unix:${socketPath}`);
      expect(await callUnary(client, 'Check', { service })).toEqual({ status: want });
      client.close();
    });
  });

  test('Check of an unknown service is NOT_FOUND', async () => {
    await withAdminRig(async ({ start, socketPath }) => {
      await start();
      const client = loadProtoClient(...HEALTH, `unix:${socketPath}`);
      await expect(callUnary(client, 'Check', { service: 'nope' })).rejects.toMatchObject({
        code: grpc.status.NOT_FOUND,
      });
      client.close();
    });
  });

  test('Watch sends the status at once, each change once, and NOT_SERVING at shutdown', async () => {
    await withAdminRig(async ({ start, health, socketPath }) => {
      const server = await start();
      const client = loadProtoClient(...HEALTH, `unix:${socketPath}`);
      const next = readOneByOne(client.Watch({ service: 'nri' }));
      expect(await next()).toEqual({ status: 'NOT_SERVING' });
      health.set('nri', 'SERVING');
      health.set('nri', 'SERVING');
      expect(await next()).toEqual({ status: 'SERVING' });
      const closed = server.close();
      expect(await next()).toEqual({ status: 'NOT_SERVING' });
      expect(await next()).toBeUndefined();
      await closed;
      client.close();
    });
  });

  test('Watch of an unknown service sends SERVICE_UNKNOWN and stays open', async () => {
    await withAdminRig(async ({ start, socketPath }) => {
      const server = await start();
      const client = loadProtoClient(...HEALTH, `unix:${socketPath}`);
      const next = readOneByOne(client.Watch({ service: 'nope' }));
      expect(await next()).toEqual({ status: 'SERVICE_UNKNOWN' });
      const after = next();
      await server.close();
      expect(await after).toBeUndefined();
      client.close();
    });
  });

  test('over TCP is served alone, without the other services', async () => {
    await withAdminRig(async ({ health, logged }) => {
      const address = { host: '127.0.0.1', port: 0 };
      const log = { error: (fact: unknown) => void logged.push(fact), warn: (fact: unknown) => void logged.push(fact) };
      const server = await startHealthServer({ address, health, log });
      health.set('', 'SERVING');
      const client = loadProtoClient(...HEALTH, `127.0.0.1:${server.port}`);
      expect(await callUnary(client, 'Check', {})).toEqual({ status: 'SERVING' });
      client.close();
      const manager = loadProtoClient(...CPU_MANAGER, `127.0.0.1:${server.port}`);
      await expect(callUnary(manager, 'GetStatus', {})).rejects.toMatchObject({ code: grpc.status.UNIMPLEMENTED });
      manager.close();

      const second = startHealthServer({ address: { ...address, port: server.port }, health, log });
      await expect(second).rejects.toMatchObject({ code: 'EADDRINUSE' });
      await server.close();
      await server.close();
    });
  });
});

describe('cpusetd.v1.CpuManager', () => {
  test('GetStatus has the whole status, read by the generated codec', async () => {
    await withAdminRig(async ({ start, socketPath }) => {
      await start();
      const client = await connectAdmin(socketPath);
      expect(await client.status()).toEqual(sampleStatus);
      client.close();
    });
  });

  test('GetStatus has the same status, read by another codec', async () => {
    await withAdminRig(async ({ start, socketPath }) => {
      await start();
      const client = loadProtoClient(...CPU_MANAGER, `unix:${socketPath}`);
      const { status } = await callUnary(client, 'GetStatus', {});
      client.close();
      expect(status.node).toMatchObject({
        policyOptions: ['full-pcpus-only', 'strict-cpu-reservation'],
        sharedPool: '0-1,6-7',
        mode: 'MODE_NRI',
        cri: { state: 'CONNECTION_STATE_CONNECTING', reason: 'connection refused' },
        generation: 12,
        gap: { containers: 2 },
      });
      expect(status.containers[1]).toMatchObject({
        placement: 'PLACEMENT_EXCLUSIVE',
        promise: { cpus: '2-3', mems: '0', quotaUs: -1 },
        observation: { cpus: '2-3', effectiveCpus: '2' },
        verdict: { kind: 'VERDICT_KIND_VIOLATED', reason: 'CPU 3 is offline', since: { seconds: 1_795_255_200 } },
        rules: { policyOptions: ['full-pcpus-only'], reserved: '0' },
        kind: 'ASSIGNMENT_KIND_STATIC',
      });
      expect(status.containers[2]).toMatchObject({
        kind: 'ASSIGNMENT_KIND_NUMA',
        nodes: '0-1',
        rules: { chosenBy: 'topology.crane.io/cpu-policy' },
      });
      expect(status.idle).toHaveLength(1);
    });
  });

  test('ListAssignments has all assignments; idle ones have no container id', async () => {
    await withAdminRig(async ({ start, socketPath }) => {
      await start();
      const client = loadProtoClient(...CPU_MANAGER, `unix:${socketPath}`);
      const { assignments } = await callUnary(client, 'ListAssignments', {});
      client.close();
      expect(assignments).toMatchObject([
        { podUid: 'uid-job', container: 'init', cpus: '4-5', kind: 'ASSIGNMENT_KIND_EXCLUSIVE', sharedInPod: true },
        { container: 'app', containerId: 'a'.repeat(64), cpus: '2-3', mems: '0', kind: 'ASSIGNMENT_KIND_STATIC' },
        {
          container: 'numa',
          kind: 'ASSIGNMENT_KIND_NUMA',
          nodes: '0-1',
          rules: { policy: 'numa', chosenBy: 'topology.crane.io/cpu-policy' },
        },
      ]);
      expect(assignments[0].containerId ?? '').toBe('');
      expect(assignments[2].cpus ?? '').toBe('');
    });
  });

  test('GetTopology has the machine and its assignments, read by the generated codec', async () => {
    await withAdminRig(async ({ start, socketPath }) => {
      await start();
      const client = await connectAdmin(socketPath);
      expect(await client.topology()).toEqual(sampleTopology);
      client.close();
    });
  });

  test('GetTopology has the same machine, read by another codec', async () => {
    await withAdminRig(async ({ start, socketPath }) => {
      await start();
      const client = loadProtoClient(...CPU_MANAGER, `unix:${socketPath}`);
      const { machine, node, assignments } = await callUnary(client, 'GetTopology', {});
      client.close();
      expect(machine.cpus).toHaveLength(8);
      expect(machine.cpus[7]).toEqual({ id: 7, core: 3, socket: 1, numaNode: 1, uncoreCache: 1 });
      expect(machine.memoryNodes[1]).toEqual({ id: 1, memoryBytes: 2 ** 33, cpus: '2-3,6-7' });
      expect([machine.offline, node.sharedPool, assignments.length]).toEqual(['8', '0-1,6-7', 3]);
    });
  });

  test('WatchStatus sends the full status, then each kind of change', async () => {
    await withAdminRig(async ({ start, socketPath, backend }) => {
      await start();
      const changes: StatusChange[] = [
        {
          kind: 'container',
          container: container({ id: 'n', pod: 'new', container: 'c', placement: 'shared', requested: 0 }),
        },
        { kind: 'node', node: { ...sampleStatus.node, sharedPool: parseCpuList('0') } },
        { kind: 'idle', idle: [] },
        { kind: 'container-removed', id: 'c' },
      ];
      const client = await connectAdmin(socketPath);
      const stop = new AbortController();
      const seen: StatusChange[] = [];
      for await (const change of client.watch(stop.signal)) {
        seen.push(change);
        if (seen.length === 1) changes.forEach((each) => backend.emit(each));
        if (seen.length === 1 + changes.length) stop.abort();
      }
      expect(seen).toEqual([{ kind: 'full', status: sampleStatus }, ...changes]);
      client.close();
    });
  });

  test('a watcher that disconnects is removed', async () => {
    await withAdminRig(async ({ start, socketPath, backend }) => {
      await start();
      const client = loadProtoClient(...CPU_MANAGER, `unix:${socketPath}`);
      const stream = client.WatchStatus({});
      stream.on('error', () => undefined);
      await readOneByOne(stream)();
      expect(backend.watchers).toBe(1);
      client.close();
      stream.cancel();
      await waitUntil(() => backend.watchers === 0);
    });
  });

  test('a watcher that reads slowly misses changes and gets the present status later', async () => {
    await withAdminRig(async ({ start, socketPath, backend }) => {
      await start();
      const client = loadProtoClient(...CPU_MANAGER, `unix:${socketPath}`);
      const stream = client.WatchStatus({});
      const next = readOneByOne(stream);
      await next();
      stream.pause();
      const rounds = 2_000;
      for (let i = 1; i <= rounds; i++) {
        backend.current = { ...sampleStatus, node: { ...sampleStatus.node, generation: i } };
        backend.emit({
          kind: 'node',
          node: { ...backend.current.node, cri: { ...backend.current.node.cri, reason: 'x'.repeat(10_000) } },
        });
        if (i % 100 === 0) await new Promise(setImmediate);
      }
      let received = 0;
      for (;;) {
        const message = await next();
        received += 1;
        if (message.status?.node.generation === rounds) break;
      }
      expect(received).toBeLessThan(rounds / 10);
      client.close();
      stream.on('error', () => undefined).cancel();
    });
  });

  test.each`
    what                                | request                   | code                  | details
    ${'an unknown pod'}                 | ${{ pod: { name: 'q' } }} | ${'NOT_FOUND'}        | ${'no pod q'}
    ${'an empty query'}                 | ${{}}                     | ${'INVALID_ARGUMENT'} | ${'nothing to explain: name a pod or a number of CPUs'}
    ${'a query with an internal error'} | ${{ cpus: 13 }}           | ${'INTERNAL'}         | ${'internal error; see the log of cpusetd'}
  `('Explain of $what is $code', async ({ request, code, details }) => {
    await withAdminRig(async ({ start, socketPath, logged }) => {
      await start();
      const client = loadProtoClient(...CPU_MANAGER, `unix:${socketPath}`);
      await expect(callUnary(client, 'Explain', request)).rejects.toMatchObject({
        code: grpc.status[code as keyof typeof grpc.status],
        details,
      });
      client.close();
      expect(logged).toHaveLength(code === 'INTERNAL' ? 1 : 0);
    });
  });

  test('Explain answers for a pod and for a number of CPUs', async () => {
    await withAdminRig(async ({ start, socketPath, backend }) => {
      await start();
      const client = await connectAdmin(socketPath);
      const pod = { kind: 'pod', namespace: '', pod: 'web', container: '' } as const;
      expect(await client.explain(pod)).toEqual(backend.explain(pod));
      const refused = { ...pod, pod: 'db' };
      expect(await client.explain(refused)).toEqual(backend.explain(refused));
      const cpus = { kind: 'cpus', count: 2 } as const;
      expect(await client.explain(cpus)).toEqual(backend.explain(cpus));
      client.close();
    });
  });

  test('a request of 100 kB is refused', async () => {
    await withAdminRig(async ({ start, socketPath }) => {
      await start();
      const client = loadProtoClient(...CPU_MANAGER, `unix:${socketPath}`);
      await expect(callUnary(client, 'Explain', { pod: { name: 'x'.repeat(100_000) } })).rejects.toMatchObject({
        code: grpc.status.RESOURCE_EXHAUSTED,
      });
      client.close();
    });
  });
});

test('a server that does not answer: DEADLINE_EXCEEDED, with its path and the remedy', async () => {
  await withAdminRig(async ({ socketPath }) => {
    const sockets: Socket[] = [];
    const silent = createServer((socket) => void sockets.push(socket.on('error', () => undefined).resume()));
    await once(silent.listen(socketPath), 'listening');
    const client = await connectAdmin(socketPath, { callTimeoutMs: 50 });
    await expect(client.status()).rejects.toMatchObject({
      code: 'DEADLINE_EXCEEDED',
      message: `cpusetd at ${socketPath} has not answered within 0.05 s; its process is stopped or very busy: look at it and at its log, and try again`,
    });
    client.close();
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => silent.close(resolve));
  });
});

describe('the server', () => {
  test('cuts an error that quotes a long text of the client', async () => {
    await withAdminRig(async ({ start, socketPath, backend }) => {
      jest.spyOn(backend, 'explain').mockImplementation((query) => {
        throw new CpusetdError('NOT_FOUND', `no pod ${query.kind === 'pod' ? query.pod : ''}\ud800`);
      });
      await start();
      const client = loadProtoClient(...CPU_MANAGER, `unix:${socketPath}`);
      const failed = callUnary(client, 'Explain', { pod: { name: '\u{1f600}'.repeat(15_000) } });
      await expect(failed).rejects.toMatchObject({
        code: grpc.status.NOT_FOUND,
        details: expect.stringMatching(/^no pod .*… \(\d+ characters\)$/u),
      });
      await callUnary(client, 'GetStatus', {});
      client.close();
    });
  });

  test.each([
    ['an unknown method of a long name', { ':path': `/x/${'%'.repeat(30_000)}` }],
    ['a long header', { 'x-long': 'y'.repeat(60_000) }],
    ['many headers', Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`x-${i}`, 'y']))],
    ['an invalid deadline', { 'grpc-timeout': 'soon' }],
    ['an unknown encoding', { 'grpc-encoding': 'y'.repeat(1_000) }],
  ])('ends at most the call with %s', async (_what, headers) => {
    await withAdminRig(async ({ start, socketPath }) => {
      await start();
      const session = connectHttp2('http://localhost', { createConnection: () => connect(socketPath) });
      session.on('error', () => undefined);
      const stream = session.request({
        ':method': 'POST',
        ':path': '/cpusetd.v1.CpuManager/GetStatus',
        'content-type': 'application/grpc',
        ...headers,
      });
      const closed = new Promise((resolve) => stream.on('error', () => undefined).once('close', resolve));
      stream.resume().end(Buffer.from([1, 0, 0, 0, 1, 0]));
      await closed;
      session.destroy();
      const client = await connectAdmin(socketPath);
      expect((await client.status()).node.version).toBe('0.1.0');
      client.close();
    });
  });

  test('ends a connection that is not HTTP/2, and no other', async () => {
    await withAdminRig(async ({ start, socketPath }) => {
      await start();
      await new Promise<void>((resolve) => {
        const socket = connect(socketPath, () => socket.write('GET / HTTP/1.1\r\n\r\n'.repeat(100)));
        socket.on('error', () => undefined);
        socket.on('data', () => undefined);
        socket.on('close', () => resolve());
      });
      const client = await connectAdmin(socketPath);
      expect((await client.status()).node.version).toBe('0.1.0');
      client.close();
    });
  });

  test('closes once for two calls, without waiting for idle clients', async () => {
    await withAdminRig(async ({ start, socketPath }) => {
      const server = await start();
      const client = await connectAdmin(socketPath);
      await client.status();
      await Promise.all([server.close(), server.close()]);
      await expect(connectAdmin(socketPath)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
      client.close();
    });
  });

  test('refuses a second server on its socket', async () => {
    await withAdminRig(async ({ start }) => {
      await start();
      await expect(start()).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
    });
  });
});
