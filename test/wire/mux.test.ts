import { PassThrough } from 'node:stream';

import { Mux, type ByteChannel, type CloseReason } from '../../src/wire';
import { frame } from './support/bytes';
import { readBytes, useSockets } from './support/sockets';
import { waitUntil } from '../support/wait-until';

const { openPair, openMux } = useSockets();

/** Attaches a receiver that records its events. */
function remember(channel: ByteChannel): { text: string; reason: CloseReason | undefined } {
  const seen: { text: string; reason: CloseReason | undefined } = { text: '', reason: undefined };
  channel.receive({
    onBytes: (chunk, start, end) => (seen.text += chunk.toString('latin1', start, end)),
    onDrain: () => undefined,
    onClose: (reason) => (seen.reason = reason),
  });
  return seen;
}

function packet(channel: ByteChannel, message: Uint8Array): Buffer {
  return Buffer.concat([Buffer.alloc(channel.headroom), message]);
}

test.each`
  name                                              | length     | frames
  ${'a message of one byte is one frame'}           | ${1}       | ${[1]}
  ${'a message of 4096 bytes is one frame'}         | ${4096}    | ${[4096]}
  ${'one byte more makes a second frame'}           | ${4097}    | ${[4096, 1]}
  ${'a long message is two frames, for any length'} | ${4194314} | ${[4096, 4190218]}
`('$name', async ({ length, frames }: { length: number; frames: number[] }) => {
  const [near, far] = await openPair();
  const channel = openMux(near).open(7);
  const message = Buffer.alloc(length, 'abcdefghijk');
  channel.send(packet(channel, message));
  channel.send(packet(channel, Buffer.from('next')));

  const parts: Buffer[] = [];
  let at = 0;
  for (const size of frames) {
    parts.push(frame(7, message.subarray(at, at + size)));
    at += size;
  }
  const expected = Buffer.concat([...parts, frame(7, Buffer.from('next'))]);
  expect((await readBytes(far, expected.length)).equals(expected)).toBe(true);
});

test('data sent on one side arrive on the other, on the same connection', async () => {
  const [near, far] = await openPair();
  const [a, b] = [openMux(near), openMux(far)];
  const [a1, a2] = [a.open(1), a.open(2)];
  const [seen1, seen2] = [remember(b.open(1)), remember(b.open(2))];
  const long = 'x'.repeat(10_000);
  a1.send(packet(a1, Buffer.from(long)));
  a2.send(packet(a2, Buffer.from('two')));
  a1.send(packet(a1, Buffer.from('one')));
  await waitUntil(() => seen1.text.length === 10_003);
  expect([seen1.text, seen2.text]).toEqual([`${long}one`, 'two']);
});

test('frames of connections that are not open are dropped and counted', async () => {
  const [near, far] = await openPair();
  const mux = openMux(near);
  const seen = remember(mux.open(1));
  far.write(Buffer.concat([0, 7, 2, 0xffffffff].map((id) => frame(id, Buffer.from('lost')))));
  far.write(Buffer.concat([frame(9, Buffer.alloc(0)), frame(1, Buffer.alloc(0)), frame(1, Buffer.from('kept'))]));
  await waitUntil(() => seen.text !== '');
  expect([seen.text, mux.droppedFrames]).toEqual(['kept', 5]);
});

test('nothing is lost while a connection has no receiver yet', async () => {
  const [near, far] = await openPair();
  const mux = openMux(near);
  const channels = [mux.open(1), mux.open(2)] as const;
  const second = remember(channels[1]);
  far.write(Buffer.concat([frame(2, Buffer.from('a')), frame(1, Buffer.from('early')), frame(2, Buffer.from('b'))]));
  await waitUntil(() => second.text === 'a');
  await waitUntil(() => near.isPaused());
  const first = remember(channels[0]);
  await waitUntil(() => second.text === 'ab');
  expect(first.text).toBe('early');
});

