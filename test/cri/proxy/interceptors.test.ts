import * as grpc from '@grpc/grpc-js';
import { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import type { CallContext, CallEnd, Interceptor } from '../../../src/cri/proxy';
import { Bench, collect, type Handler } from './harness';
import { callDeadline, waitUntil } from '../../support/wait-until';

const path = '/runtime.v1.RuntimeService/CreateContainer';
const other = '/runtime.v1.RuntimeService/Version';

let bench: Bench;
beforeEach(() => (bench = new Bench()));
afterEach(() => bench.close());

/** A unary method: collects the request, answers with `answer(request)`. */
function unary(answer: (request: Buffer) => Buffer): Handler {
  return (call) => {
    let request: Buffer = Buffer.alloc(0);
    call.on('data', (message: Buffer) => (request = message));
    call.on('end', () => (call.write(answer(request)), call.end()));
  };
}

const echo = unary((request) => request);

test('a hook gets the whole request, and its appended bytes arrive behind the unchanged original', async () => {
  await bench.startRuntime({ [path]: echo });
  const seen: { message: string; call: CallContext }[] = [];
  await bench.startProxy({
    [path]: {
      onRequest: (message, call) => {
        seen.push({ message: Buffer.from(message).toString('hex'), call });
        return Buffer.concat([message, Buffer.from('appended')]);
      },
    },
  });
  // Field 900 is in no definition.
  const request = Buffer.from('0a03616263a238056669656c64', 'hex');
  const metadata = new grpc.Metadata();
  metadata.set('x-trace', 'abc');
  const { messages, code } = await bench.client().run(path, [request], metadata, { deadline: callDeadline() });
  expect(code).toBe(0);
  expect(messages).toEqual([Buffer.concat([request, Buffer.from('appended')])]);
  expect(seen).toHaveLength(1);
  expect(seen[0]).toMatchObject({ message: request.toString('hex'), call: { path } });
  expect(seen[0]!.call.metadata).toContainEqual(['x-trace', 'abc']);
  expect(seen[0]!.call.signal.aborted).toBe(false);
});

test.each([0, 1, 70_000, 16 * 1_048_576])(
  'a request of %d bytes passes an observing hook as it is, at once or later',
  async (length) => {
    const ends: CallEnd[] = [];
    await bench.startRuntime({
      [path]: unary((request) => Buffer.from(`${request.length} ${request.every((byte) => byte === 5)}`)),
      [other]: echo,
    });
    const proxy = await bench.startProxy({
      [path]: { onRequest: (message) => message, onEnd: (end) => void ends.push(end) },
      [other]: { onRequest: (message) => new Promise((resolve) => setImmediate(() => resolve(message))) },
    });
    const client = bench.client();
    const { messages } = await client.run(path, [Buffer.alloc(length, 5)]);
    expect(messages.map(String)).toEqual([`${length} true`]);
    const later = await client.run(other, [Buffer.alloc(length, 5)]);
    expect(later.messages[0]!.equals(Buffer.alloc(length, 5))).toBe(true);
    expect(ends).toEqual([{ origin: 'runtime', status: { code: 0, message: 'OK' }, forwarded: true }]);
    expect(proxy.stats).toMatchObject({ heldBytes: 0, callsInFlight: 0 });
  },
);

test.each([
  ['at once', (verdict: { refuse: never }) => verdict],
  ['later', (verdict: { refuse: never }) => Promise.resolve(verdict)],
])('a refusal %s is marked as one of cpusetd, and the runtime gets no request', async (_name, give) => {
  let handled = 0;
  const ends: CallEnd[] = [];
  await bench.startRuntime({
    [path]: (call) => {
      call.on('data', () => handled++);
      call.on('error', () => undefined);
    },
    [other]: echo,
  });
  const refuse = {
    code: 8,
    reason: 'NOT_ENOUGH_CPUS',
    message: '3 CPUs wanted, 2 are free — größer',
    metadata: { free: '2' },
  };
  await bench.startProxy({
    [path]: { onRequest: () => give({ refuse } as never), onEnd: (end) => void ends.push(end) },
  });
  const client = bench.client();
  const outcomes = await Promise.all(Array.from({ length: 20 }, () => client.run(path, [Buffer.from('x')])));
  for (const { code, details, messages, trailer } of outcomes) {
    expect([code, details, messages]).toEqual([8, 'cpusetd: 3 CPUs wanted, 2 are free — größer', []]);
    const [status] = trailer['grpc-status-details-bin'] as [Buffer];
    const text = Buffer.from(status).toString('latin1');
    for (const part of ['type.googleapis.com/google.rpc.ErrorInfo', 'NOT_ENOUGH_CPUS', 'cpusetd.io', 'free'])
      expect(text).toContain(part);
    expect(status[0]).toBe(0x08);
    expect(status[1]).toBe(8);
  }
  expect(ends).toHaveLength(20);
  expect(ends[0]).toEqual({ origin: 'proxy', status: { code: 8, message: refuse.message }, forwarded: false });
  // The connection is as good as before, for calls that pass and for calls with much data.
  expect((await client.run(other, [Buffer.alloc(1_000_000, 1)])).messages[0]).toHaveLength(1_000_000);
  expect(handled).toBe(0);
});

test('a hook that throws refuses the call, and the text of its error is not sent', async () => {
  await bench.startRuntime({ [path]: echo, [other]: echo });
  const fail = (): never => {
    throw new Error('secret path /var/lib/x');
  };
  await bench.startProxy({
    [path]: { onRequest: fail },
    [other]: { onRequest: () => Promise.reject(new Error('secret path /var/lib/x')) },
  });
  for (const each of [path, other]) {
    const { code, details } = await bench.client().run(each, [Buffer.from('x')]);
    expect([code, details]).toEqual([13, 'cpusetd: internal error while deciding about the request']);
  }
  expect(bench.faults).toHaveLength(2);
});

test('answers are seen before they pass, message by message, and the end after all of them', async () => {
  const events: string[] = [];
  await bench.startRuntime({
    [path]: (call) => {
      call.on('data', () => undefined);
      for (const text of ['one', 'two', 'three']) call.write(Buffer.from(text));
      call.emit('error', { code: 5, details: 'gone after all' });
    },
  });
  const later = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));
  await bench.startProxy({
    [path]: {
      onResponse: async (message) => {
        await later();
        events.push(`hook ${Buffer.from(message).toString()}`);
      },
      onEnd: async (end) => {
        await later();
        events.push(`hook end ${end.status.code} ${end.status.message}`);
      },
    },
  });
  const call = bench.client().open(path);
  call.on('data', (message: Buffer) => events.push(`client ${message.toString()}`));
  const end = collect(call);
  call.end();
  expect((await end).code).toBe(5);
  events.push('client end');
  expect(events.filter((event) => event.startsWith('hook'))).toEqual([
    'hook one',
    'hook two',
    'hook three',
    'hook end 5 gone after all',
  ]);
  for (const text of ['one', 'two', 'three'])
    expect(events.indexOf(`hook ${text}`)).toBeLessThan(events.indexOf(`client ${text}`));
  expect(events.indexOf('hook end 5 gone after all')).toBeLessThan(events.indexOf('client end'));
});

