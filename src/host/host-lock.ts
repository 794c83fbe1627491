import { spawnSync } from 'node:child_process';
import { closeSync, constants, existsSync, openSync, readFileSync, writeSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { makeDirectoryDurably, nodeFsOps } from '../state';

/** The lock could not even be tried. The message says what is missing. */
export class HostLockError extends Error {
  override readonly name = 'HostLockError';
}

export interface HostLock {
  /** Gives the lock back; harmless when done twice. The kernel does it too when the process ends, however it ends. */
  release(): void;
}

export type HostLockOutcome =
  | { readonly kind: 'acquired'; readonly lock: HostLock }
  | {
      readonly kind: 'held';
      /** As the holder wrote it: a number of its own PID namespace. */
      readonly holderPid: number | undefined;
      readonly because: string;
    };

const EXIT_CONFLICT = 1;

/**
 * Takes the lock that keeps a second daemon off the node, or says who has it. Never waits.
 *
 * What is locked is the directory of `path`: that can be opened and locked where nothing can be written, too, and it is
 * the same thing before and after a file system is made writable again. The file at `path` is a note of who has it.
 *
 * Node has no flock(2). But the lock belongs to the open file description, which a child shares when it inherits the
 * descriptor: so the `flock` command locks ours and ends, and the lock stays until we close the directory or die.
 *
 * Throws HostLockError when the directory cannot be had or there is no `flock` command.
 */
export function acquireHostLock(path: string): HostLockOutcome {
  const dir = dirname(resolve(path));
  const fd = openDirectory(dir);
  try {
    if (!tryFlock(dir, fd)) {
      closeSync(fd);
      return heldBy(dir, readNote(path));
    }
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  writeNote(path);
  let open = true;
  const release = (): void => {
    if (open) closeSync(fd);
    open = false;
  };
  return { kind: 'acquired', lock: { release } };
}

function openDirectory(dir: string): number {
  try {
    makeDirectoryDurably(nodeFsOps, dir);
    return openSync(dir, constants.O_RDONLY | constants.O_DIRECTORY);
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw new HostLockError(
      `${dir}: the directory is not there and cannot be made, or cannot be opened (${code}); cpusetd needs one of its own`,
      { cause: error },
    );
  }
}

/** True when the lock is ours now, false when someone has it. */
function tryFlock(path: string, fd: number): boolean {
  const inherited = 3;
  const run = spawnSync('flock', ['-n', `${inherited}`], { stdio: ['ignore', 'ignore', 'pipe', fd], encoding: 'utf8' });
  if (run.error) {
    const { code = 'unknown error' } = run.error as NodeJS.ErrnoException;
    throw new HostLockError(
      `${path}: the command "flock" cannot be run (${code}); it guards against a second cpusetd on the node: ` +
        `install it (package util-linux) and have it on PATH`,
      { cause: run.error },
    );
  }
  if (run.status === 0) return true;
  // A conflict is silent; whatever else is wrong is said on standard error.
  if (run.status === EXIT_CONFLICT && run.stderr === '') return false;
  const said = run.stderr.trim().slice(0, 200);
  throw new HostLockError(
    `${path}: "flock" ended with status ${run.status ?? 'none'} and said ${JSON.stringify(said)}; ` +
      `the directory must be on a file system that can lock files, such as /run`,
  );
}

function heldBy(dir: string, holderPid: number | undefined): HostLockOutcome {
  const holder = holderPid === undefined ? 'another process' : `process ${holderPid}`;
  const because = `${dir} is locked by ${holder}; only one cpusetd may run on a node: stop that one first`;
  return { kind: 'held', holderPid, because };
}

function writeNote(path: string): void {
  try {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW;
    const fd = openSync(path, flags, 0o600);
    try {
      writeSync(fd, `${process.pid}\n`);
    } finally {
      closeSync(fd);
    }
  } catch {
    // A disk that is full or read-only is no reason not to guard what runs; whoever saves state says so.
  }
}

/** Undefined when nobody has left one that can be read, or the process in it does not run. */
function readNote(path: string): number | undefined {
  try {
    const text = readFileSync(path, 'latin1').slice(0, 32);
    const pid = /^\d{1,10}\n$/.test(text) ? Number(text) : undefined;
    return pid !== undefined && existsSync(`/proc/${pid}`) ? pid : undefined;
  } catch {
    return undefined;
  }
}
