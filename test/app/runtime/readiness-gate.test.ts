import { ReadinessGate } from '../../../src/app/runtime/readiness-gate';

const limits = (timeoutMs = 10_000, signal = new AbortController().signal) => ({ timeoutMs, signal });

test('a new gate is closed; calls pass once it opens, and wait again after it closes', async () => {
  const gate = new ReadinessGate();
  const waiting = gate.whenOpen(limits());
  gate.open();
  expect(await waiting).toBe(true);
  expect(gate.whenOpen(limits())).toBe(true);
  gate.close();
  expect(gate.isOpen).toBe(false);
  expect(await gate.whenOpen(limits(1))).toBe(false);
});

test('an aborted caller gets false at once, also when it had aborted before the call', async () => {
  const gate = new ReadinessGate();
  const caller = new AbortController();
  const waiting = gate.whenOpen(limits(10_000, caller.signal));
  caller.abort();
  expect(await waiting).toBe(false);
  expect(await gate.whenOpen(limits(10_000, caller.signal))).toBe(false);
});