test("onPassed gets each message after it was written to the caller, and before the caller's next request", async () => {
  const events: string[] = [];
  await bench.startRuntime({
    [path]: (call) => {
      call.on('data', () => undefined);
      for (const text of ['one', 'two']) call.write(Buffer.from(text));
      call.end();
    },
    [other]: echo,
  });
  const write = jest.spyOn(Socket.prototype, 'write');
  bench.onClose(() => write.mockRestore());
  const isWritten = (message: Buffer): boolean =>
    write.mock.calls.some(([chunk]) => Buffer.from(chunk as Uint8Array).includes(message));
  const note = (message: Buffer): void =>
    void events.push(`${isWritten(message) ? 'passed' : 'held'} ${String(message)}`);
  await bench.startProxy({
    [path]: { onPassed: (message) => note(Buffer.from(message)) },
    [other]: { onRequest: (message) => (events.push('next request'), message) },
  });
  const client = bench.client();
  expect((await client.run(path, [])).messages.map(String)).toEqual(['one', 'two']);
  await client.run(other, [Buffer.from('x')]);
  expect(events).toEqual(['passed one', 'passed two', 'next request']);
});

test('a hook that fails on the answer is reported, and the answer passes', async () => {
  await bench.startRuntime({ [path]: echo });
  await bench.startProxy({
    [path]: {
      onResponse: () => Promise.reject(new Error('no')),
      onEnd: () => {
        throw new Error('no');
      },
    },
  });
  const { code, messages } = await bench.client().run(path, [Buffer.from('x')]);
  expect([code, messages.map(String)]).toEqual([0, ['x']]);
  expect(bench.faults).toMatchObject([
    { what: 'onResponse failed', path },
    { what: 'onEnd failed', path },
  ]);
});

