import * as grpc from '@grpc/grpc-js';
import { createHash } from 'node:crypto';
import { Bench, collect, type Handlers, type Outcome, type TestClient } from './harness';
import { waitUntil } from '../../support/wait-until';

// Every row runs once on the runtime's own socket and once through the proxy: the client must see the same.

const MEBIBYTE = 1_048_576;
const path = '/made.up.Service/Method';

function bytesOf(length: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at < length; at++) bytes[at] = at * 31 + (at >> 8);
  return bytes;
}

const big = bytesOf(16 * MEBIBYTE - 5);
const digest = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest();

function sendStatus(
  call: grpc.ServerDuplexStream<Buffer, Buffer>,
  code: number,
  details: string,
  metadata = new grpc.Metadata(),
): void {
  call.emit('error', { code, details, metadata });
}

const handlers: Handlers = {
  '/made.up.Service/Echo': (call) => {
    call.on('data', (message: Buffer) => call.write(message));
    call.on('end', () => call.end());
  },
  '/made.up.Service/Digest': (call) => {
    call.on('data', (message: Buffer) => call.write(digest(message)));
    call.on('end', () => call.end());
  },
  '/made.up.Service/Big': (call) => {
    call.on('data', () => undefined);
    call.on('end', () => call.write(big, () => call.end()));
  },
  '/made.up.Service/Metadata': (call) => {
    const answer = new grpc.Metadata();
    for (const [name, value] of Object.entries(call.metadata.getMap())) {
      if (name.startsWith('x-')) answer.set(name, value);
    }
    call.sendMetadata(answer);
    const trailer = new grpc.Metadata();
    trailer.set('x-trailer', 'ascii only');
    trailer.set('x-trailer-bin', Buffer.from([0, 255, 128, 1]));
    call.on('data', () => undefined);
    call.on('end', () => call.end(trailer));
  },
  '/made.up.Service/Fail': (call) => {
    const metadata = new grpc.Metadata();
    metadata.set('grpc-status-details-bin', Buffer.from([8, 5, 18, 3, 1, 2, 3]));
    sendStatus(call, 5, 'container "x" not found: 100 % gone, naïve — 日本', metadata);
  },
  '/made.up.Service/FailLate': (call) => {
    call.write(Buffer.from('first'));
    call.on('data', () => undefined);
    call.on('end', () => sendStatus(call, 9, 'after a message'));
  },
  '/made.up.Service/Count': (call) => {
    call.on('data', (message: Buffer) => {
      for (let n = 0; n < message.readUInt32BE(0); n++) call.write(Buffer.from(`message ${n}`));
    });
    call.on('end', () => call.end());
  },
};

const metadata = new grpc.Metadata();
metadata.set('x-ascii', 'value with spaces, commas; and = signs');
metadata.set('x-data-bin', Buffer.from([0, 1, 2, 250, 251, 255]));
metadata.set('x-long', '{'.repeat(20_000)); // no shorter in Huffman's code: more than one frame of header fields

const count = Buffer.alloc(4);
count.writeUInt32BE(5000);

const bench = new Bench();
let direct: TestClient;
let proxied: TestClient;

beforeAll(async () => {
  await bench.startRuntime(handlers);
  await bench.startProxy({ '/made.up.Service/Seen': {} });
  direct = bench.client(bench.runtimePath);
  proxied = bench.client();
});
afterAll(() => bench.close());

