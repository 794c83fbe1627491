import { dirname } from 'node:path';
import { meaningOf, systemCodeOf } from '../core/system-errors';
import type { FsOps } from './fs-ops';

/**
 * Makes the file and returns when its content is durable; its name becomes durable with `syncDirectory`. A leftover, a
 * link or a pipe at the path is removed, never written to.
 */
export function writeDurably(fs: FsOps, path: string, bytes: Uint8Array): void {
  const fd = createAnew(fs, path);
  try {
    for (let offset = 0; offset < bytes.length;) offset += fs.write(fd, bytes, offset);
    fs.fsync(fd);
  } finally {
    fs.close(fd);
  }
}

function createAnew(fs: FsOps, path: string): number {
  try {
    return fs.openForWriting(path, 0o600);
  } catch (error) {
    if (systemCodeOf(error) !== 'EEXIST') throw error;
    fs.unlink(path);
    return fs.openForWriting(path, 0o600);
  }
}

/** Replaces the file; a crash at any instant leaves the old content or the new. */
export function replaceDurably(fs: FsOps, path: string, bytes: Uint8Array): void {
  const tempPath = `${path}.tmp`;
  writeDurably(fs, tempPath, bytes);
  fs.rename(tempPath, path);
  syncDirectory(fs, dirname(path));
}

/** Makes creations, renames and removals in the directory durable. */
export function syncDirectory(fs: FsOps, dir: string): void {
  const fd = fs.openDirectory(dir);
  try {
    fs.fsync(fd);
  } finally {
    fs.close(fd);
  }
}

/**
 * Makes the directory (an absolute path) and its parents when missing. They must survive a power cut like the file in
 * it, so each directory that got a new entry is synced.
 */
export function makeDirectoryDurably(fs: FsOps, dir: string): void {
  const topmost = fs.mkdir(dir, 0o700);
  if (topmost === undefined) return;
  let made = dir;
  while (made.length > topmost.length) {
    made = dirname(made);
    syncDirectory(fs, made);
  }
  syncDirectory(fs, dirname(topmost));
}

/** Best effort: no promise depends on the removal. */
export function tryToRemove(fs: FsOps, path: string): void {
  try {
    fs.unlink(path);
  } catch {
    // not there, or not removable
  }
}

/** A sentence for the operator: the path, the fault, the remedy. `action` completes "can't …", e.g. `write`. */
export function explainFsError(action: string, path: string, error: unknown): string {
  const code = systemCodeOf(error) ?? 'UNKNOWN';
  return `can't ${action} ${path}: ${meaningOf('save state', code) ?? String(error)} (${code})`;
}
