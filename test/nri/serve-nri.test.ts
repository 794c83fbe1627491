import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';

import { parseCpuList } from '../../src/core/cpuset';
import type { RuntimeAnswer, RuntimeEvent } from '../../src/core/model/events';
import { serveNri, type PluginState, type ServeOptions } from '../../src/nri';
import { createCpuPlugin } from '../../src/nri-events';
import { NriRuntime, type NriRuntimeOptions } from '../support/nri-runtime';
import { waitUntil } from '../support/wait-until';

type Answer = (event: RuntimeEvent) => RuntimeAnswer | Promise<RuntimeAnswer>;
const ok: Answer = () => ({ kind: 'ok' });

/** One plugin that records its events, and the folder of its runtime's socket. */
class Fixture {
  readonly folder = mkdtempSync(join(tmpdir(), 'nri-'));
  readonly socketPath = join(this.folder, 'nri.sock');
  readonly events: RuntimeEvent[] = [];
  readonly states: PluginState[] = [];
  readonly logged: Record<string, unknown>[] = [];
  answer: Answer = ok;
  private readonly stopping = new AbortController();
  private readonly runtimes: NriRuntime[] = [];
  private readonly watchers = new Set<() => void>();
  private ended: Promise<void> = Promise.resolve();

  async listen(options: Partial<NriRuntimeOptions> = {}): Promise<NriRuntime> {
    const runtime = await NriRuntime.listen({ socketPath: this.socketPath, ...options });
    this.runtimes.push(runtime);
    return runtime;
  }

  start(
    options: Partial<
      Pick<ServeOptions, 'name' | 'index' | 'socketPath' | 'synchronizeWithinMs' | 'failurePolicy'>
    > = {},
  ): void {
    const log = pino({ level: 'debug' }, { write: (line: string) => this.logged.push(JSON.parse(line)) });
    this.ended = serveNri({
      socketPath: this.socketPath,
      name: 'cpusetd',
      index: '50',
      settings: { socketPath: '--nri-socket', name: '--nri-plugin-name', index: '--nri-plugin-index' },
      ...options,
      plugin: createCpuPlugin(
        {
          onEvent: (event) => {
            this.events.push(event);
            this.notifyWatchers();
            return this.answer(event);
          },
        },
        log,
      ),
      log,
      signal: this.stopping.signal,
      onState: (state) => {
        this.states.push(state);
        this.notifyWatchers();
      },
    }).ended;
  }

  async startWith(options: Partial<NriRuntimeOptions> = {}): Promise<NriRuntime> {
    const runtime = await this.listen(options);
    this.start();
    await runtime.plugin();
    return runtime;
  }

  /** Resolves as soon as the condition holds; it is checked at each event and each state. */
  async until(condition: () => boolean): Promise<void> {
    await new Promise<void>((resolve) => {
      const check = () => {
        if (!condition()) return;
        this.watchers.delete(check);
        resolve();
      };
      this.watchers.add(check);
      check();
    });
  }

  async untilReason(pattern: RegExp): Promise<PluginState> {
    await this.until(() => this.states.some(({ reason }) => pattern.test(reason)));
    return this.states.find(({ reason }) => pattern.test(reason))!;
  }

  countPhase(phase: PluginState['phase']): number {
    return this.states.filter((state) => state.phase === phase).length;
  }

  kinds(): string[] {
    return this.events.map(({ kind }) => kind);
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.ended;
  }

  async close(): Promise<void> {
    await this.stop();
    for (const runtime of this.runtimes) await runtime.close().catch(() => undefined);
    rmSync(this.folder, { recursive: true });
  }

  private notifyWatchers(): void {
    for (const check of [...this.watchers]) check();
  }
}

let fixture: Fixture;
beforeEach(() => (fixture = new Fixture()));
afterEach(() => fixture.close());

const isAbout =
  (kind: RuntimeEvent['kind']) =>
  (event: RuntimeEvent): boolean =>
    event.kind === kind;

