import { setImmediate as nextTurn } from 'node:timers/promises';
import { ReadBackQueue } from '../../../src/app/reconcile/read-back-queue';
import { silentFaults } from '../../support/faults';

/** A queue whose clock runs one millisecond per container read. */
function openQueue(failAt: ReadonlySet<string> = new Set(), needed = (asked: readonly unknown[]) => asked.length) {
  let nowMs = 0;
  const clock = jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
  const stop = new AbortController();
  /** The containers that were read in each turn. */
  const turns: string[][] = [[]];
  let ends = 0;
  const queue = new ReadBackQueue({
    read: (asked) => {
      for (const { containerId, always } of asked) {
        nowMs++;
        if (failAt.has(containerId)) throw new Error('an internal fault');
        turns.at(-1)!.push(always ? `${containerId}!` : containerId);
      }
      return needed(asked);
    },
    onEnd: () => {
      ends++;
    },
    faults: silentFaults(),
    signal: stop.signal,
  });
  const turn = async (): Promise<void> => {
    turns.push([]);
    await nextTurn();
  };
  return { queue, turns, turn, stop, clock, ends: () => ends };
}

const idsOf = (count: number, { from = 0 } = {}) => Array.from({ length: count }, (_, i) => `c${from + i}`);
const AT_ONCE = 16;
const IF_OUTDATED = { always: false };

afterEach(() => jest.restoreAllMocks());

test('a long queue is read in turns of bounded time, the first at once, and its end is reported once', async () => {
  const { queue, turns, turn, ends } = openQueue();
  queue.add(idsOf(40), IF_OUTDATED);
  expect([turns[0]?.length, ends()]).toEqual([AT_ONCE, 0]);
  await turn();
  expect([turns[1]?.length, ends()]).toEqual([AT_ONCE, 0]);
  await turn();
  await turn();
  expect(turns.flat()).toEqual(idsOf(40));
  expect(ends()).toBe(1);
});

test('a short queue is read in the same turn', () => {
  const { queue, turns, ends } = openQueue();
  queue.add(idsOf(3), IF_OUTDATED);
  queue.add([], IF_OUTDATED);
  queue.add(idsOf(2, { from: 3 }), IF_OUTDATED);
  expect([turns[0], ends()]).toEqual([['c0', 'c1', 'c2', 'c3', 'c4'], 2]);
});

test('a container added twice while waiting is read once; one added after it was read is read again', async () => {
  const { queue, turns, turn } = openQueue();
  queue.add(idsOf(20), IF_OUTDATED);
  queue.add(idsOf(20), IF_OUTDATED);
  await turn();
  await turn();
  const seen = turns.flat();
  expect(seen.filter((id) => id === 'c0')).toHaveLength(2); // read before it was added again
  expect(seen.filter((id) => id === 'c19')).toHaveLength(1);
});

test('a container added with `always` keeps that when added again without it', async () => {
  const { queue, turns, turn } = openQueue();
  queue.add(idsOf(20), IF_OUTDATED);
  queue.add(['x'], { always: true });
  queue.add(['x'], IF_OUTDATED);
  await turn();
  expect(turns.flat().filter((id) => id.startsWith('x'))).toEqual(['x!']);
});

test('a fault in one read does not keep the others from being read', async () => {
  const { queue, turns, turn } = openQueue(new Set(['c3']));
  queue.add(idsOf(40), IF_OUTDATED);
  await turn();
  await turn();
  expect(turns.flat()).toContain('c39');
});

describe('a container that can wait', () => {
  const LATER = { always: false, canWait: true };
  beforeEach(() => jest.useFakeTimers({ doNotFake: ['setImmediate', 'performance'] }));
  afterEach(() => jest.useRealTimers());

  test('is read 100 ms after the first one, with all that came meanwhile', () => {
    const { queue, turns } = openQueue();
    queue.add(['a', 'b'], LATER);
    jest.advanceTimersByTime(60);
    queue.add(['c'], LATER);
    expect(turns.flat()).toEqual([]);
    jest.advanceTimersByTime(41);
    expect(turns.flat()).toEqual(['a', 'b', 'c']);
  });

  test('delays no other container, and is read once when it is also added without waiting', () => {
    const { queue, turns } = openQueue();
    queue.add(['a', 'b'], LATER);
    queue.add(['a', 'x'], IF_OUTDATED);
    expect(turns.flat()).toEqual(['a', 'x']);
    jest.advanceTimersByTime(101);
    expect(turns.flat()).toEqual(['a', 'x', 'b']);
  });

  test('is read with `always` if that was asked once', () => {
    const { queue, turns } = openQueue();
    queue.add(['a'], { always: true, canWait: true });
    queue.add(['a', 'b', 'c'], LATER);
    expect([queue.takesUp('b'), queue.takesUp('x')]).toEqual([true, false]);
    jest.advanceTimersByTime(101);
    expect(turns.flat()).toEqual(['a!', 'b!', 'c']);
    expect(queue.takesUp('b')).toBe(false);
  });

  test('is not read after abort', () => {
    const { queue, turns, stop } = openQueue();
    queue.add(['a'], LATER);
    stop.abort();
    jest.advanceTimersByTime(1_000);
    expect(turns.flat()).toEqual([]);
  });
});

test('after abort nothing is read', async () => {
  const { queue, turns, turn, stop, ends } = openQueue();
  queue.add(idsOf(40), IF_OUTDATED);
  stop.abort();
  await turn();
  queue.add(idsOf(1), IF_OUTDATED);
  expect([turns.flat().length, ends()]).toEqual([AT_ONCE, 0]);
});

test('a queue in which no container needed a read reports no end', () => {
  const { queue, ends } = openQueue(new Set(), () => 0);
  queue.add(idsOf(5), IF_OUTDATED);
  expect(ends()).toBe(0);
});
