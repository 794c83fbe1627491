import { systemCodeOf } from '../core/system-errors';
import { explainFsError } from '../files/durable-write';
import type { FsOps } from '../files/fs-ops';

/** Faults of the process or the machine: the file may be perfectly good. */
const TRANSIENT = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN', 'EINTR']);

export type ReadOutcome =
  | { readonly kind: 'none' }
  | { readonly kind: 'text'; readonly text: string }
  /** The path holds something that can't be read as a file of ours. */
  | { readonly kind: 'unreadable'; readonly because: string }
  /** Reading failed for a reason outside the file. */
  | { readonly kind: 'failed'; readonly because: string };

/** Reads a file that a process of ours wrote. Changes nothing on disk, follows no link, and never throws. */
export function readOwnFile(fs: FsOps, path: string, maxBytes: number): ReadOutcome {
  try {
    const { isOwnFile, sizeBytes } = fs.stat(path);
    if (!isOwnFile) return { kind: 'unreadable', because: `${path} is not a regular file of ours` };
    if (sizeBytes > maxBytes)
      return { kind: 'unreadable', because: `${path} has ${sizeBytes} bytes; at most ${maxBytes} are read` };
    return { kind: 'text', text: fs.readText(path) };
  } catch (error) {
    const code = systemCodeOf(error) ?? 'UNKNOWN';
    if (code === 'ENOENT') return { kind: 'none' };
    return { kind: TRANSIENT.has(code) ? 'failed' : 'unreadable', because: explainFsError('read', path, error) };
  }
}
