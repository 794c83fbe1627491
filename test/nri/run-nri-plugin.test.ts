import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { runNriPlugin, StatusCode, TtrpcError, type NriPlugin, type NriPluginOptions } from '../../src/nri';
import { NriRuntime, type NriRuntimeOptions } from '../support/nri-runtime';
import { UNKNOWN_CONTAINER_ID } from '../support/nri-runtime-peer';
import { waitUntil } from '../support/wait-until';

// Typed handlers over a real socket. The connection itself is tested in serve-nri.test.ts.

let folder: string;
let stopping: AbortController;
let plugin: NriPlugin | undefined;
let runtime: NriRuntime | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nri-'));
  stopping = new AbortController();
});
afterEach(async () => {
  stopping.abort();
  await plugin?.ended;
  await runtime?.close();
  plugin = runtime = undefined;
  rmSync(folder, { recursive: true });
});

function start(options: Partial<NriPluginOptions>): NriPlugin {
  plugin = runNriPlugin({
    name: 'typed',
    index: '10',
    socketPath: join(folder, 'nri.sock'),
    signal: stopping.signal,
    handlers: {},
    ...options,
  });
  return plugin;
}

async function listen(options: Partial<NriRuntimeOptions> = {}): Promise<NriRuntime> {
  runtime = await NriRuntime.listen({ socketPath: join(folder, 'nri.sock'), ...options });
  return runtime;
}

describe('the environment of a plugin that the runtime starts', () => {
  const before = process.env;
  beforeEach(() => (process.env = { ...before }));
  afterEach(() => (process.env = before));

  test('given NRI_PLUGIN_NAME and NRI_PLUGIN_IDX, then the plugin registers with them', async () => {
    Object.assign(process.env, { NRI_PLUGIN_NAME: 'from-env', NRI_PLUGIN_IDX: '42' });
    const connected = (await listen()).plugin();
    start({ name: undefined, index: undefined });
    expect(await connected).toMatchObject({ pluginName: 'from-env', pluginIndex: '42' });
  });

  test('given options as well, then they win', async () => {
    Object.assign(process.env, { NRI_PLUGIN_NAME: 'from-env', NRI_PLUGIN_IDX: '42', NRI_PLUGIN_SOCKET: '999' });
    const connected = (await listen()).plugin();
    start({});
    expect(await connected).toMatchObject({ pluginName: 'typed', pluginIndex: '10' });
  });

  test.each`
    missing    | options
    ${'name'}  | ${{ name: undefined }}
    ${'index'} | ${{ index: undefined }}
    ${'name'}  | ${{ name: '' }}
  `('given no $missing in options and environment, then it throws TypeError', ({ options }) => {
    expect(() => start(options as Partial<NriPluginOptions>)).toThrow(TypeError);
  });

  test.each(['socket', '-1', '3.5', '1e3', '99999999999'])(
    'given NRI_PLUGIN_SOCKET=%s, then it throws TypeError that names the value',
    (value) => {
      process.env['NRI_PLUGIN_SOCKET'] = value;
      expect(() => start({ socketPath: undefined })).toThrow(new RegExp(`NRI_PLUGIN_SOCKET is "${value}"`));
    },
  );

  test('given a file descriptor that is not open, then the plugin ends and the state says why', async () => {
    process.env['NRI_PLUGIN_SOCKET'] = '9999';
    const reasons: string[] = [];
    await start({ socketPath: undefined, onState: ({ reason }) => reasons.push(reason) }).ended;
    expect(reasons.at(-1)).toMatch(/file descriptor 9999/);
  });
});

test('given a configuration, then configure gets it with the runtime before synchronize gets the list', async () => {
  const calls: unknown[] = [];
  const listening = await listen({ config: 'verbose: true', requestTimeoutMs: 1500, version: '2.3.4' });
  start({
    handlers: {
      configure: ({ config, runtime: { name, requestTimeoutMs } }) =>
        void calls.push(['configure', config, name, requestTimeoutMs]),
      synchronize: ({ pods, containers }) => void calls.push(['synchronize', pods.length, containers.length]),
    },
  });
  await listening.plugin();
  expect(calls).toEqual([
    ['configure', 'verbose: true', 'containerd', 1500],
    ['synchronize', 0, 0],
  ]);
});

test('given a configure that throws, then the plugin is not synchronized and the log says why', async () => {
  const errors: object[] = [];
  const silent = () => undefined;
  await listen();
  start({
    handlers: { configure: () => Promise.reject(new Error('bad configuration')) },
    log: { debug: silent, info: silent, warn: silent, error: (fields) => errors.push(fields) },
  });
  await waitUntil('the error to be logged', () => errors.length > 0);
  expect(errors[0]).toMatchObject({ err: new Error('bad configuration'), method: 'Configure' });
});

