import {
  Mux,
  StatusCode,
  TtrpcClient,
  TtrpcError,
  TtrpcServer,
  type TtrpcHandler,
  type TtrpcRequest,
  type TtrpcServerOptions,
} from '../../src/wire';
import { useSockets } from './support/sockets';
import { waitUntil } from '../support/wait-until';

const { openPair, openMux, openChannel } = useSockets();

type Methods = Readonly<Record<string, TtrpcHandler>>;

interface Ends {
  readonly client: TtrpcClient;
  /** The channels and sockets to close after the test. */
  readonly near: { close(because: string): void };
  readonly far: { close(because: string): void };
}

/** The two kinds of channel; all tests below run with both. */
const transports: Record<string, (methods: Methods, options?: TtrpcServerOptions) => Promise<Ends>> = {
  'a connection of a mux': async (methods, options) => {
    const sockets = await openPair();
    const [near, far] = [openMux(sockets[0]), openMux(sockets[1])];
    new TtrpcServer(far.open(1), { test: methods }, options);
    return { near, far, client: new TtrpcClient(near.open(1)) };
  },
  'a socket of its own': async (methods, options) => {
    const sockets = await openPair();
    const [near, far] = [openChannel(sockets[0]), openChannel(sockets[1])];
    new TtrpcServer(far, { test: methods }, options);
    return { near, far, client: new TtrpcClient(near) };
  },
};

const echo: TtrpcHandler = ({ payload }) => payload;
const nothing = Buffer.alloc(0);

/** A handler whose calls wait until the test answers them. */
function holdCalls(): {
  readonly handler: TtrpcHandler;
  readonly calls: { request: TtrpcRequest; answer: (payload: Uint8Array) => void }[];
} {
  const calls: { request: TtrpcRequest; answer: (payload: Uint8Array) => void }[] = [];
  return { calls, handler: (request) => new Promise((answer) => calls.push({ request, answer })) };
}

async function errorOf(call: Promise<unknown>): Promise<TtrpcError> {
  const outcome = await call.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(outcome instanceof TtrpcError)) throw new Error(`expected a TtrpcError, got ${String(outcome)}`);
  return outcome;
}

