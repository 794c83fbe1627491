import { createServer, type Server, type Socket } from 'node:net';
import type { CriProxy } from '../../../src/cri/proxy';
import { Flag, formatFrame, formatRstStream, FrameType } from '../../../src/cri/proxy/http2/frame';
import { collectGarbage } from '../../support/collect-garbage';
import { Bench } from './harness';
import { waitUntil } from '../../support/wait-until';
import { connectRaw, emptySettings, opening, requestHead, requestMessage, type RawClient } from './raw-client';
import { startStrictRuntime } from './strict-runtime';

// Limits on the memory that a client without limits can make the proxy hold.

const seen = '/runtime.v1.RuntimeService/CreateContainer';
const unseen = '/runtime.v1.RuntimeService/Version';
let bench: Bench;
beforeEach(() => (bench = new Bench()));
afterEach(() => bench.close());

function connect(): RawClient {
  const client = connectRaw(bench.proxyPath, { answers: true });
  bench.onClose(() => client.socket.destroy());
  return client;
}

/** A runtime that reads everything and sends only SETTINGS: no window is opened, no call ends. */
function startSilentRuntime(onBytes: (bytes: number) => void = () => undefined): Server {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => undefined).on('data', (chunk: Buffer) => onBytes(chunk.length)));
    socket.write(emptySettings);
  }).listen(bench.runtimePath);
  bench.onClose(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return server;
}

const errorOf = ({ frames }: RawClient): number | undefined => {
  const goaway = frames.find((frame) => frame.type === FrameType.goaway);
  return goaway?.buffer.readUInt32BE(goaway.start + 13);
};
const data = (streamId: number, bytes: number): Buffer => formatFrame(FrameType.data, 0, streamId, Buffer.alloc(bytes));

test('DATA beyond the window of the connection ends it instead of being kept', async () => {
  startSilentRuntime();
  await bench.startProxy();
  const client = connect();
  client.socket.write(
    Buffer.concat([opening, requestHead(1, unseen), data(1, 16_384), data(1, 16_384), data(1, 16_384)]),
  );
  client.socket.write(Buffer.concat([data(1, 16_383), data(1, 1)]));
  await client.closed;
  expect(errorOf(client)).toBe(3);
});

test('a header block in more frames than it needs ends the connection', async () => {
  startSilentRuntime();
  await bench.startProxy();
  const client = connect();
  const head = formatFrame(FrameType.headers, 0, 1, Buffer.from([0x82]));
  const more = Array.from({ length: 64 }, () => formatFrame(FrameType.continuation, 0, 1, Buffer.alloc(0)));
  client.socket.write(Buffer.concat([opening, head, ...more]));
  await client.closed;
  expect(errorOf(client)).toBe(11);
});

test('a header block that unfolds to megabytes ends the connection', async () => {
  startSilentRuntime();
  await bench.startProxy();
  const client = connect();
  // A field of 4,000 bytes goes into the table, and is named 1,000 times by one byte each.
  const value = Buffer.alloc(3_900, 'x');
  const literal = Buffer.concat([Buffer.from([0x40, 1, 0x61, 0x7f, 0xbd, 0x1d]), value]);
  const bomb = Buffer.concat([literal, Buffer.alloc(1_000, 0xbe)]);
  client.socket.write(Buffer.concat([opening, formatFrame(FrameType.headers, Flag.endHeaders, 1, bomb)]));
  await client.closed;
  expect(errorOf(client)).toBe(11);
});

