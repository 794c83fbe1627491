import { closeSync, constants, opendirSync, openSync, renameSync, rmdirSync, unlinkSync } from 'node:fs';
import { systemCodeOf } from '../core/system-errors';

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;

/**
 * Removes what is in a directory, at any depth, but the entry `keep` of the directory itself. Somebody else may change all of it meanwhile, and
 * put links there: so each entry is reached through the open directory that it is in, and none is followed. What is deep is moved up first, so
 * that depth costs no more than number. Entries that can't be removed stay.
 *
 * @param most entries that are removed at one time
 * @returns true where more are left
 */
export function clearDirectory(
  path: string,
  { keep, most }: { readonly keep?: string; readonly most: number },
): boolean {
  let left = most;
  let moved = 0;
  const clear = (directory: string, keeps: string | undefined, top: string): boolean => {
    for (const name of list(directory, left + 1)) {
      if (name === keeps) continue;
      if (left <= 0) return false;
      left -= 1;
      const entry = `${directory}/${name}`;
      if (remove(entry)) continue;
      if (directory !== top) renameSync(entry, `${top}/.moved-${process.pid}-${left}-${moved++}`);
      else {
        const isEmpty = within(entry, (inner) => clear(inner, undefined, top));
        if (!isEmpty) return false;
        rmdirSync(entry);
      }
    }
    return true;
  };
  return within(path, (top) => {
    // Directories that were moved up come in the next turn.
    for (let before = -1; moved !== before && left > 0;) {
      before = moved;
      if (!clear(top, keep, top)) return true;
    }
    return list(top, 2).some((name) => name !== keep);
  });
}

/** Calls a function with a path of the open directory, which stays that of this one whatever takes its place. */
function within<T>(path: string, work: (path: string) => T): T {
  const fd = openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  try {
    return work(`/proc/self/fd/${fd}`);
  } finally {
    closeSync(fd);
  }
}

/** The first names in a directory. */
function list(path: string, most: number): readonly string[] {
  const directory = opendirSync(path);
  try {
    const names: string[] = [];
    for (let entry = directory.readSync(); entry && names.length < most; entry = directory.readSync())
      names.push(entry.name);
    return names;
  } finally {
    directory.closeSync();
  }
}

/** False for a directory that is not empty. */
function remove(entry: string): boolean {
  try {
    unlinkSync(entry);
    return true;
  } catch (error) {
    if (systemCodeOf(error) !== 'EISDIR') throw error;
  }
  try {
    rmdirSync(entry);
    return true;
  } catch (error) {
    if (systemCodeOf(error) !== 'ENOTEMPTY') throw error;
    return false;
  }
}