describe.each(Object.entries(transports))('over %s', (_name, connect) => {
  test.each([0, 1, 4070, 4096, 5000, 100_000, 4_194_000])(
    'a payload of %i bytes is returned unchanged',
    async (length) => {
      const { client } = await connect({ echo });
      const payload = Buffer.alloc(length, 'abcdefg');
      expect(payload.equals(await client.call('test', 'echo', payload))).toBe(true);
    },
  );

  test('a thousand concurrent calls get their own answers, in any order', async () => {
    const { calls, handler } = holdCalls();
    const { client } = await connect({ hold: handler, echo }, { maxOpenCalls: 2000 });
    const results = Array.from({ length: 1000 }, (_, i) =>
      client.call('test', i % 2 ? 'hold' : 'echo', Buffer.alloc(i * 7, i)),
    );
    await waitUntil(() => calls.length === 500);
    for (const { request, answer } of calls.reverse()) answer(request.payload);
    for (const [i, result] of (await Promise.all(results)).entries()) {
      expect(Buffer.alloc(i * 7, i).equals(result)).toBe(true);
    }
  });

  test('the handler gets the arguments of the caller', async () => {
    const seen: TtrpcRequest[] = [];
    const { client } = await connect({ look: (request) => (seen.push(request), nothing) });
    const metadata = [
      { key: 'a', value: 'ä€😀' },
      { key: 'a', value: '' },
    ];
    await client.call('test', 'look', Buffer.from('hi'), { timeoutMs: 1999.415679, metadata });
    await client.call('test', 'look', nothing);
    expect(seen[0]).toMatchObject({ service: 'test', method: 'look', timeoutMs: 1999.415679, metadata });
    expect(Buffer.from(seen[0]!.payload).toString()).toBe('hi');
    expect([seen[1]!.timeoutMs, seen[1]!.metadata, seen[1]!.payload.length]).toEqual([undefined, [], 0]);
  });

  test.each`
    name                                                | method                  | code                              | text
    ${'an unknown service'}                             | ${'x.Other/echo'}       | ${StatusCode.UNIMPLEMENTED}       | ${'service "x.Other" is not implemented'}
    ${'an unknown method'}                              | ${'test/other'}         | ${StatusCode.UNIMPLEMENTED}       | ${'method "other" is not implemented'}
    ${'a method that every object has'}                 | ${'test/toString'}      | ${StatusCode.UNIMPLEMENTED}       | ${'method "toString" is not implemented'}
    ${'a service that every object has'}                | ${'__proto__/x'}        | ${StatusCode.UNIMPLEMENTED}       | ${'service "__proto__" is not implemented'}
    ${'a handler that throws a status'}                 | ${'test/refuse'}        | ${StatusCode.FAILED_PRECONDITION} | ${'no CPUs left'}
    ${'a handler that rejects with a status'}           | ${'test/refuseLater'}   | ${StatusCode.NOT_FOUND}           | ${'gone'}
    ${'a handler that throws anything else'}            | ${'test/break'}         | ${StatusCode.INTERNAL}            | ${'internal error'}
    ${'a handler that rejects with anything else'}      | ${'test/breakLater'}    | ${StatusCode.INTERNAL}            | ${'internal error'}
    ${'a handler that throws a value that is no error'} | ${'test/throwText'}     | ${StatusCode.INTERNAL}            | ${'internal error'}
    ${'a handler that returns undefined'}               | ${'test/forget'}        | ${StatusCode.INTERNAL}            | ${'internal error'}
    ${'a handler that throws OK'}                       | ${'test/throwOk'}       | ${StatusCode.UNKNOWN}             | ${'fine'}
    ${'an answer above 4 MiB'}                          | ${'test/tooLarge'}      | ${StatusCode.RESOURCE_EXHAUSTED}  | ${/^a message of 4194309 bytes can't be sent/}
    ${'an answer above 4 MiB, later'}                   | ${'test/tooLargeLater'} | ${StatusCode.RESOURCE_EXHAUSTED}  | ${/can't be sent/}
    ${'an error with a long text'}                      | ${'test/ramble'}        | ${StatusCode.ABORTED}             | ${'x'.repeat(4096)}
  `(
    '$name gives a status, and the connection stays open',
    async ({ method, code, text }: { method: string; code: number; text: string | RegExp }) => {
      const reported: unknown[] = [];
      const secret = new Error('/etc/secret');
      const { client } = await connect(
        {
          echo,
          refuse: () => {
            throw new TtrpcError(StatusCode.FAILED_PRECONDITION, 'no CPUs left');
          },
          refuseLater: () => Promise.reject(new TtrpcError(StatusCode.NOT_FOUND, 'gone')),
          break: () => {
            throw secret;
          },
          breakLater: () => Promise.reject(secret),
          throwText: () => {
            // eslint-disable-next-line @typescript-eslint/only-throw-error
            throw '/etc/secret';
          },
          forget: () => undefined as never,
          throwOk: () => {
            throw new TtrpcError(StatusCode.OK, 'fine');
          },
          tooLarge: () => Buffer.alloc(4 << 20),
          tooLargeLater: () => Promise.resolve(Buffer.alloc(4 << 20)),
          ramble: () => {
            throw new TtrpcError(StatusCode.ABORTED, 'x'.repeat(5_000_000));
          },
        },
        { onHandlerError: (error) => reported.push(error) },
      );
      const [service, name] = method.split('/') as [string, string];
      const error = await errorOf(client.call(service, name, nothing));
      expect(error).toMatchObject({ code, message: text instanceof RegExp ? expect.stringMatching(text) : text });
      expect(reported).toHaveLength(code === StatusCode.INTERNAL ? 1 : 0);
      expect(await client.call('test', 'echo', Buffer.from('still here'))).toHaveLength(10);
    },
  );

  test('a deadline ends the call on both sides, and a later answer is ignored', async () => {
    const { calls, handler } = holdCalls();
    const { client } = await connect({ hold: handler, echo });
    const error = await errorOf(client.call('test', 'hold', nothing, { timeoutMs: 30 }));
    await waitUntil(() => calls.length === 1); // on a busy machine the caller's time may be over first
    expect(error.code).toBe(StatusCode.DEADLINE_EXCEEDED);
    const { signal } = calls[0]!.request;
    await waitUntil(() => signal.aborted);
    expect(signal.reason).toMatchObject({ code: StatusCode.DEADLINE_EXCEEDED });
    calls[0]!.answer(Buffer.from('too late'));
    expect(await client.call('test', 'echo', nothing)).toHaveLength(0);
  });

  test.each([0, -1, NaN])('a deadline of %p ms has passed before the call', async (timeoutMs) => {
    const { client } = await connect({ echo });
    expect((await errorOf(client.call('test', 'echo', nothing, { timeoutMs }))).code).toBe(
      StatusCode.DEADLINE_EXCEEDED,
    );
  });

  test('a deadline of months needs no timer', async () => {
    const { client } = await connect({ echo, later: ({ payload }) => Promise.resolve(payload) });
    for (const method of ['echo', 'later']) {
      expect(await client.call('test', method, nothing, { timeoutMs: 1e12 })).toHaveLength(0);
    }
  });

  test('a signal cancels the call, before it and during it', async () => {
    const { calls, handler } = holdCalls();
    const { client } = await connect({ hold: handler, echo });
    const stop = new AbortController();
    const call = errorOf(client.call('test', 'hold', nothing, { signal: stop.signal }));
    await waitUntil(() => calls.length === 1);
    stop.abort();
    expect((await call).code).toBe(StatusCode.CANCELLED);
    expect((await errorOf(client.call('test', 'hold', nothing, { signal: stop.signal }))).code).toBe(
      StatusCode.CANCELLED,
    );
    calls[0]!.answer(Buffer.from('late answer'));
    expect(await client.call('test', 'echo', nothing)).toHaveLength(0);
    expect(calls).toHaveLength(1);
  });

  test.each(['near', 'far'] as const)(
    'when the %s end closes during a call, both sides get the reason',
    async (end) => {
      const { calls, handler } = holdCalls();
      const ends = await connect({ hold: handler });
      const running = [1, 2].map(() => errorOf(ends.client.call('test', 'hold', nothing, { timeoutMs: 60_000 })));
      await waitUntil(() => calls.length === 2);
      const signals = calls.map(({ request }) => request.signal);
      ends[end].close('enough');
      const because = end === 'near' ? 'enough' : 'the peer closed the connection';
      for (const error of [...(await Promise.all(running)), await errorOf(ends.client.call('test', 'hold', nothing))]) {
        expect(error).toMatchObject({ code: StatusCode.UNAVAILABLE, message: `the connection is closed: ${because}` });
      }
      await waitUntil(() => signals.every(({ aborted }) => aborted));
      expect(signals[0]!.reason).toMatchObject({ code: StatusCode.UNAVAILABLE });
      for (const { answer } of calls) answer(Buffer.from('late answer'));
      await expect(ends.client.closed).resolves.toMatchObject({ because });
    },
  );

  test('client and server have close methods of their own', async () => {
    const { calls, handler } = holdCalls();
    const { client, near } = await connect({ hold: handler });
    const call = errorOf(client.call('test', 'hold', nothing));
    await waitUntil(() => calls.length === 1);
    client.close('done with it');
    client.close('twice');
    expect((await call).message).toBe('the connection is closed: done with it');
    await expect(client.closed).resolves.toEqual({ by: 'us', because: 'done with it' });
    near.close('all of it');
    await waitUntil(() => calls[0]!.request.signal.aborted);
  });

  test('a request above 4 MiB is not sent', async () => {
    const { client } = await connect({ echo });
    const error = await errorOf(client.call('test', 'echo', Buffer.alloc(4 << 20)));
    expect(error.code).toBe(StatusCode.RESOURCE_EXHAUSTED);
    expect(await client.call('test', 'echo', nothing)).toHaveLength(0);
  });

  test('a request above the limit of the server is refused, and the connection stays open', async () => {
    const { client } = await connect({ echo }, { maxMessageBytes: 1000 });
    const error = await errorOf(client.call('test', 'echo', Buffer.alloc(100_000)));
    expect(error).toMatchObject({
      code: StatusCode.RESOURCE_EXHAUSTED,
      message: expect.stringContaining('is not accepted'),
    });
    expect(await client.call('test', 'echo', Buffer.alloc(900))).toHaveLength(900);
  });

  test('a server with too many open calls stops reading', async () => {
    const { calls, handler } = holdCalls();
    const { client } = await connect({ hold: handler }, { maxOpenCalls: 4 });
    const payload = Buffer.alloc(500_000);
    const results = Array.from({ length: 12 }, () => client.call('test', 'hold', payload));
    for (let answered = 0; answered < 12; answered++) {
      await waitUntil(() => calls.length > 0);
      expect(calls.length).toBeLessThanOrEqual(4);
      calls.shift()!.answer(nothing);
    }
    expect(await Promise.all(results)).toHaveLength(12);
  });

  test('a server that holds too many bytes of calls stops reading', async () => {
    const { calls, handler } = holdCalls();
    const { client } = await connect({ hold: handler }, { maxOpenBytes: 2 << 20 });
    const results = Array.from({ length: 6 }, () => client.call('test', 'hold', Buffer.alloc(1 << 20)));
    for (let answered = 0; answered < 6; answered++) {
      await waitUntil(() => calls.length > 0);
      expect(calls.length).toBeLessThanOrEqual(3);
      calls.shift()!.answer(nothing);
    }
    expect(await Promise.all(results)).toHaveLength(6);
  });
});