describe('a session', () => {
  test.each`
    release                           | hasDedicatedMethods | request
    ${'sends events as StateChange'}  | ${false}            | ${'StateChange POST_START_CONTAINER'}
    ${'has a method for every event'} | ${true}             | ${'PostStartContainer'}
  `('reads the life of a pod alike from a runtime that $release', async ({ hasDedicatedMethods, request }) => {
    const runtime = await fixture.startWith({ hasDedicatedMethods });
    const pod = await runtime.runPod({ name: 'web' });
    const app = await runtime.createContainer(pod, { name: 'app', milliCpu: 2000 });
    await runtime.startContainer(app);
    await runtime.updateContainer(app, { shares: 512n });
    await runtime.removePod(pod);
    expect(fixture.kinds()).toEqual([
      'synchronize',
      'pod-started',
      'create-container',
      'container-created',
      'container-starting',
      'container-started',
      'update-container',
      'container-updated',
      'container-stopped',
      'pod-stopped',
      'container-removed',
      'pod-removed',
    ]);
    expect((await runtime.plugin()).requests).toContain(request);
  });

  test('subscribes to the eleven events that every release knows', async () => {
    const runtime = await fixture.startWith();
    expect((await runtime.plugin()).events).toBe(0x7ff);
  });

  test.each([
    ['none', undefined],
    ['both', { failRequest: true, keepConnected: true }],
    ['one', { failRequest: true, keepConnected: false }],
  ])('sends its failure policy: %s', async (_what, failurePolicy) => {
    const runtime = await fixture.listen();
    fixture.start({ failurePolicy });
    expect((await runtime.plugin()).failurePolicy).toEqual(failurePolicy);
  });

  test('reports its phase, the reason and the runtime', async () => {
    await fixture.startWith({ version: '2.2.7', nriVersion: 'v0.11.0', requestTimeoutMs: 1500 });
    expect(fixture.states.map(({ phase }) => phase).filter((phase, i, all) => phase !== all[i - 1])).toEqual([
      'connecting',
      'registered',
      'synchronized',
    ]);
    expect(fixture.states.at(-1)).toMatchObject({
      phase: 'synchronized',
      reason: expect.stringContaining('every container'),
      runtime: { name: 'containerd', version: '2.2.7', nriVersion: 'v0.11.0', requestTimeoutMs: 1500 },
    });
  });

  test('has the default timeout when the runtime announces none', async () => {
    await fixture.startWith({ version: '1.7.24', nriVersion: undefined });
    expect(fixture.states.at(-1)!.runtime).toEqual({ name: 'containerd', version: '1.7.24', requestTimeoutMs: 2000 });
  });

  test('works when the runtime configures it before it answers the registration', async () => {
    const runtime = await fixture.startWith({ configuresFirst: true });
    await runtime.runPod({ name: 'web' });
    expect(fixture.kinds()).toEqual(['synchronize', 'pod-started']);
    await fixture.until(() => fixture.states.at(-1)!.phase === 'synchronized');
  });

  test.each`
    what        | method                | service
    ${'method'} | ${'UpdatePodSandbox'} | ${'Plugin'}
    ${'method'} | ${'configure'}        | ${'Plugin'}
    ${'method'} | ${'constructor'}      | ${'Plugin'}
  `('answers the unknown $what $method with UNIMPLEMENTED', async ({ method }) => {
    const runtime = await fixture.startWith();
    const call = (await runtime.plugin()).request(method, new Uint8Array(0));
    await expect(call).rejects.toMatchObject({ code: 12 });
    await runtime.runPod({ name: 'still served' });
  });

  test('answers an invalid message with INVALID_ARGUMENT, and stays open', async () => {
    const runtime = await fixture.startWith();
    const call = (await runtime.plugin()).request('CreateContainer', Uint8Array.of(0x0a, 0x09));
    await expect(call).rejects.toMatchObject({ code: 3 });
    await runtime.runPod({ name: 'still served' });
    expect(fixture.kinds()).toContain('pod-started');
  });

  test('answers Shutdown, and stays until the connection ends', async () => {
    const runtime = await fixture.startWith();
    await expect((await runtime.plugin()).request('Shutdown', new Uint8Array(0))).resolves.toHaveLength(0);
    expect(fixture.logged.map(({ msg }) => msg)).toContain('the runtime announced its shutdown');
  });
});

