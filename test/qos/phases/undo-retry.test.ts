import { afterUndo, isUndoDue, RETRY_AT_ONCE, type UndoRetry } from '../../../src/qos/phases/undo-retry';

test.each`
  name                                       | retry                                    | nowMs | isSynchronized | want
  ${'the first attempt'}                     | ${RETRY_AT_ONCE}                         | ${0}  | ${false}       | ${true}
  ${'before its time'}                       | ${{ dueMs: 10, waitsForRuntime: false }} | ${9}  | ${true}        | ${false}
  ${'at its time'}                           | ${{ dueMs: 10, waitsForRuntime: false }} | ${10} | ${false}       | ${true}
  ${'the runtime is awaited, and not there'} | ${{ dueMs: 10, waitsForRuntime: true }}  | ${9}  | ${false}       | ${false}
  ${'the runtime is awaited, and comes'}     | ${{ dueMs: 10, waitsForRuntime: true }}  | ${9}  | ${true}        | ${true}
`('isUndoDue: $name', ({ retry, nowMs, isSynchronized, want }) => {
  expect(isUndoDue(retry as UndoRetry, nowMs as number, isSynchronized as boolean)).toBe(want);
});

test('after a failure it is due later, after a success at once', () => {
  const failed = afterUndo(RETRY_AT_ONCE, false, 50);
  expect([isUndoDue(failed, 49, true), isUndoDue(failed, 50, true)]).toEqual([false, true]);
  expect(isUndoDue(afterUndo(failed, true, 99), 0, true)).toBe(true);
});
