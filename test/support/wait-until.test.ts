import { poll, waitUntil } from './wait-until';

test('a condition that never holds ends with the description, the deadline and the last value seen', async () => {
  let count = 0;
  const isFar = () => ++count > 1_000_000;
  const seen = () => ({ isFar: count > 1_000_000 });
  await expect(waitUntil('a far count', isFar, 20, { seen })).rejects.toThrow(
    'not within 20 ms: a far count; last seen: { isFar: false }',
  );
});

test('a condition without a description is described by its own text', async () => {
  let isDone = false;
  await expect(waitUntil(() => isDone, 10)).rejects.toThrow('not within 10 ms: ()=>isDone');
  isDone = true;
  await waitUntil(() => isDone, 0);
});

test('a poll gives the first answer that is not undefined', async () => {
  const answers = [undefined, undefined, 'there'];
  expect(await poll('an answer', () => answers.shift())).toBe('there');
  await expect(poll('an answer', () => undefined, 10)).rejects.toThrow('not within 10 ms: an answer');
});
