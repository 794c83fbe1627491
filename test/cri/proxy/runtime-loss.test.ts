import type * as grpc from '@grpc/grpc-js';
import * as http2 from 'node:http2';
import { existsSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import type { CallEnd } from '../../../src/cri/proxy';
import { CLIENT_PREFACE, Flag, formatFrame, FrameType } from '../../../src/cri/proxy/http2/frame';
import { FrameReader } from '../../../src/cri/proxy/http2/frame-reader';
import { encodeHeaders } from '../../../src/cri/proxy/http2/hpack-encoder';
import { Bench, collect, startRuntime, type Handler } from './harness';
import { waitUntil } from '../../support/wait-until';

const path = '/runtime.v1.RuntimeService/CreateContainer';
const stream = '/runtime.v1.RuntimeService/GetContainerEvents';
const echo: Handler = (call) => {
  call.on('data', (message: Buffer) => call.write(message));
  call.on('end', () => call.end());
};

let bench: Bench;
beforeEach(() => (bench = new Bench()));
afterEach(() => bench.close());

function reasonOf(trailer: Record<string, unknown>): string {
  return String((trailer['grpc-status-details-bin'] as [Buffer] | undefined)?.[0]);
}

test('without a runtime calls are answered UNAVAILABLE; when it starts the same client goes on', async () => {
  const proxy = await bench.startProxy();
  const client = bench.client();
  for (let n = 0; n < 3; n++) {
    const { code, details, trailer } = await client.run(path, [Buffer.from('x')]);
    expect([code, details]).toEqual([14, 'cpusetd: the container runtime does not answer on its socket']);
    expect(reasonOf(trailer)).toContain('RUNTIME_UNAVAILABLE');
  }
  expect(proxy.stats).toMatchObject({ connections: 1, isRuntimeUp: false });
  await bench.startRuntime({ [path]: echo });
  await waitUntil(() => bench.runtimeChanges.includes(true));
  expect((await client.run(path, [Buffer.from('x')])).code).toBe(0);
  expect(bench.runtimeChanges).toEqual([false, true]);
});

test('when the runtime dies and comes back, only the calls in flight are lost', async () => {
  const ends: CallEnd[] = [];
  const open: grpc.ServerDuplexStream<Buffer, Buffer>[] = [];
  const first = await bench.startPluggedRuntime({
    [path]: (call) => void open.push(call),
    [stream]: (call) => {
      call.write(Buffer.from('event'));
      open.push(call);
    },
  });
  const proxy = await bench.startProxy({
    [path]: { onRequest: (message) => message, onEnd: (end) => void ends.push(end) },
  });
  const client = bench.client();
  const unary = client.run(path, [Buffer.from('x')]);
  const events = client.open(stream);
  const eventsEnd = collect(events);
  events.end();
  await new Promise((resolve) => events.once('data', resolve));
  await waitUntil(() => open.length === 2);

  first.pull();
  expect(await unary).toMatchObject({
    code: 14,
    details: 'cpusetd: the connection to the container runtime was lost during the call',
  });
  expect(await eventsEnd).toMatchObject({ code: 14, messages: [Buffer.from('event')] });
  expect(ends).toEqual([
    {
      origin: 'proxy',
      status: { code: 14, message: 'the connection to the container runtime was lost during the call' },
      forwarded: true,
    },
  ]);
  expect((await client.run(path, [Buffer.from('x')])).code).toBe(14);

  first.plugIn();
  await waitUntil(() => proxy.stats.isRuntimeUp === true);
  for (let n = 0; n < 5; n++) {
    const again = client.run(path, [Buffer.from('x')]);
    await waitUntil(() => open.length === 3 + n);
    open[2 + n]!.end();
    expect((await again).code).toBe(0);
  }
  expect(bench.faults).toEqual([]);
});

test('a runtime that shuts down gracefully finishes its calls, and the client moves on', async () => {
  let call: grpc.ServerDuplexStream<Buffer, Buffer> | undefined;
  const first = await startRuntime(bench.runtimePath, { [path]: (each) => void (call = each) });
  await bench.startProxy();
  const client = bench.client();
  const outcome = client.run(path, [Buffer.from('x')]);
  await waitUntil(() => call !== undefined);
  const down = new Promise<void>((resolve) => first.tryShutdown(() => resolve()));
  call!.write(Buffer.from('in time'));
  call!.end();
  expect(await outcome).toMatchObject({ code: 0, messages: [Buffer.from('in time')] });
  await down;
  expect(existsSync(bench.runtimePath)).toBe(false);
  await bench.startRuntime({ [path]: echo });
  // It may need a few more calls until the proxy finds the new runtime.
  while ((await client.run(path, [Buffer.from('x')])).code !== 0);
});

test('an answer whose hook is busy when the runtime dies still arrives', async () => {
  const runtime = await bench.startPluggedRuntime({ [path]: echo });
  let release: () => void = () => undefined;
  let isBusy = false;
  await bench.startProxy({
    [path]: {
      onEnd: () =>
        new Promise<void>((resolve) => {
          isBusy = true;
          release = resolve;
        }),
    },
  });
  const outcome = bench.client().run(path, [Buffer.from('x')]);
  await waitUntil(() => isBusy);
  runtime.pull();
  await waitUntil(() => bench.runtimeChanges.includes(false));
  release();
  expect(await outcome).toMatchObject({ code: 0, messages: [Buffer.from('x')] });
});

test('an answer that is cut off inside a message ends the connection, as it would without a proxy', async () => {
  let runtime: Socket | undefined;
  const server = createServer((socket) => {
    runtime = socket;
    socket.write(formatFrame(FrameType.settings, 0, 0, new Uint8Array()));
    socket.once('data', (chunk: Buffer) => {
      expect(chunk.subarray(0, CLIENT_PREFACE.length)).toEqual(CLIENT_PREFACE);
      socket.write(formatFrame(FrameType.settings, Flag.ack, 0, new Uint8Array()));
      socket.write(
        formatFrame(
          FrameType.headers,
          Flag.endHeaders,
          1,
          encodeHeaders([
            [':status', '200'],
            ['content-type', 'application/grpc'],
          ]),
        ),
      );
      socket.write(formatFrame(FrameType.data, 0, 1, Buffer.from([0, 0, 0, 0, 100, 1, 2, 3])));
    });
    socket.on('error', () => undefined);
  }).listen(bench.runtimePath);
  bench.onClose(() => server.close());
  await bench.startProxy();
  const client = http2.connect('http://localhost', { createConnection: () => connect(bench.proxyPath) });
  bench.onClose(() => client.destroy());
  const request = client.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  const seen: string[] = [];
  request.on('trailers', () => seen.push('trailers'));
  request.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => client.once('close', () => resolve()));
  await new Promise((resolve) => request.once('data', resolve));
  runtime!.destroy();
  await closed;
  expect(seen).toEqual([]);
});

