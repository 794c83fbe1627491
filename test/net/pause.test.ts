import { pause } from '../../src/net/pause';

afterEach(() => jest.useRealTimers());

test('given an abort during a pause: it ends at once and leaves no timer', async () => {
  jest.useFakeTimers();
  const stop = new AbortController();
  const paused = pause(60_000, stop.signal);
  stop.abort();
  await paused;
  await pause(60_000, stop.signal);
  expect(jest.getTimerCount()).toBe(0);
});
