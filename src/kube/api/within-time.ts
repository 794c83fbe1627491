/** The time that something may take, and the signal that ends it before. */
export interface Limits {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

/** Hands out a signal that aborts after the time, or with the given one, and gives what came of it. */
export async function withinTime<T>(
  { signal, timeoutMs }: Limits,
  run: (limit: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = new AbortController();
  const stop = (): void => limit.abort();
  const timer = setTimeout(stop, timeoutMs);
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    return await run(limit.signal);
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
