import { RivalPauses } from '../../../src/app/qos/rival-pauses';

const HOUR_MS = 3_600_000;

function start() {
  const clock = { ms: 5 };
  const pauses = new RivalPauses(() => clock.ms);
  return {
    pauses,
    clock,
    /** Waits, answers, and returns the pause in seconds, without its jitter. */
    answer: (change: 'changed' | 'gone'): number => {
      const waitMs = pauses.waitMs(change);
      clock.ms += waitMs;
      expect(pauses.waitMs(change)).toBe(0);
      pauses.noteAnswer();
      return 2 ** Math.round(Math.log2(waitMs / 1000));
    },
  };
}

test('the pauses grow to ten minutes, a quarter more or less', () => {
  const { answer, pauses } = start();
  expect(Array.from({ length: 6 }, () => answer('changed'))).toEqual([1, 2, 4, 8, 16, 32]);
  for (let i = 0; i < 6; i++) answer('changed');
  expect(Math.abs(pauses.waitMs('changed') - 600_000)).toBeLessThanOrEqual(0.25 * 600_000);
});

test('what is gone is made anew at once the first time, and after growing pauses then', () => {
  const { answer } = start();
  expect([answer('gone'), answer('gone'), answer('gone'), answer('changed')]).toEqual([0, 2, 4, 8]);
});

test('a few changes in months are each answered soon: after a quiet hour the pauses begin anew', () => {
  const { answer, clock, pauses } = start();
  for (let month = 0; month < 12; month++) {
    expect([answer('changed'), answer('changed')]).toEqual([1, 2]);
    clock.ms += HOUR_MS;
  }
  expect(answer('gone')).toBe(0);
  expect(pauses.noteAnswer()).toBe(2);
});

test('a pause goes on however often it is asked for, and ends when there is nothing to put right', () => {
  const { clock, pauses } = start();
  const waitMs = pauses.waitMs('changed');
  clock.ms += 300;
  expect(pauses.waitMs('changed')).toBe(waitMs - 300);
  pauses.rest();
  clock.ms += HOUR_MS;
  expect(pauses.waitMs('changed')).toBeGreaterThan(700);
});