test.each<[string, string, Buffer[], grpc.Metadata | undefined, (outcome: Outcome) => void]>([
  [
    'one small message',
    'Echo',
    [Buffer.from('hello')],
    undefined,
    ({ messages }) => expect(String(messages[0])).toBe('hello'),
  ],
  ['an empty message', 'Echo', [Buffer.alloc(0)], undefined, ({ messages }) => expect(messages[0]).toHaveLength(0)],
  [
    'a request without a message',
    'Echo',
    [],
    undefined,
    ({ code, messages }) => expect([code, messages]).toEqual([0, []]),
  ],
  [
    'many messages both ways',
    'Echo',
    Array.from({ length: 2000 }, (_, n) => bytesOf(n)),
    undefined,
    ({ messages }) => expect(messages).toHaveLength(2000),
  ],
  ['a request of 16 MiB', 'Digest', [big], undefined, ({ messages }) => expect(messages[0]).toEqual(digest(big))],
  [
    'an answer of 16 MiB',
    'Big',
    [Buffer.alloc(1)],
    undefined,
    ({ messages }) => expect(digest(messages[0]!)).toEqual(digest(big)),
  ],
  ['a server stream', 'Count', [count], undefined, ({ messages }) => expect(messages).toHaveLength(5000)],
  [
    'metadata, ascii, binary and long',
    'Metadata',
    [Buffer.from('x')],
    metadata,
    ({ header }) => expect(header).toMatchObject({ 'x-long': [expect.stringMatching(/^\{{20000}$/)] }),
  ],
  [
    'trailers',
    'Metadata',
    [Buffer.from('x')],
    undefined,
    ({ trailer }) => expect(trailer).toMatchObject({ 'x-trailer': ['ascii only'] }),
  ],
  [
    'an error as the whole answer, with details',
    'Fail',
    [Buffer.from('x')],
    undefined,
    ({ code, details, trailer }) => {
      expect([code, details]).toEqual([5, 'container "x" not found: 100 % gone, naïve — 日本']);
      expect(trailer).toHaveProperty('grpc-status-details-bin');
    },
  ],
  [
    'an error behind a message',
    'FailLate',
    [Buffer.from('x')],
    undefined,
    ({ code, messages }) => expect([code, messages.length]).toEqual([9, 1]),
  ],
  [
    'a method that the runtime does not know',
    'Missing',
    [Buffer.from('x')],
    undefined,
    ({ code, details }) => {
      expect(code).toBe(grpc.status.UNIMPLEMENTED);
      expect(details).toContain('/made.up.Service/Missing');
    },
  ],
])('%s: the client gets the same as without a proxy', async (_name, method, requests, sent, check) => {
  const expected = await direct.run(`/made.up.Service/${method}`, requests, sent);
  const seen = await proxied.run(`/made.up.Service/${method}`, requests, sent);
  check(expected);
  expect({ ...seen, messages: seen.messages.map(digest) }).toEqual({
    ...expected,
    messages: expected.messages.map(digest),
  });
});

test('answers 1,000 calls at a time, each with its own bytes', async () => {
  const outcomes = await Promise.all(
    Array.from({ length: 1000 }, (_, n) => proxied.run('/made.up.Service/Echo', [bytesOf(n), Buffer.from(String(n))])),
  );
  outcomes.forEach(({ messages, code }, n) => {
    expect(code).toBe(0);
    expect(messages.map(String)).toEqual([String(bytesOf(n)), String(n)]);
  });
});

describe('with a runtime of its own', () => {
  let own: Bench;
  beforeEach(() => (own = new Bench()));
  afterEach(() => own.close());
  const openCalls: grpc.ServerDuplexStream<Buffer, Buffer>[] = [];

  test('passes cancellation, deadline and back-pressure on', async () => {
    let written = 0;
    await own.startRuntime({
      [path]: (call) => void openCalls.push(call),
      '/made.up.Service/Flood': (call) => {
        const pour = (): void => {
          while (written < 64 * MEBIBYTE && !call.cancelled) {
            written += 65_536;
            if (!call.write(Buffer.alloc(65_536))) {
              call.once('drain', pour);
              return;
            }
          }
          call.end();
        };
        pour();
      },
    });
    const proxy = await own.startProxy();
    const client = own.client();

    const cancelled = client.open(path);
    const cancelledOutcome = collect(cancelled);
    cancelled.write(Buffer.from('x'));
    await waitUntil(() => openCalls.length === 1);
    cancelled.cancel();
    await waitUntil(() => openCalls[0]!.cancelled);
    expect((await cancelledOutcome).code).toBe(grpc.status.CANCELLED);

    // The runtime gets the same deadline; it counts from the arrival of the call.
    const sentMs = Date.now();
    const deadline = sentMs + 60_000;
    const limited = client.open(path, undefined, { deadline });
    const limitedOutcome = collect(limited);
    limited.write(Buffer.from('x'));
    await waitUntil(() => openCalls.length === 2);
    const shiftMs = Number(openCalls[1]!.getDeadline()) - deadline;
    expect(shiftMs).toBeGreaterThanOrEqual(-5);
    expect(shiftMs).toBeLessThanOrEqual(Date.now() - sentMs + 5);
    limited.cancel();
    await limitedOutcome;

    // On a busy machine the deadline may pass before the call has left the client: then it gets more time.
    for (let patienceMs = 300; openCalls.length < 3; patienceMs *= 4) {
      const late = await client.run(path, [Buffer.from('x')], undefined, { deadline: Date.now() + patienceMs });
      expect(late.code).toBe(grpc.status.DEADLINE_EXCEEDED);
    }
    await waitUntil(() => openCalls.every(({ cancelled }) => cancelled));

    // The reader stops after the first message: the writer has to stop long before it has sent everything.
    const flood = client.open('/made.up.Service/Flood');
    const paused = new Promise((resolve) => flood.once('data', () => resolve(flood.pause())));
    const floodEnd = new Promise((resolve) => flood.on('status', resolve));
    flood.on('error', () => undefined);
    flood.end();
    await paused;
    let before = -1;
    while (before !== written) {
      before = written;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(written).toBeLessThan(16 * MEBIBYTE);
    let received = 65_536;
    flood.on('data', (message: Buffer) => (received += message.length));
    flood.resume();
    await floodEnd;
    expect(received).toBe(64 * MEBIBYTE);
    expect(proxy.stats).toMatchObject({ callsInFlight: 0, heldBytes: 0 });
  });

  test('lets a client stream that is written faster than it is read arrive whole', async () => {
    let received = 0;
    await own.startRuntime({
      [path]: (call) => {
        call.on('data', (message: Buffer) => {
          received += message.length;
          call.pause();
          setImmediate(() => call.resume());
        });
        call.on('end', () => {
          call.write(Buffer.from(String(received)));
          call.end();
        });
      },
    });
    await own.startProxy();
    const outcome = await own.client().run(
      path,
      Array.from({ length: 200 }, () => bytesOf(100_000)),
    );
    expect(String(outcome.messages[0])).toBe('20000000');
  });
});