test('a call to a server that does not read is refused at the limit of the queue', async () => {
  const [near, far] = await openPair();
  const mux = openMux(near, { maxQueuedBytes: 8 << 20, lingerMs: 10 });
  const client = new TtrpcClient(mux.open(1));
  const outcomes = Array.from({ length: 20 }, () => errorOf(client.call('test', 'echo', Buffer.alloc(1 << 20))));
  expect(near.writableLength).toBeLessThan(8 << 20);
  far.destroy();
  const codes = (await Promise.all(outcomes)).map(({ code }) => code);
  expect(new Set(codes)).toEqual(new Set([StatusCode.RESOURCE_EXHAUSTED, StatusCode.UNAVAILABLE]));
});

test('given a peer that sends and never reads, then the server stops at the limit of unread bytes', async () => {
  const [near, far] = await openPair();
  const options = { maxQueuedBytes: 4 << 20 };
  const [a, b] = [openMux(near), openMux(far, options)];
  let served = 0;
  new TtrpcServer(b.open(1), { test: { grow: () => (served++, Buffer.alloc(100_000)) } });
  // No receiver on this side: nothing is read here.
  const channel = a.open(1);
  const results: Promise<unknown>[] = [];
  const client = new TtrpcClient({ ...wrap(channel), receive: () => undefined });
  for (let i = 0; i < 2000; i++)
    results.push(client.call('test', 'grow', Buffer.alloc(1000), { timeoutMs: 300 }).catch(() => undefined));
  await waitUntil(() => far.isPaused());
  expect(served).toBeLessThan(100);
  expect(far.writableLength).toBeLessThan(options.maxQueuedBytes);
  await Promise.all(results);
  channel.receive({ onBytes: () => undefined, onDrain: () => undefined, onClose: () => undefined });
  await waitUntil(() => served === 2000);
});

/** The methods of a channel, as own properties. */
function wrap(channel: ReturnType<Mux['open']>): ReturnType<Mux['open']> {
  return {
    headroom: channel.headroom,
    queuedBytes: 0,
    maxQueuedBytes: channel.maxQueuedBytes,
    closed: channel.closed,
    receive: (receiver) => channel.receive(receiver),
    send: (packet) => channel.send(packet),
    pause: () => channel.pause(),
    resume: () => channel.resume(),
    close: (because) => channel.close(because),
  };
}
