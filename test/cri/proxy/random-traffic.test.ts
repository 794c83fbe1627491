import * as fc from 'fast-check';
import { createHash } from 'node:crypto';
import * as http2 from 'node:http2';
import { connect } from 'node:net';
import { Bench } from './harness';
import { waitUntil } from '../../support/wait-until';
import { startStrictRuntime } from './strict-runtime';

// nghttp2 stands on both sides and ends a connection on any wrong window, frame or header block; with small windows
// every hold, append, refusal and cancellation has to be accounted for to the byte.

const digest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

interface Call {
  readonly path: '/test/seen' | '/test/passed';
  readonly bytes: number;
  readonly appended: number;
  readonly verdict: 'at once' | 'later' | 'refuse' | 'refuse later';
  readonly cancelAfterMs: number | undefined;
}

const call = fc.record<Call>({
  path: fc.constantFrom('/test/seen', '/test/passed'),
  bytes: fc.oneof(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: 200_000 })),
  appended: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 5_000 })),
  verdict: fc.constantFrom('at once', 'later', 'refuse', 'refuse later'),
  cancelAfterMs: fc.oneof(
    { weight: 5, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.integer({ min: 0, max: 5 }) },
  ),
});

let bench: Bench;
beforeEach(() => (bench = new Bench()));
afterEach(() => bench.close());

/** A runtime with another HTTP/2 implementation. */
async function startNghttp2(initialWindowSize: number): Promise<string[]> {
  const runtime = http2.createServer({ settings: { initialWindowSize } });
  runtime.on('session', (session) => bench.onClose(() => session.destroy()));
  runtime.on('stream', (stream) => {
    const chunks: Buffer[] = [];
    stream.on('error', () => undefined);
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    // A slow reader: windows fill up.
    stream.pause();
    setTimeout(() => stream.resume(), (stream.id ?? 0) % 12);
    stream.on('end', () => {
      if (stream.destroyed || stream.rstCode !== 0) return;
      stream.respond(
        { ':status': 200, 'content-type': 'application/grpc', 'x-digest': digest(Buffer.concat(chunks)) },
        { waitForTrailers: true },
      );
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      const answer = Buffer.alloc(5 + 20_000);
      answer.writeUInt32BE(20_000, 1);
      stream.end(answer);
    });
  });
  await new Promise<void>((resolve) => runtime.listen(bench.runtimePath, resolve));
  bench.onClose(() => new Promise((resolve) => runtime.close(resolve)));
  return [];
}

async function startStrict(initialWindowBytes: number): Promise<string[]> {
  const { server, violations } = startStrictRuntime(bench.runtimePath, initialWindowBytes);
  await new Promise((resolve) => server.once('listening', resolve));
  bench.onClose(() => server.close());
  return violations;
}

const runtimes = { nghttp2: startNghttp2, strict: startStrict };

test.each(
  [1, 100, 5_000, 65_535, 1_000_000].flatMap((window) => [['nghttp2', window] as const, ['strict', window] as const]),
)(
  'random calls to the %s runtime with a stream window of %d bytes all end with the expected status',
  async (kind, initialWindowSize) => {
    const violations = await runtimes[kind](initialWindowSize);
    // A few bytes at a time is slow: with small windows the messages are small too.
    const maxBytes = initialWindowSize * (kind === 'strict' ? 30 : 300);

    let ended = 0;
    const proxy = await bench.startProxy({
      '/test/seen': {
        onRequest: (message, { metadata }) => {
          const ask = JSON.parse(metadata.find(([name]) => name === 'x-call')![1]) as Call;
          const verdict = ask.verdict.startsWith('refuse')
            ? { refuse: { code: 9, reason: 'TEST', message: 'no' } }
            : ask.appended === 0
              ? message
              : Buffer.concat([message, Buffer.alloc(ask.appended, 1)]);
          return ask.verdict.endsWith('later')
            ? new Promise((resolve) => setTimeout(() => resolve(verdict), ask.bytes % 3))
            : verdict;
        },
        onResponse: () => undefined,
        onEnd: () => {
          ended++;
        },
      },
    });

    const client = http2.connect('http://localhost', {
      createConnection: () => connect(bench.proxyPath),
      settings: { initialWindowSize: 1000 },
    });
    client.on('error', (err) => bench.faults.push(err));
    client.on('goaway', (code) => bench.faults.push(`goaway ${code}`));
    bench.onClose(() => client.destroy());
    // Before it knows the runtime's settings a client may send more than they allow.
    await new Promise((resolve) => client.once('remoteSettings', resolve));

    const run = (ask: Call): Promise<void> =>
      new Promise((resolve, reject) => {
        const body = Buffer.alloc(5 + ask.bytes, 7);
        body[0] = 0;
        body.writeUInt32BE(ask.bytes, 1);
        const stream = client.request({
          ':method': 'POST',
          ':path': ask.path,
          'content-type': 'application/grpc',
          te: 'trailers',
          'x-call': JSON.stringify(ask),
        });
        const seen: Record<string, unknown> = {};
        stream.on('response', (headers) => Object.assign(seen, headers));
        stream.on('trailers', (headers) => Object.assign(seen, headers));
        stream.on('error', (err) => (seen['error'] = err));
        stream.resume();
        stream.on('close', () => {
          try {
            if (ask.cancelAfterMs === undefined) check(ask, body, seen);
            resolve();
          } catch (err) {
            reject(err instanceof Error ? err : new Error(String(err)));
          }
        });
        stream.end(body);
        if (ask.cancelAfterMs !== undefined)
          setTimeout(() => stream.close(http2.constants.NGHTTP2_CANCEL), ask.cancelAfterMs);
      });

    let seenCalls = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(call, { minLength: 1, maxLength: 40 }), async (calls) => {
        const asks = calls.map((ask) => ({
          ...ask,
          bytes: Math.min(ask.bytes, maxBytes),
          appended: Math.min(ask.appended, maxBytes),
        }));
        await Promise.all(asks.map(run));
        seenCalls += asks.filter(({ path }) => path === '/test/seen').length;
      }),
      { seed: 20_261_121, numRuns: 15 },
    );
    await waitUntil(() => proxy.stats.callsInFlight === 0);
    expect(proxy.stats.heldBytes).toBe(0);
    expect(ended).toBeLessThanOrEqual(seenCalls); // a call that was cancelled at once may never have left the client
    expect([...bench.faults, ...violations]).toEqual([]);
    // After all this the connection's windows still let a large call through.
    await run({
      path: '/test/passed',
      bytes: Math.min(2_000_000, maxBytes),
      appended: 0,
      verdict: 'at once',
      cancelAfterMs: undefined,
    });
  },
);

function check(ask: Call, body: Buffer, seen: Record<string, unknown>): void {
  if (ask.path === '/test/seen' && ask.verdict.startsWith('refuse')) {
    expect(seen).toMatchObject({ 'grpc-status': '9', 'grpc-message': 'cpusetd: no' });
    return;
  }
  const appended = ask.path === '/test/seen' ? ask.appended : 0;
  const expected = Buffer.concat([body, Buffer.alloc(appended, 1)]);
  expected.writeUInt32BE(ask.bytes + appended, 1);
  expect(seen).toMatchObject({ 'grpc-status': '0', 'x-digest': digest(expected) });
}
