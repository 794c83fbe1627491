/** The time at which what could not be undone is tried again. */
export interface UndoRetry {
  /** Time of the monotonic clock, in ms. */
  readonly dueMs: number;
  /** Quotas are left that nobody may touch before the runtime has listed its containers: then it is tried at once. */
  readonly waitsForRuntime: boolean;
}

export const RETRY_AT_ONCE: UndoRetry = { dueMs: -Infinity, waitsForRuntime: false };

export function isUndoDue({ dueMs, waitsForRuntime }: UndoRetry, nowMs: number, isSynchronized: boolean): boolean {
  return nowMs >= dueMs || (waitsForRuntime && isSynchronized);
}

/** After a failure it is tried again at `dueMs`; after a success there is nothing to wait for. */
export function afterUndo(retry: UndoRetry, isDone: boolean, dueMs: number): UndoRetry {
  return { ...retry, dueMs: isDone ? RETRY_AT_ONCE.dueMs : dueMs };
}
