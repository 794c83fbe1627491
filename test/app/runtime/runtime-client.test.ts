import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server as NetServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { RuntimeClient } from '../../../src/app/runtime/runtime-client';
import type { Cgroups } from '../../../src/host';
import { NodeDriver } from '../../core/transition/node-driver';
import { contextOf } from '../../support/daemon-context';

let folder: string;
let stop: AbortController;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'link-'));
  stop = new AbortController();
});
afterEach(() => {
  stop.abort();
  rmSync(folder, { recursive: true });
});

function createClient() {
  const client = new RuntimeClient({
    context: contextOf({
      model: new NodeDriver().model,
      cgroups: {} as Cgroups,
      config: { mode: 'nri', criEndpoint: join(folder, 'cri.sock') },
    }),
    transactor: { record: () => undefined },
  });
  stop.signal.addEventListener('abort', () => client.close());
  return client;
}

const socketPath = (): string => join(folder, 'cri.sock');
async function listen(onConnection: (socket: Socket) => void): Promise<NetServer> {
  const server = createServer(onConnection);
  await new Promise<void>((resolve) => server.listen(socketPath(), resolve));
  return server;
}

describe('a runtime that can’t be reached leaves the connection connecting, and the reason names the case:', () => {
  const expectReason = async (reason: RegExp): Promise<void> => {
    const runtime = createClient();
    await expect(
      runtime.ask((client, options) => client.listPods({ ...options, timeoutMs: 300 })),
    ).rejects.toMatchObject({
      message: expect.stringMatching(reason),
    });
    const first = runtime.connection.reason;
    expect(runtime.connection).toMatchObject({ state: 'connecting', reason: expect.stringMatching(reason) });
    await runtime.ask((client, options) => client.listPods({ ...options, timeoutMs: 300 })).catch(() => undefined);
    expect(runtime.connection.reason).toBe(first); // the same case keeps its text
  };

  test('no socket', async () => {
    await expectReason(
      /^there is no socket at .*cri\.sock; start the runtime, or set --cri-endpoint to its CRI socket$/,
    );
  });

  test('a socket without a listener', async () => {
    const child = spawnSync(process.execPath, [
      '-e',
      `require('net').createServer().listen(${JSON.stringify(socketPath())}, () => process.kill(process.pid, 'SIGKILL'))`,
    ]);
    expect(child.signal).toBe('SIGKILL');
    await expectReason(/cri\.sock is there and nobody listens on it; start the runtime$/);
  });

  test('a file that is no socket', async () => {
    writeFileSync(socketPath(), '');
    await expectReason(/cri\.sock is there and nobody listens on it; start the runtime$/);
  });

  test('a runtime that hangs: the reason does not blame the endpoint option', async () => {
    const sockets: Socket[] = [];
    const server = await listen((socket) => void sockets.push(socket));
    const hangs =
      /^the runtime did not answer ListPodSandbox within 0\.3 s: .*cri\.sock takes connections, and .* hangs/;
    await expectReason(hangs);
    expect(hangs.source).not.toContain('endpoint');
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
});

test('a server without CRI leaves the connection connecting, and the reason names the option', async () => {
  const server = new Server(); // without CRI
  await new Promise<void>((resolve, reject) =>
    server.bindAsync(`unix:${join(folder, 'cri.sock')}`, ServerCredentials.createInsecure(), (error) =>
      error ? reject(error) : resolve(),
    ),
  );
  const runtime = createClient();
  await expect(runtime.list()).rejects.toMatchObject({ code: 'UNIMPLEMENTED' });
  expect(runtime.connection).toMatchObject({
    state: 'connecting',
    reason: expect.stringMatching(/ListContainers with UNIMPLEMENTED.*serves no CRI: set --cri-endpoint/),
  });
  stop.abort();
  server.forceShutdown();
});
