import type * as grpc from '@grpc/grpc-js';
import { readdirSync } from 'node:fs';
import { createServer, connect as connectSocket, type Socket } from 'node:net';
import { formatGoaway, formatPing, FRAME_HEAD_BYTES, FrameType } from '../../../src/cri/proxy/http2/frame';
import { Bench, collect, startRuntime, type Handler, type Handlers, type TestClient } from './harness';
import { callDeadline, waitUntil } from '../../support/wait-until';
import { connectRaw, opening, requestHead, requestMessage, type RawClient } from './raw-client';

const quick = '/runtime.v1.RuntimeService/Version';
const events = '/runtime.v1.RuntimeService/GetContainerEvents';
const create = '/runtime.v1.RuntimeService/CreateContainer';
const echo: Handler = (call) => {
  call.on('data', (message: Buffer) => call.write(message));
  call.on('end', () => call.end());
};

let bench: Bench;
let runtimeSockets: Set<Socket>;
let connectionsMade: number;
beforeEach(() => {
  bench = new Bench();
  runtimeSockets = new Set();
  connectionsMade = 0;
});
afterEach(() => bench.close());

const countDescriptors = (): number => readdirSync('/proc/self/fd').length;

/** A gRPC server behind a listener that counts its open connections. */
async function openRuntime(handlers: Handlers): Promise<void> {
  const inner = `${bench.runtimePath}-inner`;
  const runtime = await startRuntime(inner, handlers);
  bench.onClose(() => runtime.forceShutdown());
  const door = createServer((near) => {
    const far = connectSocket(inner);
    runtimeSockets.add(near);
    connectionsMade++;
    near.on('close', () => {
      runtimeSockets.delete(near);
      far.destroy();
    });
    for (const socket of [near, far]) socket.on('error', () => undefined);
    near.pipe(far).pipe(near);
  }).listen({ path: bench.runtimePath, backlog: 4096 });
  bench.onClose(() => {
    door.close();
    for (const socket of runtimeSockets) socket.destroy();
  });
}

function connect(options?: Parameters<typeof connectRaw>[1]): RawClient {
  const client = connectRaw(bench.proxyPath, options);
  bench.onClose(() => client.socket.destroy());
  return client;
}

/** Connects, makes one complete call, and leaves the connection open. */
async function leak(options: Parameters<typeof connectRaw>[1]): Promise<RawClient> {
  const client = connect(options);
  client.socket.write(Buffer.concat([opening, requestHead(1, quick), requestMessage(1, Buffer.from('x'))]));
  await waitUntil(() => client.hasEnded(1));
  return client;
}

async function callOf(client: TestClient): Promise<number> {
  return (await client.run(quick, [Buffer.from('y')], undefined, { deadline: callDeadline() })).code;
}

function goawaysOf({ frames }: RawClient): Buffer[] {
  return frames
    .filter((frame) => frame.type === FrameType.goaway)
    .map((frame) => Buffer.from(frame.buffer.subarray(frame.start, frame.end)));
}

test('given 1,000 open connections, the longest idle are closed on both sides, and a working client loses no call', async () => {
  await openRuntime({ [quick]: echo });
  const proxy = await bench.startProxy({}, { maxIdleConnections: 50, minIdleMs: 100 });
  const worker = bench.client();
  expect(await callOf(worker)).toBe(0);
  const before = countDescriptors();
  const codes: number[] = [];
  const leaked: RawClient[] = [];
  for (let n = 0; n < 100; n++) {
    leaked.push(...(await Promise.all(Array.from({ length: 10 }, () => leak({ answers: true })))));
    codes.push(await callOf(worker));
  }
  expect(codes.filter((code) => code !== 0)).toEqual([]);
  await Promise.all(leaked.slice(0, 951).map(({ closed }) => closed));
  await waitUntil(() => proxy.stats.connections === 50 && runtimeSockets.size === 50);
  // The newest connections are closed last: they were used most recently.
  expect(leaked.slice(951).filter(({ socket }) => socket.destroyed)).toEqual([]);
  expect(goawaysOf(leaked[0]!)).toEqual([formatGoaway(0x7fffffff, 0), formatGoaway(1, 0)]);
  for (const { socket } of leaked) socket.destroy();
  await waitUntil(() => proxy.stats.connections === 1 && runtimeSockets.size === 1);
  await waitUntil(() => countDescriptors() <= before);
  expect(bench.faults).toEqual([{ what: expect.stringMatching(/^more than 50 connections without a call/) as string }]);
  expect(bench.runtimeChanges).toEqual([true]);
});

