import type * as grpc from '@grpc/grpc-js';
import { existsSync, renameSync } from 'node:fs';
import { connect } from 'node:net';
import type { CallEnd } from '../../../src/cri/proxy';
import { Bench, collect, type Handler } from './harness';
import { waitUntil } from '../../support/wait-until';

const path = '/runtime.v1.RuntimeService/CreateContainer';
const quick = '/runtime.v1.RuntimeService/Version';
const events = '/runtime.v1.RuntimeService/GetContainerEvents';
const echo: Handler = (call) => {
  call.on('data', (message: Buffer) => call.write(message));
  call.on('end', () => call.end());
};

let bench: Bench;
beforeEach(() => (bench = new Bench()));
afterEach(() => bench.close());

test('calls in flight end by themselves, endless ones are ended, new ones are not taken', async () => {
  let open: grpc.ServerDuplexStream<Buffer, Buffer> | undefined;
  await bench.startRuntime({
    [path]: (call) => void (open = call),
    [quick]: echo,
    [events]: (call) => void call.write(Buffer.from('event')),
  });
  const proxy = await bench.startProxy({ [path]: { onRequest: (message) => message } });
  const client = bench.client();
  const inFlight = client.run(path, [Buffer.from('x')]);
  const stream = client.open(events);
  const streamEnd = collect(stream);
  stream.end();
  await new Promise((resolve) => stream.once('data', resolve));
  await waitUntil(() => open !== undefined);

  const drained = proxy.drain({ timeoutMs: 10_000 });
  expect(existsSync(bench.proxyPath)).toBe(false);
  expect(await streamEnd).toMatchObject({ code: 14, details: 'cpusetd: the proxy is stopping' });
  open!.write(Buffer.from('done'));
  open!.end();
  expect(await inFlight).toMatchObject({ code: 0, messages: [Buffer.from('done')] });
  expect(await drained).toBe(0);
});

test('no call is lost when the proxy is replaced under load', async () => {
  await bench.startRuntime({ [quick]: echo });
  const clients = [bench.client(), bench.client()];
  let isOver = false;
  const codes: number[] = [];
  let proxy = await bench.startProxy();
  const workers = clients.flatMap((client) =>
    Array.from({ length: 8 }, async () => {
      while (!isOver) codes.push((await client.run(quick, [Buffer.from('x')], undefined, {})).code);
    }),
  );
  for (let round = 0; round < 5; round++) {
    const before = codes.length;
    await waitUntil(() => codes.length > before + 50);
    const old = proxy;
    // The new proxy takes over the path while the old one still serves: it renames a socket file of its own.
    proxy = await replaceProxy(old);
  }
  isOver = true;
  await Promise.all(workers);
  expect(codes.filter((code) => code !== 0)).toEqual([]);

  async function replaceProxy(old: typeof proxy): Promise<typeof proxy> {
    const next = await bench.startProxy({}, { listen: { path: `${bench.proxyPath}.next` } });
    renameSync(`${bench.proxyPath}.next`, bench.proxyPath);
    expect(await old.drain({ timeoutMs: 10_000 })).toBe(0);
    return next;
  }
});

test('a call that does not end by itself is answered UNAVAILABLE at the timeout', async () => {
  const ends: CallEnd[] = [];
  let atRuntime: grpc.ServerDuplexStream<Buffer, Buffer> | undefined;
  await bench.startRuntime({ [path]: (call) => void (atRuntime = call) });
  const proxy = await bench.startProxy({
    [path]: { onRequest: (message) => message, onEnd: (end) => void ends.push(end) },
  });
  const outcome = bench.client().run(path, [Buffer.from('x')]);
  await waitUntil(() => atRuntime !== undefined);
  expect(await proxy.drain({ timeoutMs: 50 })).toBe(1);
  expect(await outcome).toMatchObject({ code: 14, details: 'cpusetd: the proxy is stopping' });
  expect(ends).toEqual([{ origin: 'proxy', status: { code: 14, message: 'the proxy is stopping' }, forwarded: true }]);
});

test('a connection without any data does not delay a drain', async () => {
  await bench.startRuntime({ [path]: echo });
  const proxy = await bench.startProxy();
  const idle = connect(bench.proxyPath).resume();
  const closed = new Promise((resolve) => idle.once('close', resolve));
  idle.on('error', () => undefined);
  await waitUntil(() => proxy.stats.connections === 1);
  expect(await proxy.drain({ timeoutMs: 60_000 })).toBe(0);
  await closed;
});

test('a drain without a runtime closes at once', async () => {
  const proxy = await bench.startProxy();
  expect((await bench.client().run(path, [Buffer.from('x')])).code).toBe(14);
  expect(await proxy.drain({ timeoutMs: 60_000 })).toBe(0);
  expect(await proxy.drain({ timeoutMs: 60_000 })).toBe(0);
});
