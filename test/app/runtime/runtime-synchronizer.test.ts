import type { AttachmentParts } from '../../../src/app/runtime/attachment';
import { RuntimeSynchronizer } from '../../../src/app/runtime/runtime-synchronizer';
import { CpusetdError } from '../../../src/core/errors';
import type { NodeEvent, NodeInventory, RuntimeAnswer } from '../../../src/core/model/events';
import type { Cgroups } from '../../../src/host';
import { NodeDriver } from '../../core/transition/node-driver';
import { contextOf } from '../../support/daemon-context';
import { waitUntil } from '../../support/wait-until';

/** A synchronizer whose listings the test ends. */
class Stage {
  readonly stop = new AbortController();
  readonly events: NodeEvent['kind'][] = [];
  readonly gap: string[] = [];
  /** Ends the listing in flight: with the inventory, or with an error. */
  finish: (error?: Error) => void = () => undefined;
  listings = 0;
  answer: RuntimeAnswer = { kind: 'ok' };
  readonly context = contextOf({
    model: new NodeDriver().model,
    cgroups: {} as Cgroups,
    config: { mode: 'cri-proxy', criEndpoint: '/run/cri.sock' },
    signal: this.stop.signal,
  });
  readonly synchronizer = new RuntimeSynchronizer({
    context: this.context,
    transactor: { handle: (event: NodeEvent) => (this.events.push(event.kind), this.answer) },
    client: {
      ask: (question: (cri: object) => Promise<unknown>) =>
        question({ version: async () => ({ name: 'containerd', version: '2' }), readNode: () => this.list() }),
    },
    gap: { begin: () => this.gap.push('begin'), end: () => this.gap.push('end') },
  } as unknown as AttachmentParts);

  private list(): Promise<NodeInventory> {
    this.listings++;
    return new Promise((resolve, reject) => {
      this.finish = (error) => (error ? reject(error) : resolve({ pods: [], containers: [] }));
    });
  }

  async end(error?: Error): Promise<void> {
    this.finish(error);
    await settle();
  }

  get state(): string {
    return this.synchronizer.connection.state;
  }

  get health(): string | undefined {
    return this.context.health.get('cri');
  }
}

let stage: Stage;
beforeEach(() => {
  jest.useFakeTimers();
  stage = new Stage();
});
afterEach(() => {
  stage.stop.abort();
  jest.useRealTimers();
});
const settle = () => jest.advanceTimersByTimeAsync(0);
const AWAY = new CpusetdError('UNAVAILABLE', 'no socket');

test('calls wait until the first complete synchronization, which closes the gap', async () => {
  const done = stage.synchronizer.synchronizeUntilReady();
  const mayPass = stage.synchronizer.whenReady(new AbortController().signal);
  await settle();
  expect({ state: stage.state, health: stage.health }).toEqual({ state: 'synchronizing', health: 'NOT_SERVING' });
  await stage.end();
  await done;
  expect(await mayPass).toBe(true);
  expect({ state: stage.state, health: stage.health, events: stage.events, gap: stage.gap }).toEqual({
    state: 'ready',
    health: 'SERVING',
    events: ['synchronize'],
    gap: ['end'],
  });
});

test('given a runtime that fails twice, it is asked again after growing delays until it answers', async () => {
  jest.useRealTimers();
  const done = stage.synchronizer.synchronizeUntilReady();
  for (const [tries, leastMs] of [
    [1, 95],
    [2, 145],
  ] as const) {
    await waitUntil('asked', () => stage.listings === tries);
    stage.finish(AWAY);
    const failedMs = performance.now();
    await waitUntil('asked again', () => stage.listings === tries + 1);
    expect(performance.now() - failedMs).toBeGreaterThan(leastMs);
    expect(stage.state).toBe('synchronizing');
  }
  stage.finish();
  await done;
  expect(stage.state).toBe('ready');
});

test('the first failure is the first contact, so that the start goes on', async () => {
  const done = stage.synchronizer.synchronizeUntilReady();
  await settle();
  await stage.end(AWAY);
  await expect(stage.synchronizer.firstContact).resolves.toBeUndefined();
  stage.stop.abort();
  await done;
});

test('two callers during a run share the one run that follows it', async () => {
  const first = stage.synchronizer.synchronize();
  await settle();
  const others = [stage.synchronizer.synchronize(), stage.synchronizer.synchronize()];
  await settle();
  expect(stage.listings).toBe(1);
  await stage.end();
  await first;
  expect(stage.listings).toBe(2);
  await stage.end();
  await Promise.all(others);
  expect(stage.listings).toBe(2);
});

test('a runtime that goes away makes calls wait again, and the listing in flight is ignored', async () => {
  const done = stage.synchronizer.synchronizeUntilReady();
  await settle();
  stage.synchronizer.onUpstream(false);
  await stage.end();
  await done;
  expect({ state: stage.state, health: stage.health, events: stage.events, gap: stage.gap }).toEqual({
    state: 'connecting',
    health: 'NOT_SERVING',
    events: [],
    gap: ['begin'],
  });
  stage.synchronizer.onUpstream(true);
  await settle();
  await stage.end();
  expect({ state: stage.state, gap: stage.gap }).toEqual({ state: 'ready', gap: ['begin', 'end'] });
});

test('a later synchronization that fails leaves the connection ready', async () => {
  stage.synchronizer.resynchronize();
  await settle();
  await stage.end();
  stage.synchronizer.resynchronize();
  await settle();
  await stage.end(AWAY);
  expect({ state: stage.state, health: stage.health }).toEqual({ state: 'ready', health: 'SERVING' });
});

test('a synchronization that the node refuses keeps calls waiting', async () => {
  stage.answer = { kind: 'refuse', code: 'INTERNAL', message: 'a fault' };
  stage.synchronizer.resynchronize();
  await settle();
  await stage.end();
  expect({ state: stage.state, reason: stage.synchronizer.connection.reason, gap: stage.gap }).toEqual({
    state: 'connecting',
    reason: 'a fault',
    gap: [],
  });
});