test.each([
  ['send nothing', undefined],
  ['send one byte at a time', 20],
])(
  '1,000 connections that %s cost the runtime none, and are closed; a working client loses no call',
  async (_name, intervalMs) => {
    await openRuntime({ [quick]: echo });
    const proxy = await bench.startProxy({}, { openingTimeoutMs: 3_000 });
    const worker = bench.client();
    expect(await callOf(worker)).toBe(0);
    const before = countDescriptors();
    const silent = Array.from({ length: 1000 }, () => connect());
    let at = 0;
    const timer = setInterval(() => {
      at++;
      for (const { socket } of silent)
        if (intervalMs !== undefined && at < opening.length) socket.write(opening.subarray(at - 1, at));
    }, 100);
    bench.onClose(() => clearInterval(timer));
    await waitUntil(() => proxy.stats.connections > 900, 10_000);
    const codes: number[] = [];
    const late = bench.client();
    while (proxy.stats.connections > 2) {
      codes.push(await callOf(worker), await callOf(late));
      expect(runtimeSockets.size).toBeLessThanOrEqual(2);
    }
    expect(codes.filter((code) => code !== 0)).toEqual([]);
    await Promise.all(silent.map(({ closed }) => closed));
    await waitUntil(() => countDescriptors() <= before + 6); // the late client's connection, through the proxy and the listener
  },
);

test('a connection with a call in flight stays, for any number of idle ones', async () => {
  const calls: grpc.ServerDuplexStream<Buffer, Buffer>[] = [];
  await openRuntime({ [quick]: echo, [events]: (call) => void calls.push(call) });
  const proxy = await bench.startProxy({}, { maxIdleConnections: 5, minIdleMs: 100 });
  const listeners = Array.from({ length: 40 }, () => bench.client().open(events));
  const ends = listeners.map((stream) => collect(stream));
  for (const stream of listeners) stream.end(Buffer.alloc(0));
  await waitUntil(() => calls.length === 40);
  for (let n = 0; n < 10; n++) await Promise.all(Array.from({ length: 10 }, () => leak({ answers: true })));
  await waitUntil(() => proxy.stats.connections === 45);
  expect(proxy.stats.callsInFlight).toBe(40);
  for (const call of calls) {
    call.write(Buffer.from('event'));
    call.end();
  }
  for (const end of await Promise.all(ends)) expect(end).toMatchObject({ code: 0, messages: [Buffer.from('event')] });
  await waitUntil(() => proxy.stats.connections === 5);
});

test.each([0, 1, 2])(
  'calls that are made while their connection is asked to leave all succeed (%d may be idle)',
  async (maxIdle) => {
    await openRuntime({ [quick]: echo, [create]: echo });
    const proxy = await bench.startProxy(
      { [create]: { onRequest: (message) => message } },
      { maxIdleConnections: maxIdle, minIdleMs: 20 },
    );
    const clients = Array.from({ length: 6 }, () => bench.client());
    const codes: string[] = [];
    await Promise.all(
      clients.map(async (client, k) => {
        for (let n = 0; n < 60; n++) {
          // From no pause to longer than a round trip: some of these calls cross a GOAWAY on its way.
          if (n % 3 > 0) await new Promise((resolve) => setTimeout(resolve, 15 + ((n * 7 + k) % 11)));
          const { code, details } = await client.run(n % 2 === 0 ? quick : create, [Buffer.from('z')]);
          codes.push(`${code} ${details}`);
        }
      }),
    );
    expect(codes.filter((code) => !code.startsWith('0 '))).toEqual([]);
    expect(connectionsMade).toBeGreaterThan(20); // six, if no GOAWAY had been sent
    await waitUntil(() => proxy.stats.connections <= maxIdle);
    await waitUntil(() => runtimeSockets.size <= maxIdle);
  },
);

test('a request that crosses the first GOAWAY is worked on, and its connection stays until it has ended', async () => {
  const calls: grpc.ServerDuplexStream<Buffer, Buffer>[] = [];
  await openRuntime({ [quick]: echo, [events]: (call) => void calls.push(call) });
  const proxy = await bench.startProxy({}, { maxIdleConnections: 0, minIdleMs: 50 });
  const client = connect();
  client.socket.write(Buffer.concat([opening, requestHead(1, quick), requestMessage(1, Buffer.from('x'))]));
  await waitUntil(() => goawaysOf(client).length === 1);
  const ping = client.frames.find((frame) => frame.type === FrameType.ping)!;
  const opaque = ping.buffer.subarray(ping.start + FRAME_HEAD_BYTES, ping.end);
  // Written before the GOAWAY was read; the answer to the PING follows, as it would from a library.
  client.socket.write(Buffer.concat([requestHead(3, events), requestMessage(3, Buffer.alloc(0))]));
  client.socket.write(formatPing(opaque, true));
  await waitUntil(() => goawaysOf(client).length === 2 && calls.length === 1);
  expect(goawaysOf(client)[1]).toEqual(formatGoaway(3, 0));
  expect(client.socket.destroyed).toBe(false);
  calls[0]!.write(Buffer.from('late'));
  calls[0]!.end();
  await waitUntil(() => client.hasEnded(3));
  await client.closed;
  expect(proxy.stats.connections).toBe(0);
});