describe('Synchronize', () => {
  test.each([1, 2, 3, 1000])('in pieces of at most %d is one event with all containers', async (maxListed) => {
    const first = await fixture.listen();
    for (const name of ['a', 'b']) {
      const pod = await first.runPod({ name });
      for (const each of ['x', 'y', 'z']) await first.createContainer(pod, { name: each });
    }
    await first.close();
    const runtime = await fixture.listen({ maxListed });
    runtime.adopt(first);
    fixture.start();
    await runtime.plugin();
    expect(fixture.events).toHaveLength(1);
    expect(fixture.events[0]).toMatchObject({
      kind: 'synchronize',
      pods: [{ name: 'a' }, { name: 'b' }],
      containers: ['x', 'y', 'z', 'x', 'y', 'z'].map((name) => ({ name, phase: 'created' })),
    });
  });

  test('brings every container back to its CPUs', async () => {
    const first = await fixture.listen();
    const app = await first.createContainer(await first.runPod({ name: 'web' }), { name: 'app' });
    await first.close();
    const runtime = await fixture.listen({ maxListed: 1 });
    runtime.adopt(first);
    fixture.answer = () => ({ kind: 'ok', updates: [{ containerId: app.id, cpus: parseCpuList('2-3') }] });
    fixture.start();
    await runtime.plugin();
    expect(runtime.cpusOf(app)).toBe('2-3');
  });

  test('that is missing, since it is too long for the runtime, is requested again until it comes, and the log says why', async () => {
    let annotationsAreLong = true;
    const runtime = await fixture.listen({
      keepsLatePlugins: true,
      nriVersion: undefined,
      cannotSynchronize: () => annotationsAreLong,
    });
    fixture.start({ synchronizeWithinMs: 100 });
    await fixture.untilReason(/has not sent its containers.*message too long/);
    expect(fixture.countPhase('synchronized')).toBe(0);
    annotationsAreLong = false;
    await runtime.plugin();
    await runtime.runPod({ name: 'web' });
    expect(fixture.kinds()).toEqual(['synchronize', 'pod-started']);
  });

  test('that was answered too late is repeated on a new connection, although the runtime keeps the old one', async () => {
    const runtime = await fixture.listen({ keepsLatePlugins: true, requestTimeoutMs: 500, nriVersion: undefined });
    let isLate = true;
    const { promise, resolve } = withResolvers<RuntimeAnswer>();
    fixture.answer = (event) => {
      if (!isAbout('synchronize')(event) || !isLate) return { kind: 'ok' };
      isLate = false;
      return promise;
    };
    fixture.start();
    await fixture.until(() => fixture.events.length === 1);
    runtime.grant(60_000); // the next one has enough time, also on a busy machine
    await waitMs(700);
    resolve({ kind: 'ok' });
    await fixture.untilReason(/Synchronize came too late/);
    await fixture.until(() => fixture.countPhase('synchronized') > 0);
    await runtime.runPod({ name: 'web' });
    expect(fixture.kinds()).toEqual(['synchronize', 'synchronize', 'pod-started']);
  });

  test.each`
    how           | failing
    ${'refused'}  | ${() => ({ kind: 'refuse', code: 'INTERNAL', message: 'no' })}
    ${'failed'} | ${() => {
      throw new Error('a bug');
    }}
    ${'rejected'} | ${() => Promise.reject(new Error('a bug'))}
  `('that cpusetd $how ends the connection, and is tried again', async ({ failing }) => {
    await fixture.listen();
    fixture.answer = () => (fixture.events.length === 1 ? failing() : { kind: 'ok' });
    fixture.start();
    await fixture.untilReason(/synchronizing with the runtime failed/);
    await fixture.until(() => fixture.countPhase('synchronized') > 0);
    expect(fixture.kinds()).toEqual(['synchronize', 'synchronize']);
  });
});

test('Synchronize that is answered when its connection has ended synchronizes nothing', async () => {
  const runtime = await fixture.listen();
  const { promise, resolve } = withResolvers<RuntimeAnswer>();
  fixture.answer = () => promise;
  fixture.start();
  await fixture.until(() => fixture.events.length === 1);
  await runtime.close();
  await fixture.until(() => fixture.states.at(-1)!.phase === 'disconnected');
  resolve({ kind: 'ok' });
  await fixture.untilReason(/no socket at/);
  expect(fixture.countPhase('synchronized')).toBe(0);
});

