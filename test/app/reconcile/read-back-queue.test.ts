import { setImmediate as nextTurn } from 'node:timers/promises';
import { ReadBackQueue } from '../../../src/app/reconcile/read-back-queue';
import { silentFaults } from '../../support/faults';

/** A line whose clock goes on by a millisecond for each container that is read. */
function watchLine(failAt: ReadonlySet<string> = new Set(), needed = (asked: readonly unknown[]) => asked.length) {
  let nowMs = 0;
  const clock = jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
  const stop = new AbortController();
  /** The containers that were read in each turn. */
  const turns: string[][] = [[]];
  let ends = 0;
  const line = new ReadBackQueue({
    read: (asked) => {
      for (const { containerId, always } of asked) {
        nowMs++;
        if (failAt.has(containerId)) throw new Error('a fault of our own');
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
  return { line, turns, turn, stop, clock, ends: () => ends };
}

const idsOf = (count: number, { from = 0 } = {}) => Array.from({ length: count }, (_, i) => `c${from + i}`);
const AT_ONCE = 16;
const IF_OUTDATED = { always: false };

afterEach(() => jest.restoreAllMocks());

test('who is first is read at once, the others in turns of bounded time, and the end is told once', async () => {
  const { line, turns, turn, ends } = watchLine();
  line.add(idsOf(40), IF_OUTDATED);
  expect([turns[0]?.length, ends()]).toEqual([AT_ONCE, 0]);
  await turn();
  expect([turns[1]?.length, ends()]).toEqual([AT_ONCE, 0]);
  await turn();
  await turn();
  expect(turns.flat()).toEqual(idsOf(40));
  expect(ends()).toBe(1);
});

test('a short line is read in the turn in which it comes', () => {
  const { line, turns, ends } = watchLine();
  line.add(idsOf(3), IF_OUTDATED);
  line.add([], IF_OUTDATED);
  line.add(idsOf(2, { from: 3 }), IF_OUTDATED);
  expect([turns[0], ends()]).toEqual([['c0', 'c1', 'c2', 'c3', 'c4'], 2]);
});

test('who comes again while waiting is read once; who comes after the reading is read again', async () => {
  const { line, turns, turn } = watchLine();
  line.add(idsOf(20), IF_OUTDATED);
  line.add(idsOf(20), IF_OUTDATED);
  await turn();
  await turn();
  const seen = turns.flat();
  expect(seen.filter((id) => id === 'c0')).toHaveLength(2); // it had been read when it came again
  expect(seen.filter((id) => id === 'c19')).toHaveLength(1);
});

test('who was asked for in any case stays so when asked for once more', async () => {
  const { line, turns, turn } = watchLine();
  line.add(idsOf(20), IF_OUTDATED);
  line.add(['x'], { always: true });
  line.add(['x'], IF_OUTDATED);
  await turn();
  expect(turns.flat().filter((id) => id.startsWith('x'))).toEqual(['x!']);
});

test('a fault in reading some keeps nobody else from being read', async () => {
  const { line, turns, turn } = watchLine(new Set(['c3']));
  line.add(idsOf(40), IF_OUTDATED);
  await turn();
  await turn();
  expect(turns.flat()).toContain('c39');
});

describe('one that can wait', () => {
  const LATER = { always: false, canWait: true };
  beforeEach(() => jest.useFakeTimers({ doNotFake: ['setImmediate', 'performance'] }));
  afterEach(() => jest.useRealTimers());

  test('is read a tenth of a second after the first that could, with all that came meanwhile', () => {
    const { line, turns } = watchLine();
    line.add(['a', 'b'], LATER);
    jest.advanceTimersByTime(60);
    line.add(['c'], LATER);
    expect(turns.flat()).toEqual([]);
    jest.advanceTimersByTime(41);
    expect(turns.flat()).toEqual(['a', 'b', 'c']);
  });

  test('keeps nobody else waiting, and is read once when it is asked for at once', () => {
    const { line, turns } = watchLine();
    line.add(['a', 'b'], LATER);
    line.add(['a', 'x'], IF_OUTDATED);
    expect(turns.flat()).toEqual(['a', 'x']);
    jest.advanceTimersByTime(101);
    expect(turns.flat()).toEqual(['a', 'x', 'b']);
  });

  test('is read in any case when that is wanted of it before or while it waits', () => {
    const { line, turns } = watchLine();
    line.add(['a'], { always: true, canWait: true });
    line.add(['a', 'b', 'c'], LATER);
    expect([line.takesUp('b'), line.takesUp('x')]).toEqual([true, false]);
    jest.advanceTimersByTime(101);
    expect(turns.flat()).toEqual(['a!', 'b!', 'c']);
    expect(line.takesUp('b')).toBe(false);
  });

  test('is not read when all is to end', () => {
    const { line, turns, stop } = watchLine();
    line.add(['a'], LATER);
    stop.abort();
    jest.advanceTimersByTime(1_000);
    expect(turns.flat()).toEqual([]);
  });
});

test('nothing is read when all is to end', async () => {
  const { line, turns, turn, stop, ends } = watchLine();
  line.add(idsOf(40), IF_OUTDATED);
  stop.abort();
  await turn();
  line.add(idsOf(1), IF_OUTDATED);
  expect([turns.flat().length, ends()]).toEqual([AT_ONCE, 0]);
});

test('a line in which nobody needed it has no end to be told of', () => {
  const { line, ends } = watchLine(new Set(), () => 0);
  line.add(idsOf(5), IF_OUTDATED);
  expect(ends()).toBe(0);
});
