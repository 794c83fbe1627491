import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  type BigIntStats,
} from 'node:fs';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';

import { CpusetdError } from '../core/errors';
import { MAX_SOCKET_PATH_BYTES } from './connect-unix';

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
 * The socket is bound in a new folder that is closed to others, gets its mode there and is then put in its place: no
 * instant at which someone else could connect. Of several that claim one path at the same time one gets it: what came there
 * meanwhile is never replaced. The parent folder is made when it is missing.
 *
 * `listen` must listen on the path that it is given. Returns what removes the socket, unless someone replaced it.
 * Throws CpusetdError ALREADY_EXISTS when somebody listens there, INVALID_ARGUMENT for a path that can't be a socket's,
 * FAILED_PRECONDITION for anything else that is in the way.
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
  let made: Made;
  try {
    refuseTaken(path, await probeSocket(path));
    makeFolder(parent);
    const folder = mkdtempSync(`${parent}/.`);
    try {
      const bound = join(folder, 's');
      await listen(bound);
      chmodSync(bound, 0o600);
      made = lstatSync(bound);
      await putInPlace(bound, path, join(folder, 'before'));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  } catch (error) {
    throw error instanceof CpusetdError ? error : inTheWay(path, error);
  }
  const { dev, ino } = made;
  return () => {
    const there = lstatSync(path, { throwIfNoEntry: false });
    if (there?.ino === ino && there.dev === dev) rmSync(path, { force: true });
  };
}

interface Made {
  readonly dev: number;
  readonly ino: number;
}

function refuseTaken(path: string, presence: SocketPresence): void {
  if (presence === 'live')
    throw new CpusetdError(
      'ALREADY_EXISTS',
      `can't listen on ${path}: another process answers there; stop it, or choose another path`,
    );
  if (presence === 'foreign')
    throw new CpusetdError(
      'FAILED_PRECONDITION',
      `can't listen on ${path}: a file that is no socket is there; remove it, or choose another path`,
    );
}

/** Others that want the path do the same; who is passed so often has lost to one that listens. */
const TRIES = 10;

/** A second name, not a new one: that is refused when the path is taken, where a rename would replace what is there. */
async function putInPlace(bound: string, path: string, aside: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      linkSync(bound, path);
      return;
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException;
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
 * Removes what was found dead. There is no way to remove a name only if it still means the same file: so it is moved, looked
 * at, and put back at once when somebody has come in the meantime.
 */
function takeAway({ ino, birthtimeNs }: BigIntStats, path: string, aside: string): void {
  try {
    renameSync(path, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return; // somebody else did
    throw error;
  }
  const moved = lstatSync(aside, { bigint: true });
  if (moved.ino !== ino || moved.birthtimeNs !== birthtimeNs) linkSync(aside, path);
  rmSync(aside);
}

/** Not Node's own way with parents: that spins for ever where a file system makes no folders, as in /proc. */
function makeFolder(path: string): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  try {
    mkdirSync(path, 0o755);
  } catch (error) {
    const isThere = statSync(path, { throwIfNoEntry: false })?.isDirectory(); // of another that starts now
    if (isThere !== true) throw error;
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
