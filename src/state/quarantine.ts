import { basename, dirname } from 'node:path';
import { systemCodeOf } from '../core/system-errors';
import { explainFsError, syncDirectory, tryToRemove } from '../files/durable-write';
import type { FsOps } from '../files/fs-ops';

const MAX_BAD_FILES = 8;

/** The new path of the file, or the reason why it has none. */
export type BackupOutcome = { readonly path: string } | { readonly because: string };

/**
 * Renames the file to `<path>.bad-<n>`, n one above the highest number, so that nothing is left in its place.
 * The newest eight such files are kept for the operator.
 */
export function quarantine(fs: FsOps, path: string): BackupOutcome {
  const dir = dirname(path);
  try {
    const numbers = badFileNumbers(fs.readdir(dir), basename(path));
    const newPath = `${path}.bad-${Math.max(0, ...numbers) + 1}`;
    fs.rename(path, newPath);
    syncDirectory(fs, dir);
    const surplus = numbers.sort((a, b) => b - a).slice(MAX_BAD_FILES - 1);
    for (const number of surplus) tryToRemove(fs, `${path}.bad-${number}`);
    return { path: newPath };
  } catch (error) {
    return { because: explainFsError('set aside', path, error) };
  }
}

/**
 * Gives the file a second name, `<path>.<suffix>`, under which it stays when the next save replaces it. A hard link: at
 * no instant is the file missing from its place.
 */
export function backupAs(fs: FsOps, path: string, suffix: string): BackupOutcome {
  const backup = `${path}.${suffix}`;
  try {
    try {
      fs.link(path, backup);
    } catch (error) {
      if (systemCodeOf(error) !== 'EEXIST') throw error;
      // From an earlier migration, or from a start that ended before its first save: the present file replaces it.
      fs.unlink(backup);
      fs.link(path, backup);
    }
    syncDirectory(fs, dirname(path));
    return { path: backup };
  } catch (error) {
    return { because: explainFsError('keep a copy of', path, error) };
  }
}

/** The files that were set aside, the oldest first, or the reason why they can't be listed now. */
export type SetAside = { readonly paths: readonly string[] } | { readonly because: string };

/**
 * The files that were set aside for this one and that nobody has removed since. A directory that does not exist has
 * none.
 */
export function listSetAside(fs: FsOps, path: string): SetAside {
  const dir = dirname(path);
  try {
    const numbers = badFileNumbers(fs.readdir(dir), basename(path));
    return { paths: numbers.sort((a, b) => a - b).map((number) => `${path}.bad-${number}`) };
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return { paths: [] };
    return { because: explainFsError('list', dir, error) };
  }
}

function badFileNumbers(names: readonly string[], name: string): number[] {
  const prefix = `${name}.bad-`;
  return names
    .filter((candidate) => candidate.startsWith(prefix))
    .map((candidate) => candidate.slice(prefix.length))
    .filter((digits) => /^[1-9]\d{0,8}$/.test(digits))
    .map(Number);
}