test('a client that does not answer the PING behind a GOAWAY is closed all the same', async () => {
  await openRuntime({ [quick]: echo });
  const proxy = await bench.startProxy({}, { maxIdleConnections: 0, minIdleMs: 50 });
  const client = await leak({ answers: false });
  await client.closed;
  expect(goawaysOf(client)).toEqual([formatGoaway(0x7fffffff, 0), formatGoaway(1, 0)]);
  await waitUntil(() => proxy.stats.connections === 0 && runtimeSockets.size === 0);
});

test('an idle connection to a runtime that sends nothing is closed too', async () => {
  const server = createServer((socket) => runtimeSockets.add(socket.resume().on('error', () => undefined)));
  server.listen(bench.runtimePath);
  bench.onClose(() => (server.close(), runtimeSockets.forEach((socket) => socket.destroy())));
  const proxy = await bench.startProxy({}, { maxIdleConnections: 3, minIdleMs: 0, openingTimeoutMs: 200 });
  const clients = Array.from({ length: 5 }, () => connect());
  for (const { socket } of clients) socket.write(opening);
  await waitUntil(() => proxy.stats.connections === 3);
  expect(bench.runtimeChanges).toEqual([true]);
});

test('at the limit, where every connection has a call, the one without traffic for longest is closed', async () => {
  const calls: grpc.ServerDuplexStream<Buffer, Buffer>[] = [];
  await openRuntime({ [quick]: echo, [events]: (call) => void calls.push(call) });
  const proxy = await bench.startProxy({}, { maxConnections: 10 });
  const streams: ReturnType<typeof collect>[] = [];
  const moved = new Set<number>();
  for (let n = 0; n < 10; n++) {
    const stream = bench.client().open(events);
    streams.push(collect(stream));
    stream.on('data', () => moved.add(n));
    stream.end(Buffer.alloc(0));
    await waitUntil(() => calls.length === n + 1);
  }
  // There is traffic on all but the third.
  for (const [n, call] of calls.entries()) if (n !== 2) call.write(Buffer.from('moves'));
  await waitUntil(() => moved.size === 9);
  const clients = Array.from({ length: 2 }, () => bench.client());
  expect(await callOf(clients[0]!)).toBe(0);
  expect(await streams[2]).toMatchObject({
    code: 14,
    details: 'cpusetd: too many connections are open, and nothing has moved on this one for longest',
  });
  // The new one is idle now: it is closed for the next one, not one of the nine with a call.
  expect(await callOf(clients[1]!)).toBe(0);
  expect(proxy.stats.callsInFlight).toBe(9);
  for (const call of calls) call.end();
  for (const [n, stream] of streams.entries()) if (n !== 2) expect((await stream).code).toBe(0);
});

test('a flood of connections stays near the limit, and a client among them gets its answer', async () => {
  await openRuntime({ [quick]: echo });
  const proxy = await bench.startProxy({}, { maxConnections: 20 });
  const worker = bench.client();
  let most = 0;
  const codes: number[] = [];
  for (let n = 0; n < 40; n++) {
    for (let k = 0; k < 50; k++) connect();
    codes.push(await callOf(worker));
    most = Math.max(most, proxy.stats.connections);
  }
  expect(codes.filter((code) => code !== 0)).toEqual([]);
  expect(most).toBeLessThanOrEqual(20 + 65);
});

test('a client that shuts its sending side down is closed, and its calls end at the runtime', async () => {
  const calls: grpc.ServerDuplexStream<Buffer, Buffer>[] = [];
  await openRuntime({ [events]: (call) => void calls.push(call) });
  const proxy = await bench.startProxy();
  const half = connectSocket({ path: bench.proxyPath, allowHalfOpen: true });
  bench.onClose(() => half.destroy());
  half.on('error', () => undefined).resume();
  half.end(Buffer.concat([opening, requestHead(1, events), requestMessage(1, Buffer.alloc(0))]));
  await waitUntil(() => proxy.stats.connections === 0 && runtimeSockets.size === 0);
  expect(calls.every((call) => call.cancelled)).toBe(true);
});