test('calls beyond the memory for open calls are refused, over all connections, and open calls go on', async () => {
  startSilentRuntime();
  const proxy = await bench.startProxy({ [seen]: {} }, { maxOpenCallBytes: 100 * 512 });
  const clients = [connect(), connect(), connect()];
  for (const { socket } of clients)
    socket.write(Buffer.concat([opening, ...Array.from({ length: 50 }, (_, n) => requestHead(2 * n + 1, unseen))]));
  const refusedOf = ({ frames }: RawClient): number => frames.filter(({ type }) => type === FrameType.headers).length;
  await waitUntil(() => clients.reduce((sum, client) => sum + refusedOf(client), 0) === 50);
  expect(proxy.stats.callsInFlight).toBe(100);
  const before = clients.map(refusedOf);
  clients[0]!.socket.destroy();
  await waitUntil(() => proxy.stats.connections === 2);
  // Its memory is free again. An intercepted call costs more: its metadata are kept.
  clients[1]!.socket.write(requestHead(1001, unseen));
  await waitUntil(() => proxy.stats.callsInFlight === 100 - (50 - before[0]!) + 1);
  for (const id of [1003, 1005]) clients[1]!.socket.write(requestHead(id, seen, 0, [['x', 'y'.repeat(14_000)]]));
  await waitUntil(() => refusedOf(clients[1]!) > before[1]!);
});

test('10,000 calls that are opened and reset at once leave no memory in use', async () => {
  const { server, violations } = startStrictRuntime(bench.runtimePath, 65_535);
  bench.onClose(() => server.close());
  const proxy = await bench.startProxy({ [seen]: { onRequest: (message) => message } }, { maxOpenCallBytes: 8_192 });
  const client = connect();
  client.socket.write(opening);
  for (let n = 0; n < 10_000; n++) {
    const id = 2 * n + 1;
    client.socket.write(Buffer.concat([requestHead(id, n % 2 === 0 ? seen : unseen), formatRstStream(id, 8)]));
  }
  const last = 20_001;
  client.socket.write(Buffer.concat([requestHead(last, unseen), requestMessage(last, Buffer.from('x'))]));
  await waitUntil(() => client.hasEnded(last));
  expect(proxy.stats).toMatchObject({ callsInFlight: 0, heldBytes: 0, connections: 1 });
  expect(violations).toEqual([]);
  expect(client.frames.some(({ type, streamId }) => type === FrameType.headers && streamId < last)).toBe(false);
});

test('a call that is reset while its hook decides counts until the hook has answered', async () => {
  startSilentRuntime();
  const release: (() => void)[] = [];
  const onRequest = (message: Uint8Array): Promise<Uint8Array> =>
    new Promise((resolve) => release.push(() => resolve(message)));
  const proxy = await bench.startProxy({ [seen]: { onRequest } }, { maxOpenCallBytes: 10 * 2_400 });
  const client = connect();
  client.socket.write(opening);
  let id = 1;
  const openAndReset = (): void => {
    for (let n = 0; n < 30; n++, id += 2)
      client.socket.write(
        Buffer.concat([requestHead(id, seen), requestMessage(id, Buffer.from('x')), formatRstStream(id, 8)]),
      );
  };
  const settled = (): boolean => client.frames.filter(({ type }) => type === FrameType.headers).length === 20;
  openAndReset();
  await waitUntil(settled);
  expect(release).toHaveLength(10);
  for (const each of release.splice(0)) each();
  client.frames.length = 0;
  openAndReset();
  await waitUntil(settled);
  expect(release).toHaveLength(10);
  expect(proxy.stats.callsInFlight).toBe(0);
  for (const each of release) each();
});

test('empty DATA behind a stalled request adds nothing', async () => {
  startSilentRuntime();
  const proxy: CriProxy = await bench.startProxy({ [seen]: { onRequest: () => Buffer.alloc(60_000) } });
  const client = connect();
  // Ours fills the window of the connection, so what follows waits.
  client.socket.write(Buffer.concat([opening, requestHead(1, seen), requestMessage(1, Buffer.from('x'))]));
  client.socket.write(Buffer.concat([requestHead(3, unseen), data(3, 10_000)]));
  await waitUntil(() => proxy.stats.callsInFlight === 2);
  const empties = Buffer.concat(Array.from({ length: 50_000 }, () => data(3, 0)));
  const before = process.memoryUsage().heapUsed;
  for (let n = 0; n < 10; n++) await new Promise((resolve) => client.socket.write(empties, resolve));
  client.socket.write(requestHead(5, unseen));
  await waitUntil(() => proxy.stats.callsInFlight === 3); // behind the others
  collectGarbage();
  // Half a million entries of a list would take 50 MB and more.
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(20_000_000);
});
