import { startTimer } from '../../src/wire/start-timer';

test.each([undefined, 2 ** 31, Infinity])('a deadline of %p ms has no timer', (timeoutMs) => {
  expect(startTimer(timeoutMs, () => undefined)).toBeUndefined();
});

test('a timer fires after its time', async () => {
  const firedAfterMs = await new Promise<number>((resolve) => {
    const startMs = performance.now();
    startTimer(20, () => resolve(performance.now() - startMs));
  });
  expect(firedAfterMs).toBeGreaterThan(18);
});
