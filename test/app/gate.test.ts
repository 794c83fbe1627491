import { EventQueue } from '../../src/app/event-queue';
import { Gate } from '../../src/app/gate';

const limits = (timeoutMs = 10_000, signal = new AbortController().signal) => ({ timeoutMs, signal });

test('a gate is closed at first, lets through when it opens, and closes again', async () => {
  const gate = new Gate();
  const waiting = gate.whenOpen(limits());
  gate.open();
  expect(await waiting).toBe(true);
  expect(gate.whenOpen(limits())).toBe(true);
  gate.close();
  expect(gate.isOpen).toBe(false);
  expect(await gate.whenOpen(limits(1))).toBe(false);
});

test('whoever gives up is let go, also one who had given up before', async () => {
  const gate = new Gate();
  const caller = new AbortController();
  const waiting = gate.whenOpen(limits(10_000, caller.signal));
  caller.abort();
  expect(await waiting).toBe(false);
  expect(await gate.whenOpen(limits(10_000, caller.signal))).toBe(false);
});

test('events of one turn come together and in order, and each has its own answer', async () => {
  const batches: string[][] = [];
  const queue = new EventQueue((events) => {
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

test('a batch that throws fails for all, and the next one goes on', async () => {
  let isBroken = true;
  const queue = new EventQueue((events) => {
    if (isBroken) throw new Error('broken');
    return events.map(() => ({ kind: 'ok' }) as const);
  });
  const stop = () => queue.handle({ kind: 'pod-stopped', sandboxId: 's' });
  const outcomes = await Promise.allSettled([stop(), stop()]);
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  isBroken = false;
  expect(await stop()).toEqual({ kind: 'ok' });
});
