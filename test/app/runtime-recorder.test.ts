import { pino } from 'pino';
import { RuntimeRecorder } from '../../src/app/runtime-recorder';
import { NodeDriver } from '../core/transition/node-driver';

/** Updates that end when the test says so. */
class Runtime {
  /** Each as `id cpus`, in the order of their start. */
  readonly started: string[] = [];
  private readonly open = new Map<string, { resolve: () => void; reject: (error: Error) => void }>();

  readonly update = (id: string, promise: { readonly cpus: { toString(): string } }): Promise<void> => {
    this.started.push(`${id} ${promise.cpus.toString()}`);
    return new Promise((resolve, reject) => this.open.set(id, { resolve, reject }));
  };

  get underWay(): string[] {
    return [...this.open.keys()];
  }

  async end(id: string, error?: Error): Promise<void> {
    const call = this.open.get(id)!;
    this.open.delete(id);
    if (error) call.reject(error);
    else call.resolve();
    await jest.advanceTimersByTimeAsync(0);
  }
}

interface Stage {
  readonly node: NodeDriver;
  readonly runtime: Runtime;
  readonly recorder: RuntimeRecorder;
  readonly stop: AbortController;
  readonly logged: string[];
}

async function stageOf(history: string, concurrency?: number): Promise<Stage> {
  const node = new NodeDriver().run(history);
  const runtime = new Runtime();
  const stop = new AbortController();
  const logged: string[] = [];
  const recorder = new RuntimeRecorder({
    model: node.model,
    update: runtime.update,
    log: pino({ level: 'debug' }, { write: (line) => logged.push(line) }),
    signal: stop.signal,
    ...(concurrency !== undefined && { concurrency }),
  });
  recorder.wake();
  await settle();
  return { node, runtime, recorder, stop, logged };
}

/** Updates may be put off for a moment after a change, so that they do not compete with what follows it. */
async function settle(): Promise<void> {
  await jest.advanceTimersByTimeAsync(250);
}

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

const FAILURE = new Error('UNAVAILABLE');

test.each`
  name                                                       | history                                                  | started
  ${'a record that says what was promised is let alone'}     | ${'make q/s 0'}                                          | ${[]}
  ${'one that is behind is written'}                         | ${'make q/s 0; make p/a 2'}                              | ${['q/s#1 0,2-4,6-7']}
  ${'also of a container that has not started'}              | ${'create q/s 0; make p/a 2'}                            | ${['q/s#1 0,2-4,6-7']}
  ${'not of one that is being made'}                         | ${'ask q/s 0; make p/a 2'}                               | ${[]}
  ${'nor of one that is starting: the update would be lost'} | ${'create q/s 0; starting q/s; make p/a 2'}              | ${[]}
  ${'but when it runs'}                                      | ${'create q/s 0; starting q/s; make p/a 2; started q/s'} | ${['q/s#1 0,2-4,6-7']}
  ${'not of one that has ended'}                             | ${'make q/s 0; make p/a 2; end q/s'}                     | ${[]}
`('$name', async ({ history, started }: { history: string; started: string[] }) => {
  const { runtime, recorder } = await stageOf(history);
  expect(runtime.started).toEqual(started);
  expect(recorder.pending).toBe(started.length);
});

test('a record that was written is remembered, and not written again', async () => {
  const { node, runtime, recorder } = await stageOf('make q/s 0; make p/a 2');
  await runtime.end('q/s#1');
  expect(node.container('q/s')?.recorded?.cpus.toString()).toBe('0,2-4,6-7');
  recorder.wake();
  await settle();
  expect({ started: runtime.started.length, pending: recorder.pending }).toEqual({ started: 1, pending: 0 });
});

test('while one update of a container is under way no other is, and after it the last promise is written', async () => {
  const { node, runtime, recorder } = await stageOf('make q/s 0; make p/a 2');
  for (const step of ['make p/b 2', 'make p/c 1', 'end p/c; remove p', 'make r/d 3']) {
    node.run(step);
    recorder.wake();
    await settle();
  }
  expect(runtime.started).toEqual(['q/s#1 0,2-4,6-7']);
  await runtime.end('q/s#1');
  expect(runtime.started).toEqual(['q/s#1 0,2-4,6-7', `q/s#1 ${node.model.sharedPool.toString()}`]);
});

test('a promise that was taken back meanwhile is written back', async () => {
  const { node, runtime } = await stageOf('make q/s 0; make p/a 2');
  node.run('remove p');
  await runtime.end('q/s#1');
  expect(runtime.started).toEqual(['q/s#1 0,2-4,6-7', 'q/s#1 0-7']);
});