test('given containers that run, then synchronize gets them all, and its updates reach the runtime', async () => {
  const former = await listen({});
  const app = await former.createContainer(await former.runPod({ name: 'web' }), { name: 'app' });
  await former.close();
  const listening = await listen({ maxListed: 1 });
  listening.adopt(former);
  start({
    handlers: {
      synchronize: ({ containers }) =>
        containers.map(({ id }) => ({ containerId: id, linux: { resources: { cpu: { cpus: '3' } } } })),
    },
  });
  await listening.plugin();
  expect(listening.cpusOf(app)).toBe('3');
});

test('given Shutdown, then the handler is called, and the plugin stays until the connection ends', async () => {
  let calls = 0;
  const listening = await listen();
  start({ handlers: { shutdown: () => (calls += 1) } });
  const peer = await listening.plugin();
  expect(await peer.request('Shutdown', new Uint8Array(0))).toHaveLength(0);
  expect([calls, peer.isUsable]).toEqual([1, true]);
});

test('given handlers that are methods of an object, then `this` is the object', async () => {
  class Counter {
    readonly calls: string[] = [];
    configure(): void {
      this.calls.push('configure');
    }
    synchronize(): void {
      this.calls.push('synchronize');
    }
    runPodSandbox(): void {
      this.calls.push('runPodSandbox');
    }
    shutdown(): void {
      this.calls.push('shutdown');
    }
  }
  const handlers = new Counter();
  const listening = await listen();
  start({ handlers });
  const peer = await listening.plugin();
  await listening.runPod({ name: 'web' });
  await peer.request('Shutdown', new Uint8Array(0));
  expect(handlers.calls).toEqual(['configure', 'synchronize', 'runPodSandbox', 'shutdown']);
});

test('given a handler that throws TtrpcError, then the creation fails with its code and text', async () => {
  const listening = await listen();
  start({
    handlers: {
      createContainer: () => {
        throw new TtrpcError(StatusCode.FAILED_PRECONDITION, 'not on this node');
      },
    },
  });
  await listening.plugin();
  const creation = listening.createContainer(await listening.runPod({ name: 'web' }), { name: 'app' });
  await expect(creation).rejects.toMatchObject({ code: StatusCode.FAILED_PRECONDITION, message: 'not on this node' });
});

describe('updateContainers', () => {
  test('given updates and evictions, then the runtime gets them, and the failed ones come back', async () => {
    const listening = await listen();
    const running = start({});
    const peer = await listening.plugin();
    const update = ['known', UNKNOWN_CONTAINER_ID].map((containerId) => ({
      containerId,
      linux: { resources: { cpu: { cpus: '1' } } },
    }));
    const failed = await running.updateContainers(update, [{ containerId: 'full', reason: 'no memory' }]);
    expect(failed.map(({ containerId }) => containerId)).toEqual([UNKNOWN_CONTAINER_ID]);
    expect(peer.unsolicited).toMatchObject([{ update, evict: [{ containerId: 'full', reason: 'no memory' }] }]);
  });

  test('given no connection, then it rejects with UNAVAILABLE and the reason', async () => {
    const call = start({}).updateContainers([]);
    await expect(call).rejects.toMatchObject({ code: StatusCode.UNAVAILABLE });
    await expect(call).rejects.toThrow(TtrpcError);
  });

  test('given more than 4 MiB, then it rejects with RESOURCE_EXHAUSTED, and the connection lives on', async () => {
    const listening = await listen();
    const running = start({});
    const peer = await listening.plugin();
    const call = running.updateContainers([{ containerId: 'x'.repeat(4 << 20) }]);
    await expect(call).rejects.toMatchObject({ code: StatusCode.RESOURCE_EXHAUSTED });
    expect(await running.updateContainers([])).toEqual([]);
    expect(peer.isUsable).toBe(true);
  });
});

test('given an answer above 4 MiB, then the request fails with RESOURCE_EXHAUSTED, and the connection lives on', async () => {
  const listening = await listen();
  let value = 'x'.repeat(4 << 20);
  start({ handlers: { createContainer: () => ({ adjust: { env: [{ key: 'LONG', value }] } }) } });
  const peer = await listening.plugin();
  const pod = await listening.runPod({ name: 'web' });
  const creation = listening.createContainer(pod, { name: 'app' });
  await expect(creation).rejects.toMatchObject({ code: StatusCode.RESOURCE_EXHAUSTED });
  value = 'short';
  await listening.createContainer(pod, { name: 'app' });
  expect(peer.isUsable).toBe(true);
});
