/** A time limit, and a signal that ends the work before. */
export interface Limits {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

/**
 * Runs the work with a signal that aborts after the time, or with the given one, and returns its result. `extend`
 * starts the time anew with another length; a timer of `extend` does not keep the process alive.
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

/** The promise's outcome, or an error when the signal aborts first; the promise is ignored then. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal, because: () => string): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(new Error(because()));
    const end = (): void => signal.removeEventListener('abort', stop);
    signal.addEventListener('abort', stop, { once: true });
    promise.then(resolve, reject).finally(end);
    if (signal.aborted) stop();
  });
}