test('a receiver that pauses stops the socket; when it resumes, all bytes arrive in order', async () => {
  const [near, far] = await openPair();
  const mux = openMux(near);
  const channel = mux.open(1);
  let received = 0;
  channel.receive({
    onBytes: (_chunk, start, end) => {
      received += end - start;
      channel.pause();
    },
    onDrain: () => undefined,
    onClose: () => undefined,
  });
  const sent = frame(1, Buffer.alloc(1000));
  for (let i = 0; i < 4000; i++) far.write(sent);
  await waitUntil(() => near.isPaused());
  expect(received).toBeLessThanOrEqual(1000);
  // The kernel's buffers are full and the mux holds one chunk: the rest is still with the sender.
  expect(far.writableLength).toBeGreaterThan(3_000_000);
  expect(near.readableLength).toBeLessThan(200_000);
  while (received < 4_000_000) {
    channel.resume();
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(received).toBe(4_000_000);
});

test('a closed channel sends and receives no more, and the others still do', async () => {
  const [near, far] = await openPair();
  const mux = openMux(near);
  const first = mux.open(1);
  const [seen1, seen2] = [remember(first), remember(mux.open(2))];
  first.close('enough');
  first.send(packet(first, Buffer.from('unsent')));
  far.write(Buffer.concat([frame(1, Buffer.from('one')), frame(2, Buffer.from('two'))]));
  await waitUntil(() => seen2.text === 'two');
  expect(seen1).toEqual({ text: '', reason: { by: 'us', because: 'enough' } });
  await expect(first.closed).resolves.toEqual({ by: 'us', because: 'enough' });
  expect(near.bytesWritten).toBe(0);
});

test.each([0, -1, 1.5, 2 ** 32, NaN])('%p is no connection id', async (id) => {
  const [near] = await openPair();
  const mux = openMux(near);
  expect(() => mux.open(id)).toThrow(RangeError);
});

test('a connection can be opened only once', async () => {
  const [near] = await openPair();
  const mux = openMux(near);
  const channel = mux.open(1);
  channel.close('done');
  expect(() => mux.open(1)).toThrow('opened before');
  expect(() => {
    remember(mux.open(2));
    remember(channel);
    remember(channel);
  }).toThrow('one receiver');
});

test.each`
  name                           | bytes                                          | reason
  ${'between two frames'}        | ${frame(1, Buffer.from('abc'))}                | ${{ by: 'peer', because: 'the peer closed the connection' }}
  ${'in the middle of a frame'}  | ${frame(1, Buffer.from('abc'), 5)}             | ${{ by: 'peer', because: 'the peer closed the connection in the middle of a frame' }}
  ${'in the middle of a header'} | ${frame(1, Buffer.from('abc')).subarray(0, 5)} | ${{ by: 'peer', because: 'the peer closed the connection in the middle of a frame' }}
`('the peer closes the socket $name', async ({ bytes, reason }: { bytes: Buffer; reason: CloseReason }) => {
  const [near, far] = await openPair();
  const mux = openMux(near);
  const seen = remember(mux.open(1));
  far.end(bytes);
  await expect(mux.closed).resolves.toEqual(reason);
  expect(seen.reason).toEqual(reason);
});

test('a frame above the limit ends the connection', async () => {
  const [near, far] = await openPair();
  const mux = openMux(near, { maxFrameBytes: 1000 });
  const seen = remember(mux.open(1));
  far.write(Buffer.concat([frame(1, Buffer.alloc(1000, 'a')), frame(1, Buffer.alloc(0), 1001)]));
  await expect(mux.closed).resolves.toEqual({
    by: 'fault',
    because: 'a frame of 1001 bytes was announced; the limit is 1000',
  });
  expect([seen.text.length, seen.reason?.by]).toEqual([1000, 'fault']);
});

test('data sent before close() are still written', async () => {
  const [near, far] = await openPair();
  const mux = openMux(near, { lingerMs: 60_000 }); // on a busy machine the reader is slow
  const channel = mux.open(1);
  const message = Buffer.alloc(3 << 20, 'x');
  channel.send(packet(channel, message));
  mux.close('done');
  mux.close('again');
  const received = await readBytes(far, message.length + 16);
  expect(received).toHaveLength(message.length + 16);
  await expect(mux.closed).resolves.toEqual({ by: 'us', because: 'done' });
});

test('close() ends in bounded time when the peer does not read', async () => {
  const [near] = await openPair();
  const mux = openMux(near, { lingerMs: 20 });
  const channel = mux.open(1);
  channel.send(packet(channel, Buffer.alloc(3 << 20)));
  expect(channel.queuedBytes).toBeGreaterThan(0);
  mux.close('done');
  await expect(mux.closed).resolves.toEqual({ by: 'us', because: 'done' });
});

test('a peer that leaves more unread than the limit of the queue is disconnected', async () => {
  const [near] = await openPair();
  const mux = openMux(near, { maxQueuedBytes: 1 << 20 });
  const channel = mux.open(1);
  const seen = remember(channel);
  for (let i = 0; i < 100 && !seen.reason; i++) channel.send(packet(channel, Buffer.alloc(100_000)));
  expect(seen.reason).toMatchObject({
    by: 'fault',
    because: expect.stringMatching(/^the peer has left \d+ bytes unread$/),
  });
  await expect(mux.closed).resolves.toMatchObject({ by: 'fault' });
});

test('an error of the socket is the reason of the end, not an exception', async () => {
  const socket = new PassThrough();
  const mux = new Mux(socket);
  const seen = remember(mux.open(1));
  socket.destroy(Object.assign(new Error('secret path'), { code: 'ENOTCONN' }));
  await expect(mux.closed).resolves.toMatchObject({ by: 'fault', because: 'the socket failed (ENOTCONN)' });
  expect(seen.reason?.because).not.toContain('secret');
});

test('a mux over a closed socket is closed with a reason', async () => {
  const [near] = await openPair();
  near.destroy();
  const mux = openMux(near);
  const seen = remember(mux.open(1));
  await mux.closed;
  expect(seen.reason?.by).toBe('peer');
});

test('a receiver that throws ends only its connection, with the reason', async () => {
  const [near, far] = await openPair();
  const mux = openMux(near);
  mux.open(1).receive({
    onBytes: () => {
      throw new Error('broken');
    },
    onDrain: () => undefined,
    onClose: () => undefined,
  });
  far.write(frame(1, Buffer.from('x')));
  expect(await mux.closed).toMatchObject({ by: 'fault', because: 'a fault of ours in reading: broken' });
});
