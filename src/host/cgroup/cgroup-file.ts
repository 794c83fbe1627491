import { closeSync, existsSync, openSync, readdirSync, readSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

import { meaningOf, systemCodeOf } from '../../core/system-errors';
import { shorten } from '../../core/text';

/** There is no such cgroup, or it is being removed: its container has ended. */
export interface Gone {
  readonly kind: 'gone';
}

/** The kernel refused a read, or the file has unexpected content. */
export interface CgroupFailure {
  readonly kind: 'error';
  /** The kernel's name, e.g. `EACCES`; `EBADMSG` for a file with unexpected content. */
  readonly errno: string;
  /** For the operator. */
  readonly because: string;
}

export type WriteOutcome =
  | { readonly kind: 'ok'; readonly changed: boolean }
  | Gone
  | { readonly kind: 'refused'; readonly errno: string; readonly because: string };

export const CHANGED: WriteOutcome = { kind: 'ok', changed: true };
export const UNCHANGED: WriteOutcome = { kind: 'ok', changed: false };
export const GONE: Gone = { kind: 'gone' };

/** Enough for the list of every second CPU of 8,192, which is about the longest that one read gives. */
const BUFFER_BYTES = 64 * 1024;
/** Longest text of a file in a message. */
const MAX_QUOTED = 60;

/** Reads and writes control files. They are short, and one kernel call returns or takes all of a value. */
export class CgroupFiles {
  private readonly buffer = Buffer.allocUnsafe(BUFFER_BYTES);

  /** The value without the line end. */
  read(path: string): string | Gone | CgroupFailure {
    let fd: number | undefined;
    try {
      fd = openSync(path, 'r');
      return this.take(readSync(fd, this.buffer, 0, BUFFER_BYTES, 0));
    } catch (error) {
      return readFailure(path, error);
    } finally {
      if (fd !== undefined) closeSync(fd);
    }
  }

  /** Whole lines of a file that may be long; at most `maxBytes` are read. */
  readLines(
    path: string,
    maxBytes: number,
  ): { readonly lines: string[]; readonly more: boolean } | Gone | CgroupFailure {
    let fd: number | undefined;
    let text = '';
    try {
      fd = openSync(path, 'r');
      for (;;) {
        const count = readSync(fd, this.buffer, 0, BUFFER_BYTES, null);
        if (count === 0) return { lines: text.split('\n').filter((line) => line !== ''), more: false };
        text += this.buffer.toString('latin1', 0, count);
        if (text.length > maxBytes)
          return { lines: text.slice(0, text.lastIndexOf('\n', maxBytes)).split('\n'), more: true };
      }
    } catch (error) {
      return readFailure(path, error);
    } finally {
      if (fd !== undefined) closeSync(fd);
    }
  }

  /** Writes the value in one call, as the kernel requires. */
  write(path: string, value: string): WriteOutcome {
    let fd: number | undefined;
    try {
      fd = openSync(path, 'r+');
      writeSync(fd, value);
      return CHANGED;
    } catch (error) {
      const errno = errnoOf(error);
      if (isGone(path, errno)) return GONE;
      return {
        kind: 'refused',
        errno,
        because: `${path}: writing "${shorten(value, MAX_QUOTED)}" was refused: ${describe(errno)}`,
      };
    } finally {
      if (fd !== undefined) closeSync(fd);
    }
  }

  private take(count: number): string {
    const end = count > 0 && this.buffer[count - 1] === 0x0a ? count - 1 : count;
    return this.buffer.toString('latin1', 0, end);
  }
}

/** A file with unexpected content. The message names path, text (shortened) and rule. */
export function malformed(path: string, text: string, rule: string): CgroupFailure {
  return { kind: 'error', errno: 'EBADMSG', because: `${path}: read "${shorten(text, MAX_QUOTED)}"; ${rule}` };
}

/** The name of a system error, e.g. `EINVAL`; throws any other error again. */
export function errnoOf(error: unknown): string {
  const code = systemCodeOf(error);
  if (code === undefined) throw error;
  return code;
}

function readFailure(path: string, error: unknown): Gone | CgroupFailure {
  const errno = errnoOf(error);
  if (isGone(path, errno)) return GONE;
  return { kind: 'error', errno, because: `${path}: reading failed: ${describe(errno)}` };
}

/** A file is also absent when its controller is off. The cgroup is gone only when its directory is. */
function isGone(path: string, errno: string): boolean {
  return errno === 'ENODEV' || errno === 'ENOTDIR' || (errno === 'ENOENT' && !existsSync(dirname(path)));
}

function describe(errno: string): string {
  const meaning = meaningOf('write a cgroup file', errno);
  return meaning === undefined ? errno : `${errno}, ${meaning}`;
}

/** The cgroups below a cgroup. Most have none, which the number of links shows without reading the directory. */
export function listChildren(directory: string): string[] {
  if ((statSync(directory, { throwIfNoEntry: false })?.nlink ?? 2) === 2) return [];
  try {
    const entries = readdirSync(directory, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map((entry) => `${directory}/${entry.name}`);
  } catch {
    return []; // removed since
  }
}
