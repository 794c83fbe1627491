import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

import { meaningOf, systemCodeOf } from '../core/system-errors';

export type BoundedRead =
  | { readonly ok: true; readonly text: string }
  | {
      readonly ok: false;
      readonly kind: 'missing' | 'not-a-file' | 'too-large' | 'unreadable';
      /** Follows the path in a sentence: `is larger than 1 MiB`. */
      readonly because: string;
      readonly cause?: unknown;
    };

/** The size that the kernel reports for its own files, whatever their content. */
const MIN_BUFFER_BYTES = 4096;

/**
 * The text of a regular file of at most `maxBytes`, UTF-8. Never waits, as opening a FIFO without a writer does, and
 * never throws: the writer of the file can neither delay nor end this process.
 *
 * @param own the file was written by cpusetd: a link is not followed, and a file of a user other than root or ours is
 * refused
 */
export function readBounded(
  path: string,
  maxBytes: number,
  { own = false }: { readonly own?: boolean } = {},
): BoundedRead {
  let fd: number | undefined;
  try {
    const { O_RDONLY, O_NONBLOCK, O_NOCTTY, O_NOFOLLOW } = constants;
    fd = openSync(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | (own ? O_NOFOLLOW : 0));
    const stat = fstatSync(fd);
    if (!stat.isFile()) {
      const what = stat.isDirectory() ? 'is a folder, not a file' : 'is not a regular file';
      return { ok: false, kind: 'not-a-file', because: what };
    }
    if (own && stat.uid !== 0 && stat.uid !== process.geteuid?.())
      return { ok: false, kind: 'unreadable', because: `belongs to user ${stat.uid}` };
    const bytes = stat.size > maxBytes ? undefined : readAll(fd, stat.size, maxBytes);
    return bytes === undefined
      ? { ok: false, kind: 'too-large', because: `is larger than ${nameSize(maxBytes)}` }
      : { ok: true, text: bytes.toString('utf8') };
  } catch (cause) {
    const code = systemCodeOf(cause) ?? 'unknown error';
    // ENODEV: the device went away after its file was opened. ENXIO: a socket, or a device that is not there.
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ENODEV')
      return { ok: false, kind: 'missing', because: 'no such file', cause };
    if (code === 'ENXIO') return { ok: false, kind: 'not-a-file', because: 'is not a regular file', cause };
    const because = meaningOf('read a file', code) ?? `can't be read (${code})`;
    return { ok: false, kind: 'unreadable', because, cause };
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** Undefined for more than `maxBytes`. A file may be longer than its reported size, and grow meanwhile. */
function readAll(fd: number, reportedBytes: number, maxBytes: number): Buffer | undefined {
  let buffer = Buffer.allocUnsafe(Math.max(MIN_BUFFER_BYTES, reportedBytes + 1));
  let length = 0;
  for (;;) {
    const count = readSync(fd, buffer, length, buffer.length - length, null);
    length += count;
    if (length > maxBytes) return undefined;
    if (count === 0) return buffer.subarray(0, length);
    if (length === buffer.length) buffer = Buffer.concat([buffer], buffer.length * 2);
  }
}

function nameSize(bytes: number): string {
  return bytes >= 1 << 20 ? `${bytes >> 20} MiB` : `${bytes >> 10} KiB`;
}
