import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { decodeRequest, decodeResponse, type KeyValue } from '../../src/wire/envelope';
import { cut } from './support/bytes';
import { createStreamDecoder, type DecodedMessage } from './support/decode-stream';

const dir = join(__dirname, '../fixtures/captures');

interface Index {
  readonly frames: readonly {
    readonly dir: Direction;
    readonly mux_conn: number;
    readonly ttrpc?: {
      readonly type: 'request' | 'response';
      readonly stream_id: number;
      readonly length: number;
      readonly service?: string;
      readonly method?: string;
      readonly timeout_nano?: string;
      readonly payload_length: number;
      readonly metadata?: readonly KeyValue[];
      readonly status?: { readonly code: number; readonly message: string };
    };
  }[];
}
type Direction = 'r2p' | 'p2r';

const streams = readdirSync(dir)
  .filter((name) => name.endsWith('.bin'))
  .map((name) => {
    const [, session, direction] = /^(.*)\.(r2p|p2r)\.bin$/.exec(name)! as unknown as [string, string, Direction];
    const index = JSON.parse(readFileSync(join(dir, `${session}.index.json`), 'utf8')) as Index;
    return { name, bytes: readFileSync(join(dir, name)), direction, index };
  });

function decodeWhole(bytes: Buffer): DecodedMessage[] {
  const messages: DecodedMessage[] = [];
  const decoder = createStreamDecoder((message) => messages.push(message));
  decoder.feed(bytes, 0, bytes.length);
  expect(decoder.frames.isBetweenFrames).toBe(true);
  return messages;
}

function describeMessage({ connectionId, type, streamId, data }: DecodedMessage): unknown {
  const common = { conn: connectionId, stream: streamId, length: data.length };
  if (type === 1) {
    const { service, method, payload, timeoutNano, metadata } = decodeRequest(data, 0, data.length);
    return { ...common, service, method, timeoutNano, payload: payload.length, metadata };
  }
  const { code, message, payload } = decodeResponse(data, 0, data.length);
  return { ...common, code, message, payload: payload.length };
}

function listIndex({ frames }: Index, direction: Direction): unknown[] {
  return frames.flatMap(({ dir: frameDir, mux_conn: conn, ttrpc }) =>
    frameDir === direction && ttrpc ? [describeListed(conn, ttrpc)] : [],
  );
}

function describeListed(conn: number, listed: NonNullable<Index['frames'][number]['ttrpc']>): unknown {
  const { type, stream_id: stream, length, payload_length: payload, service, method, metadata = [], status } = listed;
  const common = { conn, stream, length, payload };
  return type === 'request'
    ? { ...common, service, method, timeoutNano: Number(listed.timeout_nano), metadata }
    : { ...common, code: status?.code ?? 0, message: status?.message ?? '' };
}

test.each(streams)('$name holds the messages that its index lists', ({ bytes, direction, index }) => {
  const expected = listIndex(index, direction);
  expect(expected.length).toBeGreaterThan(1);
  expect(decodeWhole(bytes).map(describeMessage)).toEqual(expected);
});

/** Feeds the stream in pieces; fails at the first message that differs from the whole. */
function expectSame(bytes: Buffer, size: number, first: number, expected: readonly DecodedMessage[]): void {
  let count = 0;
  let same = true;
  const decoder = createStreamDecoder((message) => {
    const want = expected[count++];
    same &&=
      want?.connectionId === message.connectionId &&
      want.type === message.type &&
      want.streamId === message.streamId &&
      want.data.equals(message.data);
  });
  for (const [start, end] of cut(bytes, size, first)) decoder.feed(bytes, start, end);
  if (!same || count !== expected.length) throw new Error(`differs in pieces of ${size}, the first of ${first}`);
}

// Pieces of 997 bytes, beginning with each possible first piece, split at every position once; so do the other sizes,
// with more splits to a message. Two pieces only, for every position, where the stream is short enough.
test.each(streams)('$name has the same messages when it is split at every byte', ({ bytes }) => {
  const expected = decodeWhole(bytes);
  for (const size of [1, 13, 997]) {
    for (let first = 1; first <= size; first++) expectSame(bytes, size, first, expected);
  }
  const lastSplit = bytes.length > 1 << 15 ? 0 : bytes.length - 1;
  for (let first = 1; first <= lastSplit; first++) expectSame(bytes, bytes.length, first, expected);
});
