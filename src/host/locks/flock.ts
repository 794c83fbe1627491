import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { systemCodeOf } from '../../core/system-errors';
import { HostLockError } from '../directories/own-directory';

const EXIT_CONFLICT = 1;

/**
 * Locks the open files, or returns the index of the first that another process has locked.
 *
 * Node has no flock(2). But the lock belongs to the open file description, which a child shares when it inherits the
 * descriptor: so the `flock` command locks ours and ends, and the lock stays until we close the file or die. The shell
 * calls it for all of them, which costs half of what a child of ours for each would.
 */
export function tryFlock(place: string, fds: readonly number[]): number | undefined {
  const run = spawnSync('/bin/sh', commandFor(fds), {
    stdio: ['ignore', 'pipe', 'pipe', ...fds],
    encoding: 'utf8',
    ...LIMITS,
  });
  return judge(place, run);
}

/** The same as `tryFlock`, without blocking the event loop. */
export async function tryFlockAsync(place: string, fds: readonly number[]): Promise<number | undefined> {
  const child = spawn('/bin/sh', commandFor(fds), { stdio: ['ignore', 'pipe', 'pipe', ...fds], ...LIMITS });
  const ended = once(child, 'close') as Promise<[number | null]>;
  try {
    const [stdout, stderr, [status]] = await Promise.all([text(child.stdout!), text(child.stderr!), ended]);
    return judge(place, { status, stdout, stderr });
  } catch (error) {
    if (error instanceof HostLockError) throw error;
    return judge(place, { status: null, stdout: '', stderr: '', error: error as Error });
  }
}

/** True when the command is there. */
export function hasFlock(): boolean {
  return spawnSync('/bin/sh', ['-c', 'command -v flock'], { stdio: 'ignore', ...LIMITS }).status === 0;
}

const LIMITS = { timeout: 10_000, killSignal: 'SIGKILL' } as const;

function commandFor(fds: readonly number[]): string[] {
  const script = 'for fd; do flock -n "$fd" || { status=$?; echo "$fd"; exit "$status"; }; done';
  return ['-c', script, 'sh', ...fds.map((_fd, index) => String(FIRST_FD + index))];
}

/** Number of the first descriptor that a child inherits after its standard streams. */
const FIRST_FD = 3;

interface Run {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly error?: Error;
}

function judge(place: string, { status, stdout, stderr, error }: Run): number | undefined {
  if (error || status === 127) {
    const code = error ? (systemCodeOf(error) ?? 'unknown error') : 'ENOENT';
    throw new HostLockError(
      `${place}: the command "flock" cannot be run (${code}); it guards against a second cpusetd on the node: ` +
        `install it (package util-linux) and have it on PATH`,
      { cause: error },
    );
  }
  if (status === 0) return undefined;
  // A conflict is silent; any other fault is on standard error.
  if (status === EXIT_CONFLICT && stderr === '') return Number(stdout.trim()) - FIRST_FD;
  const said = stderr.trim().slice(0, 200);
  throw new HostLockError(
    `${place}: "flock" ended with status ${status ?? 'none'} and said ${JSON.stringify(said)}; ` +
      `the directory must be on a file system that can lock files, such as /run`,
  );
}
