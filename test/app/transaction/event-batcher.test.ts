import { EventBatcher } from '../../../src/app/transaction/event-batcher';

test('events of one turn are one batch in order, and each has its own answer', async () => {
  const batches: string[][] = [];
  const queue = new EventBatcher((events) => {
    batches.push(events.map((event) => (event.kind === 'pod-stopped' ? event.sandboxId : '')));
    return events.map((_, i) => ({ kind: 'refuse', code: 'INTERNAL', message: String(i) }) as const);
  });
  const stop = (sandboxId: string) => queue.handle({ kind: 'pod-stopped', sandboxId });
  const answers = await Promise.all([stop('a'), stop('b'), stop('c')]);
  expect(batches).toEqual([['a', 'b', 'c']]);
  expect(answers.map((answer) => answer.kind === 'refuse' && answer.message)).toEqual(['0', '1', '2']);
  await stop('d');
  expect(batches).toEqual([['a', 'b', 'c'], ['d']]);
});

test('a batch that throws rejects all its events, and the next turn has a new batch', async () => {
  const batches: number[] = [];
  const queue = new EventBatcher((events) => {
    batches.push(events.length);
    if (batches.length === 1) throw new Error('broken');
    return events.map(() => ({ kind: 'ok' }) as const);
  });
  const stop = (sandboxId: string) => queue.handle({ kind: 'pod-stopped', sandboxId });
  const outcomes = await Promise.allSettled([stop('a'), stop('b')]);
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(batches).toEqual([2]);
  expect(await stop('c')).toEqual({ kind: 'ok' });
});
