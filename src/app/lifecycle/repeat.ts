/**
 * Calls `round` again and again, one at a time, with a pause of `periodMs` after each, until the signal is aborted.
 * The returned promise resolves then, when the round under way has ended. A round never rejects: it logs.
 */
export async function repeat(
  round: () => void | Promise<void>,
  { periodMs, signal }: { readonly periodMs: number; readonly signal: AbortSignal },
): Promise<void> {
  while (!signal.aborted) {
    await round();
    await pause(periodMs, signal);
  }
}

/** Resolves after the time, or when the signal is aborted. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done, { once: true });
  });
}