test.each([1, 2, 3])('no more than %d at a time', async (concurrency) => {
  const { runtime } = await stageOf('make q/s 0; make q/t 0; make q/u 0; make q/v 0; make p/a 2', concurrency);
  let most = 0;
  while (runtime.underWay.length > 0) {
    most = Math.max(most, runtime.underWay.length);
    await runtime.end(runtime.underWay[0]!);
  }
  expect(most).toBe(concurrency);
  expect(runtime.started.map((line) => line.split('#')[0]).sort()).toEqual(['q/s', 'q/t', 'q/u', 'q/v']);
});

describe('a failure', () => {
  test('is tried again, each time after twice the pause, up to 30 s', async () => {
    const { runtime } = await stageOf('make q/s 0; make p/a 2');
    const pausesMs: number[] = [];
    for (let failures = 1; failures <= 8; failures++) {
      await runtime.end('q/s#1', FAILURE);
      const before = performance.now();
      while (runtime.started.length === failures) await jest.advanceTimersToNextTimerAsync();
      pausesMs.push(Math.round((performance.now() - before) / 100) * 100);
    }
    expect(pausesMs).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
  });

  test('does not hold up the others', async () => {
    const { runtime } = await stageOf('make q/s 0; make q/t 0; make p/a 2', 1);
    await runtime.end('q/s#1', FAILURE);
    expect(runtime.underWay).toEqual(['q/t#1']);
  });

  test('is forgotten after a success', async () => {
    const { node, runtime, recorder } = await stageOf('make q/s 0; make p/a 2');
    await runtime.end('q/s#1', FAILURE);
    await jest.advanceTimersByTimeAsync(600);
    await runtime.end('q/s#1');
    node.run('make p/b 2');
    recorder.wake();
    await settle();
    await runtime.end('q/s#1', FAILURE);
    await jest.advanceTimersByTimeAsync(600);
    expect(runtime.started).toHaveLength(4);
  });

  test('is a warning the first time, and no noise after', async () => {
    const { runtime, logged } = await stageOf('make q/s 0; make p/a 2');
    for (let i = 0; i < 3; i++) {
      await runtime.end('q/s#1', FAILURE);
      await jest.advanceTimersByTimeAsync(5_000);
    }
    expect(logged.map((line) => (JSON.parse(line) as { level: number }).level)).toEqual([40, 20, 20]);
  });

  test('of a container that is gone is none', async () => {
    const { node, runtime, logged } = await stageOf('make q/s 0; make p/a 2');
    node.run('end q/s');
    await runtime.end('q/s#1', FAILURE);
    await jest.advanceTimersByTimeAsync(60_000);
    expect({ started: runtime.started.length, logged }).toEqual({ started: 1, logged: [] });
  });

  test('tries the last promise again, not the one that failed', async () => {
    const { node, runtime } = await stageOf('make q/s 0; make p/a 2');
    node.run('make p/b 2');
    await runtime.end('q/s#1', FAILURE);
    await jest.advanceTimersByTimeAsync(600);
    expect(runtime.started.at(-1)).toBe('q/s#1 0,3-4,7');
  });
});

test('a container that has just failed does not wait for one that has failed often', async () => {
  const { node, runtime, recorder } = await stageOf('make q/s 0; make p/a 2');
  for (let failures = 0; failures < 6; failures++) {
    await runtime.end('q/s#1', FAILURE);
    if (failures < 5) await jest.advanceTimersByTimeAsync(20_000);
  }
  node.run('make q/t 0; make p/b 2');
  recorder.wake();
  await settle();
  await runtime.end('q/t#1', FAILURE);
  await jest.advanceTimersByTimeAsync(600);
  expect(runtime.underWay).toEqual(['q/t#1']);
});

describe('on abort', () => {
  test('nothing new is begun when an update ends', async () => {
    const { runtime, stop } = await stageOf('make q/s 0; make q/t 0; make p/a 2', 1);
    stop.abort();
    await runtime.end('q/s#1');
    expect(runtime.started).toHaveLength(1);
  });

  test('a failure is neither told nor tried again', async () => {
    const { runtime, stop, logged } = await stageOf('make q/s 0; make p/a 2');
    stop.abort();
    await runtime.end('q/s#1', FAILURE);
    expect({ logged, timers: jest.getTimerCount() }).toEqual({ logged: [], timers: 0 });
  });

  test('a pause ends with it', async () => {
    const { runtime, stop } = await stageOf('make q/s 0; make p/a 2');
    await runtime.end('q/s#1', FAILURE);
    expect(jest.getTimerCount()).toBe(1);
    stop.abort();
    expect(jest.getTimerCount()).toBe(0);
  });

  test('waking does nothing any more', async () => {
    const { node, runtime, recorder, stop } = await stageOf('make q/s 0');
    stop.abort();
    node.run('make p/a 2');
    recorder.wake();
    await settle();
    expect(runtime.started).toEqual([]);
  });
});
