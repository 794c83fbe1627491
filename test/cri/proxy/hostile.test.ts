import { connect, createServer, type Socket } from 'node:net';
import {
  CLIENT_PREFACE,
  Flag,
  formatFrame,
  formatPing,
  FrameType,
  type Frame,
} from '../../../src/cri/proxy/http2/frame';
import { FrameReader } from '../../../src/cri/proxy/http2/frame-reader';
import { encodeHeaders } from '../../../src/cri/proxy/http2/hpack-encoder';
import { Bench } from './harness';
import { waitUntil } from '../../support/wait-until';

const path = '/runtime.v1.RuntimeService/CreateContainer';
const settings = formatFrame(FrameType.settings, 0, 0, new Uint8Array());
const request = (streamId: number, method = path, flags = 0): Buffer =>
  formatFrame(
    FrameType.headers,
    Flag.endHeaders | flags,
    streamId,
    encodeHeaders([
      [':method', 'POST'],
      [':scheme', 'http'],
      [':path', method],
      [':authority', 'localhost'],
      ['content-type', 'application/grpc'],
    ]),
  );

let bench: Bench;
beforeEach(() => (bench = new Bench()));
afterEach(() => bench.close());

/** A connection to the proxy that sends arbitrary bytes. */
function openRaw(): { socket: Socket; frames: Frame[]; closed: Promise<void> } {
  const frames: Frame[] = [];
  const reader = new FrameReader({ expectPreface: false });
  const socket = connect(bench.proxyPath);
  socket.on('data', (chunk: Buffer) => reader.feed(chunk, (frame) => frames.push(frame)));
  socket.on('error', () => undefined);
  bench.onClose(() => socket.destroy());
  return { socket, frames, closed: new Promise((resolve) => socket.once('close', () => resolve())) };
}

/** A runtime that accepts everything and sends only SETTINGS. */
function startSilentRuntime(): Socket[] {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => undefined).resume());
    socket.write(settings);
  }).listen(bench.runtimePath);
  bench.onClose(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return sockets;
}

const continuation = (streamId: number, bytes: Buffer): Buffer =>
  formatFrame(FrameType.continuation, 0, streamId, bytes);

test.each<[string, Buffer, number]>([
  ['another protocol', Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n'), 1],
  ['a frame that is too long', Buffer.concat([CLIENT_PREFACE, settings, Buffer.from([1, 0, 0, 0, 0, 0, 0, 0, 1])]), 6],
  [
    'a broken header block',
    Buffer.concat([
      CLIENT_PREFACE,
      settings,
      formatFrame(FrameType.headers, Flag.endHeaders, 1, Buffer.from([0xff, 0xff])),
    ]),
    9,
  ],
  [
    'a header block that another frame interrupts',
    Buffer.concat([CLIENT_PREFACE, settings, formatFrame(FrameType.headers, 0, 1, Buffer.from([0x82])), request(3)]),
    1,
  ],
  [
    'a continuation without a header block',
    Buffer.concat([CLIENT_PREFACE, settings, continuation(1, Buffer.alloc(1))]),
    1,
  ],
  [
    'header fields without an end',
    Buffer.concat([
      CLIENT_PREFACE,
      settings,
      formatFrame(FrameType.headers, 0, 1, Buffer.alloc(16_000)),
      ...Array.from({ length: 20 }, () => continuation(1, Buffer.alloc(16_000))),
    ]),
    11,
  ],
  ['a stream with an even number', Buffer.concat([CLIENT_PREFACE, settings, request(2)]), 1],
  ['a push', Buffer.concat([CLIENT_PREFACE, settings, formatFrame(FrameType.pushPromise, 4, 1, Buffer.alloc(8))]), 1],
  ['broken settings', Buffer.concat([CLIENT_PREFACE, formatFrame(FrameType.settings, 0, 0, Buffer.alloc(5))]), 6],
  [
    'a ping of the wrong length',
    Buffer.concat([CLIENT_PREFACE, settings, formatFrame(FrameType.ping, 0, 0, Buffer.alloc(7))]),
    6,
  ],
  [
    'streams without end',
    Buffer.concat([CLIENT_PREFACE, settings, ...Array.from({ length: 16_400 }, (_, n) => request(2 * n + 1))]),
    11,
  ],
])('%s ends the connection with an error code, and the others go on', async (_name, bytes, code) => {
  const runtimes = startSilentRuntime();
  const proxy = await bench.startProxy();
  const good = openRaw();
  good.socket.write(Buffer.concat([CLIENT_PREFACE, settings, request(1, path, Flag.endStream)]));
  const bad = openRaw();
  bad.socket.write(bytes);
  await bad.closed;
  const goaway = bad.frames.find((frame) => frame.type === FrameType.goaway)!;
  expect(goaway.buffer.readUInt32BE(goaway.start + 13)).toBe(code);
  await waitUntil(() => proxy.stats.connections === 1 && proxy.stats.callsInFlight === 1);
  await waitUntil(() => runtimes.filter((socket) => !socket.destroyed).length === 1);
  expect(bench.faults).toMatchObject([{ what: 'the kubelet side broke the protocol' }]);
});

test('a request that is never complete is refused at the memory limit', async () => {
  startSilentRuntime();
  const proxy = await bench.startProxy({ [path]: { onRequest: (message) => message } }, { maxHeldBytes: 10_000 });
  const { socket, frames } = openRaw();
  socket.write(Buffer.concat([CLIENT_PREFACE, settings]));
  const dribble = Buffer.alloc(1_000, 1);
  dribble.writeUIntBE(0x0000ffff, 0, 4);
  dribble.writeUInt32BE(0x00f00000, 1);
  for (let n = 0; n < 20; n++)
    socket.write(Buffer.concat([request(2 * n + 1), formatFrame(FrameType.data, 0, 2 * n + 1, dribble)]));
  await waitUntil(() => frames.filter((frame) => frame.type === FrameType.headers).length === 10);
  expect(proxy.stats).toMatchObject({ heldBytes: 10_000, callsInFlight: 10 });
  socket.destroy();
  await waitUntil(() => proxy.stats.connections === 0);
  expect(proxy.stats.heldBytes).toBe(0);
});

test('a peer that does not read its answers gets a bounded number of them', async () => {
  const proxy = await bench.startProxy(); // no runtime: every ping is answered by the proxy itself
  const socket = connect(bench.proxyPath);
  socket.on('error', () => undefined);
  bench.onClose(() => socket.destroy());
  socket.write(Buffer.concat([CLIENT_PREFACE, settings]));
  socket.pause();
  const pings = Buffer.concat(Array.from({ length: 4000 }, () => formatPing(Buffer.alloc(8), false)));
  let written = 0;
  const pour = (): void => {
    while (written < 64_000_000 && !socket.destroyed) {
      written += pings.length;
      if (!socket.write(pings)) return void socket.once('drain', pour);
    }
  };
  pour();
  let before = -1;
  while (before !== written) {
    before = written;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  expect(written).toBeLessThan(8_000_000);
  expect(proxy.stats.connections).toBe(1);
});
