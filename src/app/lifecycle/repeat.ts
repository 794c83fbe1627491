import { pause } from '../../net/pause';

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
