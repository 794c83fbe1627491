import { CpuSet, parseCpuList } from '../../../src/core/cpuset';
import {
  BASE_BACKOFF_MS,
  IMMEDIATE_REPAIRS,
  MAX_BACKOFF_MS,
  MAX_REPAIRS,
  QUIET_MS,
  decideRepair,
  type RepairRecord,
  type RepairDecision,
} from '../../../src/core/verdict/repair-backoff';

const promiseOf = (cpus: string) => ({ cpus: parseCpuList(cpus), mems: CpuSet.empty });

/** One container, whose drifts are repaired one after the other. */
class Story {
  nowMs = 1_000_000;
  history: RepairRecord | undefined;
  promise = promiseOf('2-3');

  meet({ written = true } = {}): RepairDecision['action'] {
    const decision = decideRepair(this.history, { promise: this.promise, nowMs: this.nowMs, written });
    this.history = decision.history;
    return decision.action;
  }

  /** Another program writes every `everyMs` for `forMs`. Returns the times of the repairs since the beginning. */
  fight({ everyMs, forMs }: { everyMs: number; forMs: number }): number[] {
    const repairs: number[] = [];
    for (let t = 0; t <= forMs; t += everyMs, this.nowMs += everyMs) if (this.meet() === 'repair') repairs.push(t);
    return repairs;
  }
}

test('all waits are shorter than the quiet time that resets the count of repairs', () => {
  expect(MAX_BACKOFF_MS).toBeLessThan(QUIET_MS);
});

test('drifts with a quiet time between them are each repaired at once', () => {
  const story = new Story();
  for (let i = 0; i < 50; i++, story.nowMs += QUIET_MS) expect(story.meet()).toBe('repair');
});

test('the first repairs are made at once, then each waits twice as long, then repairs stop', () => {
  const repairs = new Story().fight({ everyMs: 100, forMs: 10 * QUIET_MS });
  const waits = repairs.slice(1).map((at, i) => at - repairs[i]!);
  expect(repairs).toHaveLength(MAX_REPAIRS);
  expect(waits).toEqual([
    ...Array<number>(IMMEDIATE_REPAIRS - 1).fill(100),
    ...Array.from({ length: MAX_REPAIRS - IMMEDIATE_REPAIRS }, (_, i) => BASE_BACKOFF_MS * 2 ** i),
  ]);
});

test.each([1, 7, 50, 999, 5_000, 20_000])(
  'a program that writes every %d ms for an hour causes a bounded number of repairs',
  (everyMs) => {
    expect(new Story().fight({ everyMs, forMs: 3_600_000 }).length).toBeLessThanOrEqual(MAX_REPAIRS);
  },
);

describe('when repairs have stopped', () => {
  const stopped = (): Story => {
    const story = new Story();
    story.fight({ everyMs: 100, forMs: 20_000 });
    expect(story.meet()).toBe('stop');
    return story;
  };

  test('observations without a new write do not extend the wait: after a quiet time there is one attempt', () => {
    const story = stopped();
    const actions: string[] = [];
    for (let t = 0; t < QUIET_MS; t += 10_000, story.nowMs += 10_000) actions.push(story.meet({ written: false }));
    expect(new Set(actions)).toEqual(new Set(['stop']));
    expect(story.meet({ written: false })).toBe('repair');
  });

  test('each write starts the quiet time again', () => {
    const story = stopped();
    story.nowMs += QUIET_MS - 1;
    expect(story.meet()).toBe('stop');
    story.nowMs += QUIET_MS - 1;
    expect(story.meet({ written: false })).toBe('stop');
    story.nowMs += 1;
    expect(story.meet({ written: false })).toBe('repair');
  });

  test('an attempt that is undone stops repairs at once; one that lasts resets the count', () => {
    const story = stopped();
    story.nowMs += QUIET_MS;
    expect(story.meet({ written: false })).toBe('repair');
    story.nowMs += 50;
    expect(story.meet()).toBe('stop');
    story.nowMs += QUIET_MS;
    expect(story.meet({ written: false })).toBe('repair');
    story.nowMs += QUIET_MS;
    expect(story.fight({ everyMs: 1, forMs: IMMEDIATE_REPAIRS - 1 })).toHaveLength(IMMEDIATE_REPAIRS);
  });

  test('a new promise is repaired at once', () => {
    const story = stopped();
    story.promise = promiseOf('4-5');
    expect(story.meet()).toBe('repair');
  });
});

test('a repair that the kernel refuses is tried again with increasing waits, without an end', () => {
  const story = new Story();
  const repairs: number[] = [];
  for (let t = 0; t < 30 * 60_000; t += 1_000, story.nowMs += 1_000) {
    if (story.meet({ written: false }) !== 'repair') continue;
    repairs.push(t);
    story.history = { ...story.history!, refused: true };
  }
  const waits = repairs.slice(1).map((at, i) => at - repairs[i]!);
  expect(waits.at(-1)).toBe(MAX_BACKOFF_MS);
  expect(Math.max(...waits)).toBe(MAX_BACKOFF_MS);
});
