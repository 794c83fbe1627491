import { createHash } from 'node:crypto';
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  ftruncateSync,
  lstatSync,
  openSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { systemCodeOf } from '../../core/system-errors';
import { readBounded } from '../../files/read-bounded';
import { tryFlock, tryFlockAsync } from './flock';
import { identifySocket } from './identify-socket';
import { HostLockError, openOwnDirectory } from '../directories/own-directory';

export { HostLockError } from '../directories/own-directory';

export interface HostLock {
  /** Directories that were open to others, for the log. */
  readonly warnings: readonly string[];
  /** Releases the lock; harmless when called twice. The kernel also releases it when the process ends. */
  release(): void;
}

export type HostLockOutcome =
  | { readonly kind: 'acquired'; readonly lock: HostLock }
  | {
      readonly kind: 'held';
      /** The pid that the holder wrote, in its own PID namespace. */
      readonly holderPid: number | undefined;
      readonly because: string;
    };

/**
 * Takes the lock that keeps a second writer off a state directory, or names its holder. Never waits.
 *
 * The lock is on the directory of `path`: a directory can be locked on a read-only file system too, and stays the same
 * when the file system becomes writable. The file at `path` has the pid of the holder.
 *
 * Throws HostLockError when the directory cannot be opened (`openOwnDirectory`) or there is no `flock` command.
 */
export function acquireHostLock(path: string): HostLockOutcome {
  const directory = dirname(resolve(path));
  const { fd, warnings } = openOwnDirectory(directory);
  let isAcquired = false;
  try {
    if (tryFlock(directory, [fd]) !== undefined) {
      const holderPid = readNote(path);
      const because = `${directory} is locked by ${describe(holderPid)}; two cpusetd can't share a state directory: stop that one first`;
      return { kind: 'held', holderPid, because };
    }
    replaceNote(path);
    isAcquired = true;
    return { kind: 'acquired', lock: lockOf([fd], warnings) };
  } finally {
    if (!isAcquired) closeSync(fd);
  }
}

/**
 * Takes the locks that keep a second daemon off a runtime, wherever its state is: one for each name of each of the
 * runtime's sockets (`identifySocket`). Waits only for the command that locks, for a few milliseconds.
 *
 * @param directory of the lock files, which stay when they are unlocked. Every cpusetd of the host must use the same
 * directory.
 *
 * Rejects with HostLockError when the directory or a file in it cannot be opened, or there is no `flock` command.
 */
export async function acquireRuntimeLocks(directory: string, sockets: readonly string[]): Promise<HostLockOutcome> {
  const { fd: directoryFd, warnings } = openOwnDirectory(directory);
  closeSync(directoryFd);
  const socketOf = new Map(
    sockets.flatMap((socket) =>
      identifySocket(socket).map((name) => [join(directory, fileNameOf(name)), socket] as const),
    ),
  );
  // All daemons take them in the same order, so that of several that start at once one gets all its locks.
  const paths = [...socketOf.keys()].sort();
  const fds: number[] = [];
  let isAcquired = false;
  try {
    for (const path of paths) fds.push(openLockFile(path));
    const heldAt = await tryFlockAsync(directory, fds);
    if (heldAt !== undefined) {
      const path = paths[heldAt]!;
      const holderPid = readNote(path);
      const because =
        `the runtime at ${socketOf.get(path)} is locked by ${describe(holderPid)} (${path}); ` +
        'only one cpusetd may serve a runtime: stop that one first';
      return { kind: 'held', holderPid, because };
    }
    for (const [index, path] of paths.entries()) checkIsThere(path, fds[index]!);
    for (const fd of fds) tryToWriteNote(fd);
    isAcquired = true;
    return { kind: 'acquired', lock: lockOf(fds, warnings) };
  } finally {
    if (!isAcquired) for (const fd of fds) closeSync(fd);
  }
}

function lockOf(fds: readonly number[], warnings: readonly string[]): HostLock {
  let open = true;
  const release = (): void => {
    if (open) for (const fd of fds) closeSync(fd);
    open = false;
  };
  return { warnings, release };
}

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDWR, O_WRONLY } = constants;

function fileNameOf(name: string): string {
  return `socket-${createHash('sha256').update(name).digest('hex').slice(0, 24)}.lock`;
}

/** The file is never removed: two processes could then each lock a file of their own at the same path. */
function openLockFile(path: string): number {
  let fd: number;
  try {
    fd = openSync(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600);
  } catch (error) {
    const code = systemCodeOf(error) ?? 'unknown error';
    const remedy =
      code === 'EROFS' ? 'mount it writable, or set --lock-dir' : 'if it is no plain file of ours, remove it';
    throw new HostLockError(`${path}: the lock file cannot be opened (${code}); ${remedy}`, { cause: error });
  }
  if (isPlainFileOfOurs(fd)) return fd;
  closeSync(fd);
  throw new HostLockError(`${path}: what is there is no plain file of ours; remove it`);
}

/** The file may have been removed between opening and locking it. */
function checkIsThere(path: string, fd: number): void {
  const { dev, ino } = fstatSync(fd, { bigint: true });
  const there = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  if (there?.ino !== ino || there.dev !== dev)
    throw new HostLockError(`${path}: the lock file was removed while it was being locked; start again`);
}

function isPlainFileOfOurs(fd: number): boolean {
  const stats = fstatSync(fd);
  return stats.isFile() && stats.nlink === 1 && stats.uid === process.geteuid?.();
}

/** Writes our pid at the path without following a link. */
function replaceNote(path: string): void {
  try {
    const fd = openNote(path);
    tryToWriteNote(fd);
    closeSync(fd);
  } catch {
    // A disk that is full or read-only must not end the guard of running containers; a save reports it.
  }
}

function openNote(path: string): number {
  try {
    const fd = openSync(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600);
    if (isPlainFileOfOurs(fd)) return fd;
    closeSync(fd);
  } catch {
    // a link, or a pipe without a reader
  }
  unlinkSync(path);
  return openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
}

function tryToWriteNote(fd: number): void {
  try {
    ftruncateSync(fd);
    writeSync(fd, `${process.pid}\n`, 0);
  } catch {
    // as above
  }
}

/** The pid in the note; undefined when the note can't be read or the process does not run. */
function readNote(path: string): number | undefined {
  const read = readBounded(path, 1024, { own: true });
  const pid = read.ok && /^\d{1,10}\n$/.test(read.text) ? Number(read.text) : undefined;
  return pid !== undefined && existsSync(`/proc/${pid}`) ? pid : undefined;
}

function describe(holderPid: number | undefined): string {
  return holderPid === undefined ? 'another process' : `process ${holderPid}`;
}
