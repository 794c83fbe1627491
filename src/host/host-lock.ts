import { spawnSync } from 'node:child_process';
import { closeSync, constants, ftruncateSync, mkdirSync, openSync, readSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

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
 * Node has no flock(2). But the lock belongs to the open file description, which a child shares when it inherits the
 * descriptor: so the `flock` command locks ours and ends, and the lock stays until we close the file or die. The file
 * itself is never removed; removing it would let two processes lock two files of the same name.
 *
 * Throws HostLockError when the file cannot be opened or there is no `flock` command.
 */
export function acquireHostLock(path: string): HostLockOutcome {
  const fd = openLockFile(path);
  try {
    if (!tryFlock(path, fd)) {
      const outcome = heldBy(path, readPid(fd));
      closeSync(fd);
      return outcome;
    }
    ftruncateSync(fd, 0);
    writeSync(fd, `${process.pid}\n`, 0);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  let open = true;
  const release = (): void => {
    if (open) closeSync(fd);
    open = false;
  };
  return { kind: 'acquired', lock: { release } };
}

function openLockFile(path: string): number {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    return openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw new HostLockError(
      `${path}: the lock file cannot be opened (${code}); its directory must be writable for cpusetd`,
      {
        cause: error,
      },
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

function heldBy(path: string, holderPid: number | undefined): HostLockOutcome {
  const holder = holderPid === undefined ? 'another process' : `process ${holderPid}`;
  const because = `${path} is locked by ${holder}; only one cpusetd may run on a node: stop that one first`;
  return { kind: 'held', holderPid, because };
}

function readPid(fd: number): number | undefined {
  const buffer = Buffer.alloc(32);
  const text = buffer.toString('latin1', 0, readSync(fd, buffer, 0, buffer.length, 0));
  return /^\d{1,10}\n$/.test(text) ? Number(text) : undefined;
}