describe('an answer', () => {
  test('pins the container and moves others, at once or by a promise', async () => {
    const runtime = await fixture.startWith();
    const pod = await runtime.runPod({ name: 'web' });
    const shared = await runtime.createContainer(pod, { name: 'shared' });
    const updates = [{ containerId: shared.id, cpus: parseCpuList('0') }];
    fixture.answer = () => ({ kind: 'ok', adjust: { cpus: parseCpuList('1') }, updates });
    expect(runtime.cpusOf(await runtime.createContainer(pod, { name: 'a' }))).toBe('1');
    expect(runtime.cpusOf(shared)).toBe('0');
    fixture.answer = async () => ({ kind: 'ok', adjust: { cpus: parseCpuList('2') } });
    expect(runtime.cpusOf(await runtime.createContainer(pod, { name: 'b' }))).toBe('2');
  });

  test('replaces the cpuset of a later update by the kubelet', async () => {
    const runtime = await fixture.startWith();
    const app = await runtime.createContainer(await runtime.runPod({ name: 'web' }), { name: 'app' });
    fixture.answer = () => ({ kind: 'ok', adjust: { cpus: parseCpuList('1') } });
    await runtime.updateContainer(app, { cpus: '0-1', shares: 512n });
    expect(app.linux!.resources!.cpu).toMatchObject({ cpus: '1', shares: { value: 512n } });
  });

  test('gives CPUs to others when a container has ended', async () => {
    const runtime = await fixture.startWith();
    const pod = await runtime.runPod({ name: 'web' });
    const [a, b] = [
      await runtime.createContainer(pod, { name: 'a' }),
      await runtime.createContainer(pod, { name: 'b' }),
    ];
    fixture.answer = () => ({ kind: 'ok', updates: [{ containerId: b.id, cpus: parseCpuList('0-3') }] });
    await runtime.stopContainer(a);
    expect(runtime.cpusOf(b)).toBe('0-3');
  });

  test.each`
    code                     | number
    ${'RESOURCE_EXHAUSTED'}  | ${8}
    ${'FAILED_PRECONDITION'} | ${9}
    ${'UNAVAILABLE'}         | ${14}
    ${'INVALID_ARGUMENT'}    | ${3}
    ${'INTERNAL'}            | ${13}
  `('of $code fails the creation with its message, and the container ends', async ({ code, number }) => {
    const runtime = await fixture.startWith();
    const pod = await runtime.runPod({ name: 'web' });
    fixture.answer = (event) =>
      isAbout('create-container')(event) ? { kind: 'refuse', code, message: 'no CPUs left' } : { kind: 'ok' };
    const creation = runtime.createContainer(pod, { name: 'app' });
    await expect(creation).rejects.toMatchObject({ code: number, message: 'no CPUs left' });
    expect(fixture.kinds().slice(-3)).toEqual(['create-container', 'container-stopped', 'container-removed']);
  });

  test.each`
    how                     | failing
    ${'throws'} | ${() => {
      throw new Error('secret path');
    }}
    ${'rejects'}            | ${() => Promise.reject(new Error('secret path'))}
    ${'names an empty set'} | ${() => ({ kind: 'ok', adjust: { cpus: parseCpuList('') } })}
  `('of a handler that $how fails the creation without the reason', async ({ failing }) => {
    const runtime = await fixture.startWith();
    const pod = await runtime.runPod({ name: 'web' });
    fixture.answer = (event) => (isAbout('create-container')(event) ? failing() : { kind: 'ok' });
    const creation = runtime.createContainer(pod, { name: 'app' });
    await expect(creation).rejects.toMatchObject({ code: 13, message: 'internal error' });
    expect(fixture.logged).toContainEqual(
      expect.objectContaining({ msg: 'answering the runtime failed', method: 'CreateContainer' }),
    );
  });

  test('to an event without fields for its changes is sent without them, with a warning', async () => {
    const runtime = await fixture.startWith();
    fixture.answer = () => ({ kind: 'ok', adjust: { cpus: parseCpuList('1') } });
    await runtime.runPod({ name: 'web' });
    expect(fixture.logged).toContainEqual(expect.objectContaining({ level: 40, event: 'pod-started' }));
  });

  test('that takes most of the granted time is logged', async () => {
    const runtime = await fixture.startWith();
    runtime.grant(500);
    fixture.answer = async () => {
      await waitMs(450);
      return { kind: 'ok' };
    };
    await runtime.runPod({ name: 'web' });
    const findLine = () => fixture.logged.find(({ msg }) => String(msg).startsWith('an answer took most of the time'));
    await waitUntil(() => findLine() !== undefined); // on a busy machine the runtime gives it up before
    expect(findLine()).toMatchObject({
      level: 40,
      method: 'RunPodSandbox',
      tookMs: expect.any(Number),
      timeoutMs: expect.any(Number),
    });
  });

  test('that is too late ends the connection, and the next one is synchronized', async () => {
    const runtime = await fixture.startWith();
    const pod = await runtime.runPod({ name: 'web' });
    const dropped = new Promise<void>((resolve) =>
      runtime.once('dropped', () => {
        runtime.grant(60_000);
        resolve();
      }),
    );
    runtime.grant(50);
    fixture.answer = async (event) => {
      if (isAbout('create-container')(event)) await dropped;
      return { kind: 'ok', adjust: { cpus: parseCpuList('1') } };
    };
    const app = await runtime.createContainer(pod, { name: 'app' });
    expect(runtime.cpusOf(app)).toBe('');
    await fixture.until(() => fixture.countPhase('synchronized') === 2);
    expect(fixture.events.at(-1)).toMatchObject({ kind: 'synchronize', containers: [{ name: 'app', resources: {} }] });
  });
});

