import { statSync, watch, type FSWatcher } from 'node:fs';
import { basename, dirname } from 'node:path';

import { MAX_SOCKET_PATH_BYTES } from '../net/connect-unix';

/** Wait after a change of the socket's file: a runtime that restarts changes it several times. */
const SETTLE_MS = 20;

/** One wait between two attempts. */
export interface RetryWait {
  readonly socketPath: string;
  readonly delayMs: number;
  readonly signal: AbortSignal;
}

/**
 * Waits until the delay is over, the socket appears in its directory, or the signal aborts. Never rejects.
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

/**
 * Watches for the name; undefined when the directory can't be watched, for example before it exists: the delay alone
 * counts then.
 */
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

/**
 * Returns the reason of a failed connection for the operator: the path, the rule, the remedy. `setting` names the
 * setting of the path.
 *
 * A file that is no socket gives ECONNREFUSED, as does a socket without a listener: the file's type decides.
 */
export function explainConnectError(error: NodeJS.ErrnoException, path: string, setting: string): string {
  switch (error.code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return `no socket at ${path}: the runtime has not been started, or NRI is switched off; enable it (containerd: disable = false under [plugins."io.containerd.nri.v1.nri"], CRI-O: enable_nri = true) or set ${setting}`;
    case 'ECONNREFUSED':
      return isSocket(path)
        ? `nobody listens at ${path}: the runtime is down; it is connected as soon as it is back`
        : `${path} is not a socket: set ${setting} to the runtime's NRI socket, and in a pod mount its directory rather than the socket`;
    case 'EACCES':
    case 'EPERM':
      return `permission denied at ${path}: only root may use the NRI socket; run as root, and allow it in SELinux or AppArmor`;
    case 'ENAMETOOLONG':
      return `the path ${path} is too long: a unix socket's path has at most ${MAX_SOCKET_PATH_BYTES} bytes; set ${setting} to a shorter one`;
    default:
      return `connecting to ${path} failed: ${error.message}`;
  }
}

function isSocket(path: string): boolean {
  try {
    return statSync(path).isSocket();
  } catch {
    return true; // the file is gone or not readable: the plainer message fits
  }
}
