import { pino } from 'pino';
import { needsRecord } from '../../../src/app/runtime/record-state';
import { RecordSync } from '../../../src/app/runtime/record-sync';
import { CpusetdError } from '../../../src/core/errors';
import type { RuntimeEvent } from '../../../src/core/model/events';
import { NodeDriver } from '../../core/transition/node-driver';
import { recorderOf } from '../../support/recorder-of';

const delay = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** A runtime whose updates the test ends. */
class Runtime {
  /** Each as `id cpus`, in the order of their start. */
  readonly started: string[] = [];
  /** Updates end by themselves after this time. */
  takesMs: number | undefined;
  private readonly open = new Map<string, { resolve: () => void; reject: (error: Error) => void }>();

  readonly update = (id: string, promise: { readonly cpus: { toString(): string } }): Promise<void> => {
    this.started.push(`${id} ${promise.cpus.toString()}`);
    if (this.takesMs !== undefined) return delay(this.takesMs);
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
  readonly recorder: RecordSync;
  readonly stop: AbortController;
  readonly logged: string[];
  /** Sandboxes that the runtime is making and the model does not have yet. */
  readonly making: Set<string>;
}

async function stageOf(history: string, transactorOf = recorderOf): Promise<Stage> {
  const node = new NodeDriver().run(history);
  const runtime = new Runtime();
  const stop = new AbortController();
  const logged: string[] = [];
  const making = new Set<string>();
  const recorder = new RecordSync({
    model: node.model,
    transactor: transactorOf(node.model),
    update: runtime.update,
    log: pino({ level: 'debug' }, { write: (line) => logged.push(line) }),
    signal: stop.signal,
    isMaking: () => making.size > 0,
  });
  recorder.schedule();
  await settle();
  return { node, runtime, recorder, stop, logged, making };
}

/** The number of containers whose record differs from the promise. */
function countBehind({ model }: NodeDriver): number {
  return [...model.containers.values()].filter(needsRecord).length;
}

/** Waits until the updates that follow a change have begun. */
async function settle(): Promise<void> {
  await jest.advanceTimersByTimeAsync(250);
}

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

const FAILURE = new Error('UNAVAILABLE');

test.each`
  name                                                                             | history                                                  | started
  ${'a record that matches the promise: not written'}                              | ${'make q/s 0'}                                          | ${[]}
  ${'an outdated record: written'}                                                 | ${'make q/s 0; make p/a 2'}                              | ${['q/s#1 0,2-4,6-7']}
  ${'an outdated record of a container that has not started: written'}             | ${'create q/s 0; make p/a 2'}                            | ${['q/s#1 0,2-4,6-7']}
  ${'a container that is being created: not written'}                              | ${'ask q/s 0; make p/a 2'}                               | ${[]}
  ${'a container that is starting: not written, because the update would be lost'} | ${'create q/s 0; starting q/s; make p/a 2'}              | ${[]}
  ${'a container that was starting and runs now: written'}                         | ${'create q/s 0; starting q/s; make p/a 2; started q/s'} | ${['q/s#1 0,2-4,6-7']}
  ${'a container that has ended: not written'}                                     | ${'make q/s 0; make p/a 2; end q/s'}                     | ${[]}
`('$name', async ({ history, started }: { history: string; started: string[] }) => {
  const { runtime, node } = await stageOf(history);
  expect(runtime.started).toEqual(started);
  expect(countBehind(node)).toBe(started.length);
});

test('a record that was written is kept in the model and not written again', async () => {
  const { node, runtime, recorder } = await stageOf('make q/s 0; make p/a 2');
  await runtime.end('q/s#1');
  expect(node.container('q/s')?.runtimeRecord?.cpus.toString()).toBe('0,2-4,6-7');
  recorder.schedule();
  await settle();
  expect({ started: runtime.started.length, pending: countBehind(node) }).toEqual({ started: 1, pending: 0 });
});

test('an internal fault before an update: the next look at the records makes the update', async () => {
  let faults = 1;
  const { runtime, recorder, logged } = await stageOf('make q/s 0; make p/a 2', (model) => {
    const transactor = recorderOf(model);
    return {
      record: (write) => {
        if (faults-- > 0) throw new TypeError('a fault');
        transactor.record(write);
      },
    };
  });
  expect(runtime.started).toEqual([]);
  expect(logged.join('')).toContain('a fault');
  recorder.schedule();
  await settle();
  expect(runtime.started).toEqual(['q/s#1 0,2-4,6-7']);
});

test('three more changes during an update: one more update, with the last promise', async () => {
  const { node, runtime, recorder } = await stageOf('make q/s 0; make p/a 2');
  for (const step of ['make p/b 2', 'make p/c 1', 'end p/c; remove p', 'make r/d 3']) {
    node.run(step);
    recorder.schedule();
    await settle();
  }
  expect(runtime.started).toEqual(['q/s#1 0,2-4,6-7']);
  await runtime.end('q/s#1');
  await settle();
  expect(runtime.started).toEqual(['q/s#1 0,2-4,6-7', `q/s#1 ${node.model.sharedPool.toString()}`]);
});

test('a promise that changes back during an update is written back', async () => {
  const { node, runtime } = await stageOf('make q/s 0; make p/a 2');
  node.run('remove p');
  await runtime.end('q/s#1');
  await settle();
  expect(runtime.started).toEqual(['q/s#1 0,2-4,6-7', 'q/s#1 0-7']);
});

test('a record that the runtime got from another answer during the update is written again with the same promise', async () => {
  const { node, runtime } = await stageOf('make q/s 0; make p/a 2');
  const asked = node.container('q/s')!.promise!;
  node.run('remove p');
  const container = node.container('q/s')!;
  node.model.apply({ kind: 'put-container', container: { ...container, runtimeRecord: container.promise! } });
  node.run('make r/a 2');
  expect(node.container('q/s')!.promise).toEqual(asked);
  await runtime.end('q/s#1');
  expect(countBehind(node)).toBe(1);
  await settle();
  expect(runtime.started).toEqual(['q/s#1 0,2-4,6-7', 'q/s#1 0,2-4,6-7']);
});

test('four outdated records are written one at a time', async () => {
  const { runtime } = await stageOf('make q/s 0; make q/t 0; make q/u 0; make q/v 0; make p/a 2');
  let most = 0;
  while (runtime.underWay.length > 0) {
    most = Math.max(most, runtime.underWay.length);
    await runtime.end(runtime.underWay[0]!);
    await settle();
  }
  expect(most).toBe(1);
  expect(runtime.started.map((line) => line.split('#')[0]).sort()).toEqual(['q/s', 'q/t', 'q/u', 'q/v']);
});

describe('a failed update', () => {
  test('is repeated after a doubled pause each time, up to 30 s', async () => {
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

  test('does not delay other containers', async () => {
    const { runtime } = await stageOf('make q/s 0; make q/t 0; make p/a 2');
    await runtime.end('q/s#1', FAILURE);
    await settle();
    expect(runtime.underWay).toEqual(['q/t#1']);
  });

  test('is forgotten after a success, so that the next pause is short again', async () => {
    const { node, runtime, recorder } = await stageOf('make q/s 0; make p/a 2');
    await runtime.end('q/s#1', FAILURE);
    await jest.advanceTimersByTimeAsync(600);
    await runtime.end('q/s#1');
    node.run('make p/b 2');
    recorder.schedule();
    await settle();
    await runtime.end('q/s#1', FAILURE);
    await jest.advanceTimersByTimeAsync(600);
    expect(runtime.started).toHaveLength(4);
  });

  test('is a warning the first time, and a debug line afterwards', async () => {
    const { runtime, logged } = await stageOf('make q/s 0; make p/a 2');
    for (let i = 0; i < 3; i++) {
      await runtime.end('q/s#1', FAILURE);
      await jest.advanceTimersByTimeAsync(5_000);
    }
    expect(logged.map((line) => (JSON.parse(line) as { level: number }).level)).toEqual([40, 20, 20]);
  });

  test('of a container that is gone is neither logged nor repeated', async () => {
    const { node, runtime, logged } = await stageOf('make q/s 0; make p/a 2');
    node.run('end q/s');
    await runtime.end('q/s#1', FAILURE);
    await jest.advanceTimersByTimeAsync(60_000);
    expect({ started: runtime.started.length, logged }).toEqual({ started: 1, logged: [] });
  });

  test('of a container that the runtime calls gone is a debug line: we are about to learn of its end', async () => {
    const { runtime, logged } = await stageOf('make q/s 0; make p/a 2');
    await runtime.end('q/s#1', new CpusetdError('NOT_FOUND', 'no such container'));
    expect(logged.map((line) => (JSON.parse(line) as { level: number }).level)).toEqual([20]);
  });

  test('is repeated with the latest promise', async () => {
    const { node, runtime } = await stageOf('make q/s 0; make p/a 2');
    node.run('make p/b 2');
    await runtime.end('q/s#1', FAILURE);
    await jest.advanceTimersByTimeAsync(600);
    expect(runtime.started.at(-1)).toBe('q/s#1 0,3-4,7');
  });
});

test('a container that fails for the first time does not wait for one that failed often', async () => {
  const { node, runtime, recorder } = await stageOf('make q/s 0; make p/a 2');
  for (let failures = 0; failures < 6; failures++) {
    await runtime.end('q/s#1', FAILURE);
    if (failures < 5) await jest.advanceTimersByTimeAsync(20_000);
  }
  node.run('make q/t 0; make p/b 2');
  recorder.schedule();
  await settle();
  await runtime.end('q/t#1', FAILURE);
  await jest.advanceTimersByTimeAsync(600);
  expect(runtime.underWay).toEqual(['q/t#1']);
});

/** A stage whose records are all up to date. */
async function calmStage(history: string, takesMs = 10): Promise<Stage> {
  const stage = await stageOf(history);
  stage.runtime.takesMs = takesMs;
  for (const id of stage.runtime.underWay) await stage.runtime.end(id);
  await jest.advanceTimersByTimeAsync(60_000);
  expect(countBehind(stage.node)).toBe(0);
  stage.runtime.started.length = 0;
  return stage;
}

const sharing = (count: number) => Array.from({ length: count }, (_, i) => `make q/s${i} 0`).join('; ');

function run({ node, recorder }: Stage, kind: RuntimeEvent['kind'], history: string): void {
  recorder.noteEvent(kind);
  node.run(history);
  recorder.schedule();
}

/**
 * Creates containers one after the other, each before the one before last ends, so that the shared pool never returns
 * to its first CPUs.
 */
async function stream(stage: Stage, forMs: number, pauseMs: number): Promise<void> {
  for (let i = 0; i * pauseMs < forMs; i++) {
    run(stage, 'create-container', `make p${i}/a ${1 + (i % 2)}`);
    if (i > 0) run(stage, 'pod-removed', `end p${i - 1}/a; remove p${i - 1}`);
    await jest.advanceTimersByTimeAsync(pauseMs);
  }
}

describe('records while the runtime creates containers', () => {
  test.each([200, 1_500])('creations %d ms apart: no record of other containers is written', async (pauseMs) => {
    const stage = await calmStage(sharing(100));
    await stream(stage, 20_000, pauseMs);
    expect(countBehind(stage.node)).toBe(100);
    expect(stage.runtime.started).toEqual([]);
  });

  test('500 records are written once each within 30 s after the last creation, given updates of 20 ms', async () => {
    const stage = await calmStage(sharing(500), 20);
    await stream(stage, 5_000, 200);
    await jest.advanceTimersByTimeAsync(30_000);
    expect({ pending: countBehind(stage.node), written: stage.runtime.started.length }).toEqual({
      pending: 0,
      written: 500,
    });
  });

  test('after each of 100 updates the runtime rests as long as the update took', async () => {
    const stage = await calmStage(sharing(100));
    run(stage, 'create-container', 'make p/a 1');
    await jest.advanceTimersByTimeAsync(3_000 + 20 * 50);
    expect(stage.runtime.started.length).toBeGreaterThan(30);
    expect(stage.runtime.started.length).toBeLessThanOrEqual(51);
  });

  test('a new sandbox: the update in flight ends, and the next one waits 3 s', async () => {
    const stage = await calmStage(sharing(100));
    run(stage, 'create-container', 'make p/a 1');
    while (stage.runtime.started.length < 10) await jest.advanceTimersByTimeAsync(10);
    stage.recorder.noteEvent('pod-started');
    await jest.advanceTimersByTimeAsync(2_500);
    expect(stage.runtime.started).toHaveLength(10);
    await jest.advanceTimersByTimeAsync(27_500);
    expect(countBehind(stage.node)).toBe(0);
  });

  test.each`
    what                                      | history                           | sandbox  | after
    ${'a sandbox that the runtime is making'} | ${''}                             | ${true}  | ${''}
    ${'a container that is being made'}       | ${'; ask p/b 0'}                  | ${false} | ${'end p/b'}
    ${'a container that is starting'}         | ${'; create p/b 0; starting p/b'} | ${false} | ${'started p/b'}
  `(
    '$what delays the records for up to a minute',
    async ({ history, sandbox, after }: { history: string; sandbox: boolean; after: string }) => {
      const stage = await calmStage('make q/s 0');
      if (sandbox) stage.making.add('sandbox');
      run(stage, 'create-container', `make p/a 1${history}`);
      await jest.advanceTimersByTimeAsync(55_000);
      expect(stage.runtime.started).toEqual([]);
      stage.making.clear();
      if (after !== '') stage.node.run(after);
      stage.recorder.schedule();
      await jest.advanceTimersByTimeAsync(1_000);
      expect(stage.runtime.started).toContainEqual(expect.stringMatching(/^q\/s#1 /));
    },
  );

  test('creations without a pause: every record is written after a minute, a few per second', async () => {
    const stage = await calmStage(sharing(100));
    await stream(stage, 59_000, 200);
    expect(stage.runtime.started).toEqual([]);
    await stream(stage, 30_000, 200);
    const ids = stage.runtime.started.map((line) => line.split(' ')[0]);
    expect(new Set(ids).size).toBe(100);
    expect(ids.length).toBeLessThan(300);
  });

  test('a record that is right again is not written, and the waiting time of the others starts again', async () => {
    const stage = await calmStage(sharing(10));
    for (let i = 0; i < 50; i++) {
      run(stage, 'create-container', `make p${i}/a 1`);
      await jest.advanceTimersByTimeAsync(1_000);
      run(stage, 'pod-removed', `end p${i}/a; remove p${i}`);
      await jest.advanceTimersByTimeAsync(1_000);
    }
    expect(stage.runtime.started).toEqual([]);
  });

  test('a container that only the runtime can move does not wait', async () => {
    const stage = await calmStage('create q/s 0; make q/t 0');
    run(stage, 'create-container', 'make p/a 2');
    await settle();
    expect(stage.runtime.started).toEqual(['q/s#1 0,2-4,6-7']);
  });

  test('a container that a caller flushes does not wait', async () => {
    const stage = await calmStage('make q/s 0');
    stage.making.add('sandbox');
    run(stage, 'create-container', 'make p/a 2');
    const settled = stage.recorder.flush(['q/s#1']);
    expect(stage.runtime.started).toEqual(['q/s#1 0,2-4,6-7']);
    await jest.advanceTimersByTimeAsync(10);
    expect(await settled).toBeUndefined();
  });

  test('an update event does not delay the records', async () => {
    const stage = await calmStage('make q/s 0');
    run(stage, 'update-container', 'make p/a 2');
    await settle();
    expect(stage.runtime.started).toEqual(['q/s#1 0,2-4,6-7']);
  });
});

describe('after abort', () => {
  test('no update begins when one ends', async () => {
    const { runtime, stop } = await stageOf('make q/s 0; make q/t 0; make p/a 2');
    stop.abort();
    await runtime.end('q/s#1');
    expect(runtime.started).toHaveLength(1);
  });

  test('a failure is neither logged nor repeated', async () => {
    const { runtime, stop, logged } = await stageOf('make q/s 0; make p/a 2');
    stop.abort();
    await runtime.end('q/s#1', FAILURE);
    expect({ logged, timers: jest.getTimerCount() }).toEqual({ logged: [], timers: 0 });
  });

  test('the pause before a repetition ends', async () => {
    const { runtime, stop } = await stageOf('make q/s 0; make p/a 2');
    await runtime.end('q/s#1', FAILURE);
    expect(jest.getTimerCount()).toBe(1);
    stop.abort();
    expect(jest.getTimerCount()).toBe(0);
  });

  test('schedule does nothing', async () => {
    const { node, runtime, recorder, stop } = await stageOf('make q/s 0');
    stop.abort();
    node.run('make p/a 2');
    recorder.schedule();
    await settle();
    expect(runtime.started).toEqual([]);
  });
});
