import { closeSync, constants, fchmodSync, fstatSync, openSync } from 'node:fs';
import { resolve } from 'node:path';
import { meaningOf, systemCodeOf } from '../../core/system-errors';
import { makeDirectoryDurably } from '../../files/durable-write';
import { nodeFsOps } from '../../files/fs-ops';
import { HostError } from '../host-error';

/** A lock or a directory that the daemon needs is not available. The message says which. */
export class HostLockError extends HostError {
  override readonly name = 'HostLockError';
}

export interface OwnDirectory {
  readonly fd: number;
  /** The directories that were found open to others, for the log. */
  readonly warnings: readonly string[];
}

const WRITABLE_BY_OTHERS = 0o022;
const STICKY = 0o1000;

/**
 * Opens a directory to which only we may write; makes it (mode 0700) when it is missing. A user who can write to it
 * could replace the lock and the state.
 *
 * A directory of ours that others may write to is closed to them, with a warning: a refusal would take the node out of
 * service at an upgrade. A directory that is shared on purpose (sticky, like /tmp or a new tmpfs) gets a warning and is
 * left as it is: others can't replace our files in it. Throws HostLockError for a foreign owner, and when the directory
 * can't be made or opened.
 */
export function openOwnDirectory(path: string): OwnDirectory {
  const directory = resolve(path);
  const fd = open(directory);
  try {
    return { fd, warnings: closeToOthers(directory, fd) };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

function open(directory: string): number {
  try {
    makeDirectoryDurably(nodeFsOps, directory);
    return openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY);
  } catch (error) {
    const code = systemCodeOf(error) ?? 'unknown error';
    throw new HostLockError(
      `${directory}: ${meaningOf('open a directory', code) ?? 'the directory is not there and cannot be made, or cannot be opened'} (${code}); cpusetd needs ` +
        'a directory of its own: set another --state-dir or --lock-dir, whichever this is',
      { cause: error },
    );
  }
}

function closeToOthers(directory: string, fd: number): string[] {
  const { uid, mode } = fstatSync(fd);
  const own = process.geteuid?.() ?? 0;
  if (uid !== own && uid !== 0)
    throw new HostLockError(
      `${directory}: the directory belongs to user ${uid}, who could replace what is in it; run: chown ${own} ${directory}`,
    );
  if ((mode & WRITABLE_BY_OTHERS) === 0) return [];
  const shown = (mode & 0o7777).toString(8);
  if ((mode & STICKY) !== 0)
    return [
      `${directory} has mode ${shown}: it is shared with others; choose one for cpusetd alone, or run: chmod 700 ${directory}`,
    ];
  try {
    fchmodSync(fd, mode & 0o7777 & ~WRITABLE_BY_OTHERS);
    return [`${directory} had mode ${shown}: others could write to it, and can't any more`];
  } catch (error) {
    const code = systemCodeOf(error) ?? 'unknown error';
    if (code === 'EROFS')
      return [`${directory} has mode ${shown}, and the file system is read-only; run: chmod go-w ${directory}`];
    throw new HostLockError(
      `${directory}: others may write to the directory (mode ${shown}); run: chmod go-w ${directory}`,
      {
        cause: error,
      },
    );
  }
}
