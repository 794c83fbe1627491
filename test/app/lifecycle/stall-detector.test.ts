import { StallDetector } from '../../../src/app/lifecycle/stall-detector';

let stop: AbortController;
beforeEach(() => {
  jest.useFakeTimers();
  stop = new AbortController();
});
afterEach(() => {
  stop.abort();
  expect(jest.getTimerCount()).toBe(0);
  jest.useRealTimers();
});

/** A detector whose clock runs with the timers. During a stall only the clock runs. */
function beating() {
  let nowMs = 5_000;
  const detector = new StallDetector({ signal: stop.signal, steadyMs: () => nowMs });
  const run = (ms: number): void => {
    for (let passed = 0; passed < ms; passed += 50) {
      nowMs += 50;
      jest.advanceTimersByTime(50);
    }
  };
  const stall = (ms: number): void => void (nowMs += ms);
  return { detector, run, stall };
}

test('a process without stalls has none at any time', () => {
  const { detector, run } = beating();
  for (let i = 0; i < 30; i++) {
    run(50);
    expect(detector.stalledForMs()).toBe(0);
  }
});

test.each(['sockets', 'timers'])(
  'after a stop of 60 s the stall is reported, also when %s are served first',
  (first) => {
    const { detector, run, stall } = beating();
    run(1_000);
    stall(60_000);
    if (first === 'timers') run(250);
    expect(detector.stalledForMs()).toBeGreaterThanOrEqual(60_000);
    expect(detector.stalledForMs()).toBeLessThan(60_600); // at most the beat before the stop and the time since
    expect(detector.stalledForMs()).toBeGreaterThanOrEqual(60_000); // a second call gives the same
  },
);

test('a stop is over two seconds later', () => {
  const { detector, run, stall } = beating();
  stall(60_000);
  run(2_000);
  expect(detector.stalledForMs()).toBe(0);
});

test('a second stop is measured from its own beginning', () => {
  const { detector, run, stall } = beating();
  stall(60_000);
  run(5_000);
  stall(3_000);
  expect(detector.stalledForMs()).toBeGreaterThanOrEqual(3_000);
  expect(detector.stalledForMs()).toBeLessThan(3_500);
});

test('a long turn of the event loop is a stall, by the real clock', () => {
  jest.useRealTimers();
  const detector = new StallDetector({ signal: stop.signal });
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 700);
  expect(detector.stalledForMs()).toBeGreaterThanOrEqual(690);
  jest.useFakeTimers();
});
