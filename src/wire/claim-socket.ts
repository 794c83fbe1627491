import { chmodSync, existsSync, lstatSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';

import { CpusetdError } from '../core/errors';

/** Longest path of a unix socket that Linux takes: sun_path without its final zero byte. */
const MAX_PATH_BYTES = 107;

/**
 * What is at the path of a unix socket: `live` a process that listens, `stale` the file of one that is gone,
 * `denied` something that we may not open, `foreign` a file of another kind.
 */
export type SocketPresence = 'absent' | 'live' | 'stale' | 'denied' | 'foreign';

/** Looks by connecting: a file alone does not tell whether somebody listens. */
export async function probeSocket(path: string): Promise<SocketPresence> {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return 'absent';
  if (!stats.isSocket()) return 'foreign';
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve('live');
    });
    socket.once('error', ({ code }: NodeJS.ErrnoException) => {
      if (code === 'ECONNREFUSED') resolve('stale');
      else if (code === 'ENOENT') resolve('absent');
      else resolve(code === 'EACCES' || code === 'EPERM' ? 'denied' : 'live'); // EAGAIN: it listens, its queue is full
    });
  });
}

/**
 * Listens on a unix socket that only its owner can ever open, in place of what a dead process left there.
 *
 * The socket is bound in a new folder that is closed to others, gets its mode there and is then moved to its place:
 * no instant at which someone else could connect. The parent folder is made when it is missing.
 *
 * `listen` must listen on the path that it is given. Returns what removes the socket, unless someone replaced it.
 * Throws CpusetdError ALREADY_EXISTS when somebody listens there, INVALID_ARGUMENT for a path that can't be a socket's,
 * FAILED_PRECONDITION for anything else that is in the way.
 */
export async function claimSocket(path: string, listen: (path: string) => Promise<unknown>): Promise<() => void> {
  const parent = dirname(path);
  const longest = Math.max(Buffer.byteLength(path), Buffer.byteLength(join(parent, '.XXXXXX/s')));
  if (longest > MAX_PATH_BYTES) {
    throw new CpusetdError(
      'INVALID_ARGUMENT',
      `can't listen on ${path}: the path is too long for a socket; use a shorter one`,
    );
  }
  const presence = await probe(path);
  if (presence === 'live') {
    throw new CpusetdError(
      'ALREADY_EXISTS',
      `can't listen on ${path}: another process answers there; stop it, or choose another path`,
    );
  }
  if (presence === 'foreign') {
    throw new CpusetdError(
      'FAILED_PRECONDITION',
      `can't listen on ${path}: a file that is no socket is there; remove it, or choose another path`,
    );
  }
  try {
    makeFolder(parent);
    const folder = mkdtempSync(`${parent}/.`);
    try {
      const bound = join(folder, 's');
      await listen(bound);
      chmodSync(bound, 0o600);
      renameSync(bound, path);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  } catch (error) {
    throw inTheWay(path, error);
  }
  const { ino } = lstatSync(path);
  return () => {
    if (lstatSync(path, { throwIfNoEntry: false })?.ino === ino) rmSync(path, { force: true });
  };
}

/** Not Node's own way with parents: that spins for ever where a file system makes no folders, as in /proc. */
function makeFolder(path: string): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  mkdirSync(path, 0o755);
}

async function probe(path: string): Promise<SocketPresence> {
  try {
    return await probeSocket(path);
  } catch (error) {
    throw inTheWay(path, error);
  }
}

function inTheWay(path: string, error: unknown): CpusetdError {
  const { code = 'unknown error' } = error as NodeJS.ErrnoException;
  const message = `can't listen on ${path}: ${REASONS[code] ?? code}; check the path and its folder, or choose another path`;
  return new CpusetdError('FAILED_PRECONDITION', message, { cause: error });
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'not permitted',
  ENOTDIR: 'a part of the path is not a folder',
  EEXIST: 'a part of the path is not a folder',
  EROFS: 'the file system is read-only',
  ENOSPC: 'no space left on the device',
};
