import pino from 'pino';
import { Watchdog } from '../../../src/app/lifecycle/watchdog';

const logged: string[] = [];
const log = pino({ level: 'error' }, { write: (line: string) => void logged.push(line) });
let nowMs: number;
let sent: string[];
let answers: (() => void)[];
let problem: string | undefined;
beforeEach(() => {
  [nowMs, sent, answers, problem] = [1_000, [], [], undefined];
  logged.length = 0;
});

const watchdogOf = (limitMs: number, periodMs: number): Watchdog =>
  new Watchdog({
    limitMs,
    periodMs,
    send: (fields, onSent) => {
      sent.push(`${nowMs / 1000} s: ${fields.join(' ')}`);
      answers.push(() => onSent(problem));
    },
    log,
    steadyMs: () => nowMs,
  });

/** A round ends at this time, and what is sent arrives. */
function endAt(watchdog: Watchdog, seconds: number): void {
  nowMs = seconds * 1000;
  watchdog.noteEnd();
  for (const answer of answers.splice(0)) answer();
}

test('the first round that ends feeds it, then one in each sixth of the limit', () => {
  const watchdog = watchdogOf(180_000, 10_000);
  for (let seconds = 1; seconds <= 100; seconds += 10) endAt(watchdog, seconds);
  expect(sent).toEqual(['1 s: WATCHDOG=1', '31 s: WATCHDOG=1', '61 s: WATCHDOG=1', '91 s: WATCHDOG=1']);
});

test('without a round that ends nothing is sent, for whatever time', () => {
  jest.useFakeTimers();
  watchdogOf(180_000, 10_000);
  jest.advanceTimersByTime(3_600_000);
  expect([sent, jest.getTimerCount()]).toEqual([[], 0]);
  jest.useRealTimers();
});

test('a round after a long one feeds it at once', () => {
  const watchdog = watchdogOf(180_000, 10_000);
  endAt(watchdog, 1);
  endAt(watchdog, 171);
  expect(sent).toEqual(['1 s: WATCHDOG=1', '171 s: WATCHDOG=1']);
});

test('four periods that take longer than the limit make the limit longer', () => {
  const watchdog = watchdogOf(180_000, 60_000);
  endAt(watchdog, 1);
  endAt(watchdog, 61);
  expect(sent).toEqual(['1 s: WATCHDOG=1 WATCHDOG_USEC=240000000', '61 s: WATCHDOG=1']);
});

test('a new period changes the limit with the next round that ends, and a short one restores that of the unit', () => {
  const watchdog = watchdogOf(180_000, 10_000);
  endAt(watchdog, 1);
  watchdog.follow(3_600_000);
  endAt(watchdog, 2);
  watchdog.follow(1_000);
  endAt(watchdog, 3);
  endAt(watchdog, 4);
  expect(sent).toEqual([
    '1 s: WATCHDOG=1',
    '2 s: WATCHDOG=1 WATCHDOG_USEC=14400000000',
    '3 s: WATCHDOG=1 WATCHDOG_USEC=180000000',
  ]);
});

test('a message that systemd did not get is sent again with the next round, and logged', () => {
  const watchdog = watchdogOf(180_000, 60_000);
  problem = 'systemd-notify: exit 1';
  endAt(watchdog, 1);
  problem = undefined;
  endAt(watchdog, 2);
  expect(sent).toEqual([1, 2].map((at) => `${at} s: WATCHDOG=1 WATCHDOG_USEC=240000000`));
  expect(logged.map((line) => (JSON.parse(line) as { because: string }).because)).toEqual(['systemd-notify: exit 1']);
});

test('while a message is on its way no other is sent', () => {
  const watchdog = watchdogOf(6_000, 100);
  for (nowMs = 1_000; nowMs < 10_000; nowMs += 100) watchdog.noteEnd();
  expect(sent).toEqual(['1 s: WATCHDOG=1']);
});
