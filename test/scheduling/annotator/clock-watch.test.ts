import { watchClock } from '../../../src/scheduling/annotator/clock-watch';

let stop: AbortController;
beforeEach(() => {
  jest.useFakeTimers();
  stop = new AbortController();
});
afterEach(() => {
  stop.abort();
  jest.useRealTimers();
});

test.each`
  given              | byMs          | want
  ${'an hour back'}  | ${-3_600_000} | ${[-3_600_000]}
  ${'an hour ahead'} | ${3_600_000}  | ${[3_600_000]}
  ${'less than 5 s'} | ${4_000}      | ${[]}
`(
  'given a wall clock that is set $given: steps $want are told, each once',
  async ({ byMs, want }: { byMs: number; want: number[] }) => {
    let offsetMs = 1_700_000_000_000;
    const steps: number[] = [];
    watchClock({ nowMs: () => performance.now() + offsetMs, onStep: (by) => steps.push(by), signal: stop.signal });
    await jest.advanceTimersByTimeAsync(60_000);
    offsetMs += byMs;
    await jest.advanceTimersByTimeAsync(60_000);
    expect(steps.map(Math.round)).toEqual(want);
    stop.abort();
    expect(jest.getTimerCount()).toBe(0);
  },
);