test('an onPassed that fails is reported', async () => {
  await bench.startRuntime({ [path]: echo });
  const onPassed = (): never => {
    throw new Error('no');
  };
  await bench.startProxy({ [path]: { onPassed } });
  const { code, messages } = await bench.client().run(path, [Buffer.from('x')]);
  expect([code, messages.map(String)]).toEqual([0, ['x']]);
  expect(bench.faults).toMatchObject([{ what: 'onPassed failed', path }]);
});

test('an answer of many frames passes while it is put together for the hook', async () => {
  const lengths: number[] = [];
  await bench.startRuntime({ [path]: unary(() => Buffer.alloc(7_000_000, 3)) });
  await bench.startProxy({ [path]: { onResponse: (message) => void lengths.push(message.length) } });
  const { messages } = await bench.client().run(path, [Buffer.from('x')]);
  expect([messages[0]!.length, lengths]).toEqual([7_000_000, [7_000_000]]);
});

test('an answer longer than the limit is forwarded unread', async () => {
  await bench.startRuntime({ [path]: unary(() => Buffer.alloc(50_000)) });
  await bench.startProxy(
    { [path]: { onResponse: () => bench.faults.push('seen') as never } },
    { maxMessageBytes: 40_000 },
  );
  expect((await bench.client().run(path, [Buffer.from('x')])).messages[0]).toHaveLength(50_000);
  expect(bench.faults).toEqual([{ what: 'an answer of 50000 bytes passes unread', path, err: undefined }]);
});

test('a request longer than allowed is refused before all of it has come, and others go on', async () => {
  await bench.startRuntime({ [path]: echo, [other]: echo });
  const proxy = await bench.startProxy({ [path]: { onRequest: (message) => message } }, { maxMessageBytes: 100_000 });
  const client = bench.client();
  for (let round = 0; round < 5; round++) {
    const { code, details } = await client.run(path, [Buffer.alloc(3_000_000)]);
    expect([code, details]).toEqual([8, 'cpusetd: the request has 3000000 bytes, 100000 are allowed']);
  }
  expect((await client.run(path, [Buffer.alloc(100_000)])).code).toBe(0);
  expect((await client.run(other, [Buffer.alloc(3_000_000)])).messages[0]).toHaveLength(3_000_000);
  expect(proxy.stats).toMatchObject({ heldBytes: 0, callsInFlight: 0 });
});

test('the memory of all held requests together is bounded', async () => {
  await bench.startRuntime({ [path]: echo });
  const release: (() => void)[] = [];
  const proxy = await bench.startProxy(
    { [path]: { onRequest: (message) => new Promise((resolve) => release.push(() => resolve(message))) } },
    { maxHeldBytes: 250_000 },
  );
  const client = bench.client();
  const first = [client.run(path, [Buffer.alloc(100_000, 1)]), client.run(path, [Buffer.alloc(100_000, 2)])];
  await waitUntil(() => release.length === 2);
  const { code, trailer } = await client.run(path, [Buffer.alloc(100_000, 3)]);
  expect(code).toBe(8);
  expect(String((trailer['grpc-status-details-bin'] as [Buffer])[0])).toContain('TOO_MUCH_IN_FLIGHT');
  for (const each of release) each();
  expect((await Promise.all(first)).map((outcome) => outcome.messages[0]?.length)).toEqual([100_000, 100_000]);
  expect(proxy.stats.heldBytes).toBe(0);
});

test('calls without interceptor go on while others wait for a decision with much data', async () => {
  await bench.startRuntime({ [path]: echo, [other]: echo });
  const release: (() => void)[] = [];
  await bench.startProxy({
    [path]: { onRequest: (message) => new Promise((resolve) => release.push(() => resolve(message))) },
  });
  const client = bench.client();
  const waiting = Array.from({ length: 60 }, () => client.run(path, [Buffer.alloc(20_000, 1)]));
  await waitUntil(() => release.length === 60);
  expect((await client.run(other, [Buffer.alloc(1_000_000, 2)])).messages[0]).toHaveLength(1_000_000);
  for (const each of release) each();
  for (const { messages, code } of await Promise.all(waiting)) expect([code, messages[0]?.length]).toEqual([0, 20_000]);
});

