import { leastCpuMs, leastCpuMsOfAsync } from './cpu-time';

test('without a limit all tries are made', () => {
  let count = 0;
  expect(leastCpuMs(() => ++count, { tries: 4 })).toBeGreaterThanOrEqual(0);
  expect(count).toBe(4);
});

test('a try below the limit is the last one, and one above is followed by the others', async () => {
  let count = 0;
  const work = async (): Promise<number> => ++count;
  expect(await leastCpuMsOfAsync(work, { limitMs: 1_000 })).toBeLessThan(1_000);
  expect(count).toBe(1);
  expect(leastCpuMs(() => ++count, { tries: 3, limitMs: -1 })).toBeGreaterThanOrEqual(0);
  expect(count).toBe(4);
});
