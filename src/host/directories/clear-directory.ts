import { closeSync, constants, opendirSync, openSync, renameSync, rmdirSync, unlinkSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { systemCodeOf } from '../../core/system-errors';

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;

/**
 * Codes for an entry that somebody else has taken away or changed meanwhile: what is left of it comes in the next call.
 */
const CHANGED_MEANWHILE = new Set(['ENOENT', 'ENOTEMPTY', 'ENOTDIR', 'ELOOP']);

export interface Cleared {
  /** True where something is left, for whatever reason. */
  readonly isLeft: boolean;
  /** The error of the first entry that can't be removed; absent where all could be that were tried. */
  readonly stuck?: unknown;
}

/**
 * Removes what is in a directory, at any depth, but the entry `keep` of the directory itself. Somebody else may change
 * all of it meanwhile, and put links there: so each entry is reached through the open directory that it is in, and none
 * is followed. What is deep is moved up first, so that depth costs no more than number. Entries that can't be removed
 * stay, as immutable files and mounts do, and the others go.
 *
 * @param most entries that are tried at one time
 * @throws where the directory itself can't be opened or read
 */
export function clearDirectory(
  path: string,
  { keep, most }: { readonly keep?: string; readonly most: number },
): Cleared {
  let left = most;
  let stuck: unknown;
  const clear = (entry: string, removeFull: () => void): void => {
    left -= 1;
    try {
      if (!remove(entry)) removeFull();
    } catch (error) {
      const code = systemCodeOf(error);
      if (code === undefined) throw error;
      if (!CHANGED_MEANWHILE.has(code)) stuck ??= error;
    }
  };
  return within(path, (top) => {
    const names = list(top, most + 1).filter((name) => name !== keep);
    const moveUp = (entry: string): void => {
      const name = `.moved-${randomUUID()}`;
      renameSync(entry, `${top}/${name}`);
      names.push(name);
    };
    // Directories that are moved up come last.
    for (const name of names) {
      if (left <= 0) break;
      const entry = `${top}/${name}`;
      clear(entry, () => {
        within(entry, (directory) => {
          for (const inner of list(directory, left)) {
            const path = `${directory}/${inner}`;
            clear(path, () => moveUp(path));
          }
        });
        rmdirSync(entry);
      });
    }
    const isLeft = list(top, 2).some((name) => name !== keep);
    return { isLeft, ...(stuck !== undefined && { stuck }) };
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
