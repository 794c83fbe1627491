/** The time that something may take, and the signal that ends it before. */
export interface Limits {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

/**
 * Hands out a signal that aborts after the time, or with the given one, and gives what came of it. `extend` lets it begin anew with
 * another time; a process may end meanwhile.
 */
export async function withinTime<T>(
  { signal, timeoutMs }: Limits,
  run: (limit: AbortSignal, extend: (timeoutMs: number) => void) => Promise<T>,
): Promise<T> {
  const limit = new AbortController();
  const stop = (): void => limit.abort();
  let timer = setTimeout(stop, timeoutMs);
  const extend = (newTimeoutMs: number): void => {
    clearTimeout(timer);
    timer = setTimeout(stop, newTimeoutMs).unref();
  };
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    return await run(limit.signal, extend);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
  }
}

/** The promise's outcome, or an error when the signal aborts first. What the promise does then is nobody's business any more. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal, because: () => string): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(new Error(because()));
    const end = (): void => signal.removeEventListener('abort', stop);
    signal.addEventListener('abort', stop, { once: true });
    promise.then(resolve, reject).finally(end);
    if (signal.aborted) stop();
  });
}
