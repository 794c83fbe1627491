import { watch, type FSWatcher } from 'node:fs';
import { basename, dirname } from 'node:path';

/** A restarting runtime touches its socket several times; this keeps a storm of them from becoming a busy loop. */
const SETTLE_MS = 20;

export interface RetryWait {
  readonly socketPath: string;
  readonly delayMs: number;
  readonly signal: AbortSignal;
}

/**
 * Waits until connecting is worth another try: the delay is over, or the socket has been made anew (which its
 * directory tells at once), or the signal says stop. Never rejects.
 */
export function waitForRetry({ socketPath, delayMs, signal }: RetryWait): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const finish = () => {
      clearTimeout(timer);
      watcher?.close();
      signal.removeEventListener('abort', finish);
      resolve();
    };
    let touched = false;
    const onTouched = () => {
      if (touched) return;
      touched = true;
      clearTimeout(timer);
      timer = setTimeout(finish, Math.min(SETTLE_MS, delayMs));
    };
    let timer = setTimeout(finish, delayMs);
    const watcher = watchName(socketPath, onTouched);
    signal.addEventListener('abort', finish);
  });
}

/** Undefined when the directory can't be watched, say because it is not there yet: the delay alone counts then. */
function watchName(path: string, onTouched: () => void): FSWatcher | undefined {
  try {
    const watcher = watch(dirname(path), (_event, name) => {
      if (name === basename(path)) onTouched();
    });
    watcher.on('error', () => watcher.close());
    return watcher;
  } catch {
    return undefined;
  }
}
