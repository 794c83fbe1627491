import { chmodSync, linkSync, lstatSync, mkdtempSync, renameSync, rmSync, type BigIntStats } from 'node:fs';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';

import { CpusetdError } from '../core/errors';
import { meaningOf, systemCodeOf } from '../core/system-errors';
import { makeWithParents } from '../files/fs-ops';
import { MAX_SOCKET_PATH_BYTES } from './connect-unix';

/**
 * The content of the path of a unix socket: `live` = a process listens, `stale` = its process is gone, `denied` = we
 * may not open it, `not-a-socket` = a file of another kind.
 */
export type SocketPresence = 'absent' | 'live' | 'stale' | 'denied' | 'not-a-socket';

/** Connects, since the file alone does not show if a process listens. */
export async function probeSocket(path: string): Promise<SocketPresence> {
  let stats;
  try {
    stats = lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if (isDenied((error as NodeJS.ErrnoException).code)) return 'denied'; // its folder may not be searched
    throw error;
  }
  if (stats === undefined) return 'absent';
  if (!stats.isSocket()) return 'not-a-socket';
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve('live');
    });
    socket.once('error', ({ code }: NodeJS.ErrnoException) => {
      if (code === 'ECONNREFUSED') resolve('stale');
      else if (code === 'ENOENT') resolve('absent');
      else resolve(isDenied(code) ? 'denied' : 'live'); // EAGAIN: it listens, its queue is full
    });
  });
}

function isDenied(code: string | undefined): boolean {
  return code === 'EACCES' || code === 'EPERM';
}

/**
 * Listens on a unix socket that only its owner can ever open, and replaces the socket of a dead process.
 *
 * The socket is bound in a new private directory, gets its mode there, and is then linked to its path, so that no other
 * user can connect at any instant. Of several processes that claim one path at the same time one succeeds; a socket
 * that appeared meanwhile is never replaced. The parent directory is made when it is missing.
 *
 * `listen` must listen on the path that it is given. Returns a function that removes the socket, unless it was
 * replaced. Throws CpusetdError ALREADY_EXISTS when a process listens there, INVALID_ARGUMENT for a path that no socket
 * can have, FAILED_PRECONDITION for any other obstacle.
 */
export async function claimSocket(path: string, listen: (path: string) => Promise<unknown>): Promise<() => void> {
  const parent = dirname(path);
  const longest = Math.max(Buffer.byteLength(path), Buffer.byteLength(join(parent, '.XXXXXX/s')));
  if (longest > MAX_SOCKET_PATH_BYTES) {
    throw new CpusetdError(
      'INVALID_ARGUMENT',
      `can't listen on ${path}: the path is too long for a socket; use a shorter one`,
    );
  }
  let created: FileId;
  try {
    refuseTaken(path, await probeSocket(path));
    makeWithParents(parent, 0o755);
    const directory = mkdtempSync(`${parent}/.`);
    try {
      const bound = join(directory, 's');
      await listen(bound);
      chmodSync(bound, 0o600);
      created = lstatSync(bound);
      await putInPlace(bound, path, join(directory, 'before'));
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  } catch (error) {
    throw error instanceof CpusetdError ? error : inTheWay(path, error);
  }
  const { dev, ino } = created;
  return () => {
    const there = lstatSync(path, { throwIfNoEntry: false });
    if (there?.ino === ino && there.dev === dev) rmSync(path, { force: true });
  };
}

interface FileId {
  readonly dev: number;
  readonly ino: number;
}

function refuseTaken(path: string, presence: SocketPresence): void {
  if (presence === 'live')
    throw new CpusetdError(
      'ALREADY_EXISTS',
      `can't listen on ${path}: another process answers there; stop it, or choose another path`,
    );
  if (presence === 'not-a-socket')
    throw new CpusetdError(
      'FAILED_PRECONDITION',
      `can't listen on ${path}: a file that is no socket is there; remove it, or choose another path`,
    );
}

/** Most attempts, since others may claim the same path meanwhile. */
const TRIES = 10;

/** Links the socket to its path: a link fails when the path is taken, while a rename would replace the file there. */
async function putInPlace(bound: string, path: string, aside: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      linkSync(bound, path);
      return;
    } catch (error) {
      const code = systemCodeOf(error) ?? '';
      if (NO_LINKS.has(code)) {
        renameSync(bound, path);
        return;
      }
      if (code !== 'EEXIST' || tries === TRIES) throw error;
    }
    const found = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    refuseTaken(path, await probeSocket(path));
    if (found) takeAway(found, path, aside);
  }
}

/** The errors of file systems without hard links. */
const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']);

/**
 * Removes a stale socket. A name can't be removed on the condition that it still means the same file, so it is moved
 * and compared, and put back at once when it is another file.
 */
function takeAway({ ino, birthtimeNs }: BigIntStats, path: string, aside: string): void {
  try {
    renameSync(path, aside);
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return; // another process removed it
    throw error;
  }
  const moved = lstatSync(aside, { bigint: true });
  if (moved.ino !== ino || moved.birthtimeNs !== birthtimeNs) linkSync(aside, path);
  rmSync(aside);
}

function inTheWay(path: string, error: unknown): CpusetdError {
  const code = systemCodeOf(error) ?? 'unknown error';
  const reason = meaningOf('listen on a unix socket', code) ?? code;
  const message = `can't listen on ${path}: ${reason}; check the path and its folder, or choose another path`;
  return new CpusetdError('FAILED_PRECONDITION', message, { cause: error });
}