test.each<[string, Interceptor, boolean]>([
  ['while the decision is open', { onRequest: () => new Promise(() => undefined) }, false],
  ['while the runtime works', { onRequest: (message) => message }, true],
])('a caller that gives up %s aborts the signal and ends the call once', async (_name, interceptor, forwarded) => {
  const ends: CallEnd[] = [];
  let call: CallContext | undefined;
  let atRuntime: grpc.ServerDuplexStream<Buffer, Buffer> | undefined;
  await bench.startRuntime({ [path]: (each) => void (atRuntime = each) });
  const proxy = await bench.startProxy({
    [path]: {
      onRequest: (message, context) => {
        call = context;
        return interceptor.onRequest!(message, context);
      },
      onEnd: (end) => void ends.push(end),
    },
  });
  const open = bench.client().open(path);
  const outcome = collect(open);
  open.write(Buffer.from('x'));
  open.end();
  await waitUntil(() => call !== undefined && atRuntime !== undefined);
  open.cancel();
  await waitUntil(() => call!.signal.aborted && atRuntime!.cancelled);
  expect((await outcome).code).toBe(1);
  expect(ends).toEqual([{ origin: 'caller', status: { code: 1, message: 'cancelled by the caller' }, forwarded }]);
  expect(proxy.stats).toMatchObject({ heldBytes: 0, callsInFlight: 0 });
});

test('a deadline that passes while the decision is open ends the call', async () => {
  const ends: CallEnd[] = [];
  let hasCome = false;
  await bench.startRuntime({ [path]: () => undefined });
  const proxy = await bench.startProxy({
    [path]: {
      onRequest: () => {
        hasCome = true;
        return new Promise(() => undefined);
      },
      onEnd: (end) => void ends.push(end),
    },
  });
  // On a busy machine the deadline may pass before the call has left the client: then it gets more time.
  const client = bench.client();
  for (let patienceMs = 100; !hasCome; patienceMs *= 4) {
    const { code } = await client.run(path, [Buffer.from('x')], undefined, { deadline: Date.now() + patienceMs });
    expect(code).toBe(4);
  }
  await waitUntil(() => ends.length === 1);
  expect(ends[0]!.forwarded).toBe(false);
  expect(proxy.stats).toMatchObject({ heldBytes: 0, callsInFlight: 0 });
});

test.each([
  ['no message', []],
  ['two messages', [Buffer.from('a'), Buffer.from('b')]],
])('an intercepted request of %s is refused', async (_name, requests) => {
  await bench.startRuntime({ [path]: echo });
  await bench.startProxy({ [path]: { onRequest: (message) => message } });
  const { code, details } = await bench.client().run(path, requests);
  expect([code, details]).toEqual([13, 'cpusetd: the request is not exactly one message']);
});

test('a compressed request is inflated for the hook; unchanged it passes as it came', async () => {
  const plain = Buffer.from('a'.repeat(5000));
  await bench.startRuntime({ [path]: unary((request) => Buffer.from(String(request.equals(plain)))) });
  const seen: string[] = [];
  await bench.startProxy({ [path]: { onRequest: (message) => (seen.push(Buffer.from(message).toString()), message) } });
  // Of the library's two enumerations of algorithms the option's type wants the one that is not exported.
  const options: grpc.ChannelOptions = JSON.parse('{"grpc.default_compression_algorithm":2}');
  const client = new grpc.Client(`unix:${bench.proxyPath}`, grpc.credentials.createInsecure(), options);
  bench.onClose(() => client.close());
  const identity = (bytes: Buffer): Buffer => bytes;
  const answer = await new Promise<string>((resolve, reject) =>
    client.makeUnaryRequest(path, identity, identity, plain, (err, value) =>
      err ? reject(err) : resolve(String(value)),
    ),
  );
  expect([answer, seen]).toEqual(['true', [plain.toString()]]);
  expect(gzipSync(plain).length).toBeLessThan(100); // compression has an effect
});

test('a fault in forwarding a decided request ends only that call of the connection', async () => {
  await bench.startRuntime({ [path]: echo, [other]: echo });
  const broken = Promise.resolve(undefined as unknown as Buffer); // no verdict: a fault of the interceptor
  const proxy = await bench.startProxy({ [path]: { onRequest: () => broken } });
  const client = bench.client();
  expect((await client.run(path, [Buffer.from('x')])).code).toBe(grpc.status.INTERNAL);
  expect((await client.run(other, [Buffer.from('y')])).messages.map(String)).toEqual(['y']);
  expect(proxy.stats).toMatchObject({ connections: 1, heldBytes: 0, callsInFlight: 0 });
});
