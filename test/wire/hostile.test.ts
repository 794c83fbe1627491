import type { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import fc from 'fast-check';

import { Request } from '../gen/ttrpc';
import { Mux, TtrpcClient, TtrpcServer } from '../../src/wire';
import { decodeRequest, decodeResponse } from '../../src/wire/envelope';
import { DecodeError } from '../../src/wire/protobuf';
import { cut, frame, message } from './support/bytes';
import { readBytes, useSockets } from './support/sockets';
import { waitUntil } from '../support/wait-until';

// A broken or hostile peer can't crash the process, block a call for good, or exceed a limit of memory; valid calls are
// still served.

const { openPair, openMux } = useSockets();
const seed = 20261121;
const nothing = Buffer.alloc(0);

/** Both ends of a session, as a plugin has them. */
function serve(mux: Mux): { readonly client: TtrpcClient } {
  new TtrpcServer(mux.open(1), { s: { m: ({ payload }) => payload, later: async ({ payload }) => payload } });
  return { client: new TtrpcClient(mux.open(2)) };
}

const request = (streamId: number, method = 'm'): Buffer =>
  message(streamId, 1, Request.encode(Request.create({ service: 's', method, payload: Buffer.from('ping') })).finish());

const u32 = fc.oneof(
  fc.nat(20),
  fc.integer({ min: 0, max: 0xffffffff }),
  fc.constantFrom(0, 4096, 4097, 1 << 26, 0xffffffff),
);
const bytes = fc.uint8Array({ maxLength: 60 }).map((array) => Buffer.from(array));
/** Nearly valid protobuf: the tags of the envelope with arbitrary lengths. */
const nearlyProtobuf = fc
  .array(fc.tuple(fc.constantFrom(8, 10, 18, 26, 32, 42), fc.nat(8), fc.uint8Array({ maxLength: 6 })), { maxLength: 5 })
  .map((fields) =>
    Buffer.concat(fields.map(([tag, length, data]) => Buffer.concat([Buffer.from([tag, length]), data]))),
  );
const data = fc.oneof(bytes, nearlyProtobuf, fc.constantFrom(request(1).subarray(10), nothing));
const anyMessage = fc
  .tuple(u32, fc.nat(6), data, fc.option(u32, { freq: 8 }))
  .map(([id, type, content, announced]) => message(id, type, content, announced ?? content.length));
const anyFrame = fc
  .tuple(
    fc.oneof(fc.nat(3), u32),
    fc.array(fc.oneof(anyMessage, bytes), { maxLength: 3 }),
    fc.option(u32, { freq: 12 }),
  )
  .map(([id, parts, announced]) => {
    const payload = Buffer.concat(parts);
    return frame(id, payload, announced ?? payload.length);
  });
const anyStream = fc
  .array(fc.oneof({ weight: 9, arbitrary: anyFrame }, bytes), { maxLength: 6 })
  .map((parts) => Buffer.concat(parts));

test('given any bytes in any pieces, then the mux works, or has ended with a reason', () => {
  fc.assert(
    fc.property(anyStream, fc.integer({ min: 1, max: 50 }), (stream, pieceSize) => {
      const socket = new FakeSocket();
      const mux = new Mux(socket);
      serve(mux)
        .client.call('s', 'm', nothing)
        .catch(() => undefined);
      for (const [start, end] of cut(stream, pieceSize)) socket.emit('data', stream.subarray(start, end));
      // At most one answer for each request, no larger than the request and an error message. `expect` takes longer
      // than the work.
      if (!(socket.sent < 1000 + 30 * stream.length)) throw new Error(`${socket.sent} bytes for ${stream.length}`);
      mux.close('the run is over');
    }),
    { seed, numRuns: 20_000 },
  );
});

test('given any data, then the result is a message or a DecodeError', () => {
  fc.assert(
    fc.property(data, (content) => {
      for (const decode of [decodeRequest, decodeResponse]) {
        try {
          const { length } = decode(content, 0, content.length).payload;
          if (!(length <= content.length)) throw new Error(`a payload of ${length} bytes in ${content.length}`);
        } catch (error) {
          if (!(error instanceof DecodeError)) throw error;
        }
      }
    }),
    { seed, numRuns: 30_000 },
  );
});

test('a valid call between invalid ones is answered', async () => {
  const [near, peer] = await openPair();
  const mux = openMux(near);
  serve(mux);
  const bad = [
    frame(1, nothing),
    frame(77, Buffer.alloc(3000, 0xff)),
    frame(1, message(2, 1, nothing)),
    frame(1, message(1, 1, Buffer.alloc(50, 0xff))),
    frame(1, message(3, 3, Buffer.alloc(50))),
    frame(2, message(9, 2, Buffer.alloc(50, 0xff))),
    frame(2, message(9, 1, Buffer.alloc(50, 0xff))),
  ];
  const good = [...request(11)].map((byte) => frame(1, Buffer.from([byte])));
  peer.write(Buffer.concat([...bad, ...good]));
  expect((await readUntil(peer, 'ping')).includes('ping')).toBe(true);
  expect(mux.droppedFrames).toBe(1);
});

test('a message in frames of one byte is read', async () => {
  const [near, peer] = await openPair();
  serve(openMux(near));
  const payload = Buffer.alloc(100_000, 'ping');
  const whole = message(1, 1, Request.encode(Request.create({ service: 's', method: 'later', payload })).finish());
  peer.write(Buffer.concat([...whole].map((byte) => frame(1, Buffer.from([byte])))));
  expect(await readBytes(peer, payload.length)).not.toHaveLength(0);
});

test('a session that is cut off at any byte ends with a reason', async () => {
  const parts = [frame(1, request(1)), frame(2, message(1, 2, nothing)), frame(1, request(3))];
  const stream = Buffer.concat(parts);
  const answeredAt = parts[0]!.length + parts[1]!.length;
  for (let length = 0; length < stream.length; length += 7) {
    const [near, peer] = await openPair();
    const mux = openMux(near);
    const call = serve(mux)
      .client.call('s', 'm', nothing)
      .catch((error: unknown) => error);
    peer.end(stream.subarray(0, length));
    await expect(mux.closed).resolves.toMatchObject({ by: 'peer' });
    expect(await call).toMatchObject(length < answeredAt ? { code: 14 } : nothing);
  }
});

test('long messages that are announced and not sent take no more memory than the sent bytes', async () => {
  const before = process.memoryUsage().arrayBuffers;
  const muxes = Array.from({ length: 100 }, () => {
    const socket = new FakeSocket();
    const mux = new Mux(socket);
    serve(mux);
    socket.emit('data', frame(1, message(1, 1, nothing, 64 << 20), 16 << 20));
    socket.emit('data', Buffer.alloc(1000));
    return mux;
  });
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(100 * (100 << 10));
  for (const mux of muxes) mux.close('done');
});

/** A socket without a kernel behind it, so that thousands cost nothing. Counts what is written to it. */
class FakeSocket extends PassThrough {
  sent = 0;

  override write(chunk: Buffer): boolean {
    this.sent += chunk.length;
    return true;
  }
}

async function readUntil(peer: Socket, text: string): Promise<string> {
  let received = '';
  peer.on('data', (chunk) => (received += chunk.toString('latin1')));
  await waitUntil(() => received.includes(text));
  return received;
}