describe('the connection', () => {
  test('is made as soon as the socket exists', async () => {
    fixture.start();
    await fixture.untilReason(/no socket at .*nri\.sock.*enable it/);
    const runtime = await fixture.listen();
    await runtime.plugin();
  });

  test('is made again after a restart of the runtime, and the remaining containers are synchronized', async () => {
    const first = await fixture.startWith();
    const pod = await first.runPod({ name: 'web' });
    await first.createContainer(pod, { name: 'app' });
    await first.close();
    await fixture.until(() => fixture.states.at(-1)!.phase === 'disconnected');
    const second = await fixture.listen();
    second.adopt(first);
    await second.plugin();
    expect(fixture.events.at(-1)).toMatchObject({
      kind: 'synchronize',
      containers: [{ name: 'app', phase: 'created' }],
    });
    expect(fixture.states.at(-1)).toMatchObject({ phase: 'synchronized' });
  });

  test('reports the start of an outage over all attempts, and warns once', async () => {
    fixture.start();
    await fixture.until(() => fixture.countPhase('connecting') >= 3);
    const outage = fixture.states.map(({ sinceMs }) => sinceMs);
    expect(new Set(outage).size).toBe(1);
    const warnings = fixture.logged.filter(({ level }) => level === 40);
    expect(warnings).toHaveLength(1);
  });

  test('to a stale socket is tried until a runtime listens', async () => {
    const server = createServer();
    const other = join(fixture.folder, 'other.sock');
    await new Promise<void>((resolve) => server.listen(other, resolve));
    renameSync(other, fixture.socketPath);
    await new Promise((resolve) => server.close(resolve));
    fixture.start();
    await fixture.untilReason(/nobody listens at .*the runtime is down/);
    await (await fixture.listen()).plugin();
  });

  test('to something that is not a socket is explained', async () => {
    writeFileSync(fixture.socketPath, '');
    fixture.start();
    const { reason } = await fixture.untilReason(/is not a socket/);
    expect(reason).toContain(fixture.socketPath);
    expect(reason).toContain('--nri-socket');
  });

  test('by a path that is too long for a socket is explained', async () => {
    fixture.start({ socketPath: join(fixture.folder, 'x'.repeat(120)) });
    await fixture.untilReason(/too long.*107 bytes/);
  });

  test.each`
    what       | options                 | rule
    ${'index'} | ${{ index: '7' }}       | ${/refused the plugin "cpusetd" with index "7".*two digits.*--nri-plugin-index/}
    ${'name'}  | ${{ name: 'a plugin' }} | ${/refused the plugin "a plugin".*letters.*--nri-plugin-name/}
  `('is closed when the runtime refuses the $what', async ({ options, rule }) => {
    const runtime = await fixture.listen();
    const dropped = new Promise((resolve) => runtime.once('dropped', resolve));
    fixture.start(options);
    await fixture.untilReason(rule);
    await dropped;
    expect(fixture.countPhase('registered')).toBe(0);
  });

  test('is closed when cpusetd stops', async () => {
    const runtime = await fixture.startWith();
    const dropped = new Promise((resolve) => runtime.once('dropped', resolve));
    await fixture.stop();
    await dropped;
    expect(fixture.states.at(-1)).toMatchObject({ phase: 'disconnected', reason: 'cpusetd is stopping' });
  });

  test('stays open for a pending answer when cpusetd stops', async () => {
    const runtime = await fixture.startWith();
    const pod = await runtime.runPod({ name: 'web' });
    const { promise, resolve } = withResolvers<RuntimeAnswer>();
    fixture.answer = () => promise;
    const creation = runtime.createContainer(pod, { name: 'app' });
    await fixture.until(() => fixture.events.some(isAbout('create-container')));
    const stopped = fixture.stop();
    resolve({ kind: 'ok', adjust: { cpus: parseCpuList('1') } });
    await stopped;
    expect(runtime.cpusOf(await creation)).toBe('1');
  });

  test('is closed at the timeout of a pending answer when cpusetd stops', async () => {
    const runtime = await fixture.startWith({ requestTimeoutMs: 500 });
    fixture.answer = () => new Promise(() => undefined);
    await Promise.all([
      runtime.runPod({ name: 'web' }),
      fixture.until(() => fixture.events.some(isAbout('pod-started'))).then(() => fixture.stop()),
    ]);
    expect(fixture.states.at(-1)).toMatchObject({ phase: 'disconnected' });
  });
});

function withResolvers<T>() {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((settle) => (resolve = settle));
  return { promise, resolve };
}

/** Waits for real time: for tests of a deadline. */
function waitMs(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
