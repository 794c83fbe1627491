import { Period, repeat } from '../../../src/app/lifecycle/repeat';

let stop: AbortController;
beforeEach(() => {
  jest.useFakeTimers();
  stop = new AbortController();
});
afterEach(() => jest.useRealTimers());

test('a round longer than the period does not overlap the next one, which begins a period after its end', async () => {
  let [running, most, ended] = [0, 0, 0];
  const round = async (): Promise<void> => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setTimeout(resolve, 250));
    running--;
    ended++;
  };
  const all = repeat(round, { period: new Period(100), signal: stop.signal });
  await jest.advanceTimersByTimeAsync(3 * 350);
  expect({ most, ended }).toEqual({ most: 1, ended: 3 });
  stop.abort();
  await jest.advanceTimersByTimeAsync(250);
  await all;
});

test('abort during a round: repeat resolves at the end of the round, and no other begins', async () => {
  let finish: () => void = () => undefined;
  let begun = 0;
  let isOver = false;
  const round = (): Promise<void> => {
    begun++;
    return new Promise((resolve) => (finish = resolve));
  };
  const all = repeat(round, { period: new Period(100), signal: stop.signal }).then(() => (isOver = true));
  stop.abort();
  await jest.advanceTimersByTimeAsync(1_000);
  expect({ begun, isOver }).toEqual({ begun: 1, isOver: false });
  finish();
  await all;
  expect(begun).toBe(1);
});

test('given an aborted signal, no round begins', async () => {
  stop.abort();
  const round = jest.fn();
  await repeat(round, { period: new Period(100), signal: stop.signal });
  expect(round).not.toHaveBeenCalled();
});

test('a shorter period begins at once, and holds from then on', async () => {
  const period = new Period(3_600_000);
  const startsMs: number[] = [];
  const all = repeat(() => void startsMs.push(performance.now()), { period, signal: stop.signal });
  await jest.advanceTimersByTimeAsync(1_000);
  period.change(100);
  period.change(100);
  await jest.advanceTimersByTimeAsync(250);
  expect(startsMs.map((ms) => Math.round(ms - startsMs[0]!))).toEqual([0, 1_000, 1_100, 1_200]);
  stop.abort();
  await all;
  expect(jest.getTimerCount()).toBe(0);
});
