import { EarliestTimer } from '../../src/net/earliest-timer';

let stop: AbortController;
let fired: number[];
let startMs: number;

beforeEach(() => {
  jest.useFakeTimers({ now: 0 });
  stop = new AbortController();
  fired = [];
  startMs = performance.now();
});
afterEach(() => jest.useRealTimers());

function noteFired(): void {
  fired.push(Math.round(performance.now() - startMs));
}

function makeTimer(onDue: () => void | Promise<void> = noteFired): EarliestTimer {
  return new EarliestTimer(onDue, stop.signal);
}

test('fires once, at the earliest of the times that it was started for, and never early', () => {
  const timer = makeTimer();
  timer.startIn(100);
  timer.startIn(50);
  timer.startIn(200);
  jest.advanceTimersByTime(1_000);
  expect(fired).toEqual([51]);
});

test('started again after it has fired, it fires again', () => {
  const timer = makeTimer();
  timer.startIn(10);
  jest.advanceTimersByTime(20);
  timer.startIn(10);
  jest.advanceTimersByTime(20);
  expect(fired).toHaveLength(2);
});

test('a restart replaces an earlier time', () => {
  const timer = makeTimer();
  timer.startIn(10);
  timer.restartIn(500);
  jest.advanceTimersByTime(1_000);
  expect(fired).toEqual([501]);
});

test.each`
  name                      | abortFirst
  ${'before it is started'} | ${true}
  ${'while it waits'}       | ${false}
`('with the signal aborted $name it never fires', ({ abortFirst }: { abortFirst: boolean }) => {
  const timer = makeTimer();
  if (abortFirst) stop.abort();
  timer.startIn(10);
  stop.abort();
  jest.advanceTimersByTime(1_000);
  expect([fired.length, jest.getTimerCount()]).toEqual([0, 0]);
});

test('started during asynchronous work, it fires when the work has ended, counted from the start', async () => {
  let end: () => void = () => undefined;
  const timer = makeTimer(() => {
    noteFired();
    return new Promise((resolve) => (end = resolve));
  });
  timer.startIn(10);
  jest.advanceTimersByTime(11);
  timer.startIn(100);
  await jest.advanceTimersByTimeAsync(1_000);
  expect(fired).toEqual([11]);
  end();
  await jest.advanceTimersByTimeAsync(1);
  expect(fired).toEqual([11, 1_012]);
});

test('a restart during asynchronous work replaces what the work was started for meanwhile', async () => {
  const timer: EarliestTimer = makeTimer(async () => {
    noteFired();
    await Promise.resolve();
    timer.startIn(5);
    timer.restartIn(100);
  });
  timer.startIn(10);
  await jest.advanceTimersByTimeAsync(150);
  expect(fired).toEqual([11, 112]);
});