test('a runtime that does not speak HTTP/2 is disconnected, and the kubelet is not', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.write(Buffer.alloc(64, 0xff));
  }).listen(bench.runtimePath);
  bench.onClose(() => server.close());
  await bench.startProxy();
  expect((await bench.client().run(path, [Buffer.from('x')])).code).toBe(14);
  expect(bench.faults[0]).toMatchObject({ what: 'the runtime side broke the protocol' }); // and again at every attempt
});

test('when a client disconnects, its calls at the runtime are cancelled', async () => {
  const open: grpc.ServerDuplexStream<Buffer, Buffer>[] = [];
  const ends: CallEnd[] = [];
  await bench.startRuntime({ [path]: (call) => void open.push(call), [stream]: (call) => void open.push(call) });
  const proxy = await bench.startProxy({
    [path]: { onRequest: (message) => message, onEnd: (end) => void ends.push(end) },
  });
  const session = http2.connect('http://localhost', { createConnection: () => connect(bench.proxyPath) });
  session.on('error', () => undefined);
  for (const each of [path, stream]) {
    const request = session.request({
      ':method': 'POST',
      ':path': each,
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    request.on('error', () => undefined);
    request.end(Buffer.from([0, 0, 0, 0, 1, 7]));
  }
  await waitUntil(() => open.length === 2);
  session.destroy();
  await waitUntil(() => open.every((call) => call.cancelled));
  await waitUntil(() => proxy.stats.connections === 0);
  expect(ends).toEqual([
    { origin: 'caller', status: { code: 1, message: 'cancelled by the caller' }, forwarded: true },
  ]);
});

test.each([
  [
    'header fields',
    (id: number) => formatFrame(FrameType.headers, Flag.endHeaders | Flag.padded, id, Buffer.from([9])),
  ],
  ['DATA', (id: number) => formatFrame(FrameType.data, Flag.padded, id, Buffer.from([9]))],
])('%s with more padding than bytes are not forwarded, and the runtime is disconnected', async (_name, broken) => {
  const server = createServer((socket) => {
    const reader = new FrameReader({ expectPreface: true });
    socket.on('error', () => undefined);
    socket.write(formatFrame(FrameType.settings, 0, 0, new Uint8Array()));
    socket.on('data', (chunk: Buffer) =>
      reader.feed(chunk, ({ type, streamId }) => {
        if (type === FrameType.headers) socket.write(broken(streamId));
      }),
    );
  }).listen(bench.runtimePath);
  bench.onClose(() => server.close());
  await bench.startProxy();
  expect((await bench.client().run(path, [Buffer.from('x')])).code).toBe(14);
  expect(bench.faults).toMatchObject([{ what: 'the runtime side broke the protocol' }]);
});
