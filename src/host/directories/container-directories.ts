import {
  chmodSync,
  closeSync,
  fchmodSync,
  lstatSync,
  mkdirSync,
  opendirSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { meaningOf, systemCodeOf } from '../../core/system-errors';
import { readBounded } from '../../files/read-bounded';
import { clearDirectory } from './clear-directory';
import { HostError } from '../host-error';

/**
 * Containers reach their own directory by a mount. Others may pass through, so that a runtime in a user namespace can
 * too, and see no names.
 */
const ROOT_MODE = 0o711;
const DIRECTORY_MODE = 0o755;
const FILE_MODE = 0o644;
const MARK_MODE = 0o600;
const WRITABLE_BY_OTHERS = 0o022;
const PERMISSIONS = 0o7777;
const MAX_FILE_BYTES = 64 * 1024;
/** Most memory of a file, whatever its size: a tmpfs of huge pages takes one for any file. */
const MAX_ALLOCATED_BYTES = 4 * 2 ** 20;
const BLOCK_BYTES = 512;

/** A new text is made here and renamed: who watches a directory sees the complete file arrive, and nothing else. */
const DRAFT = '.draft';

/** Entries that are removed at one time of what a container has put in its directory: some milliseconds. */
const MAX_REMOVED = 1_000;

/** Something was found in a directory that is not ours. */
export interface Tidied {
  /** The reason for which some of it can't be removed. */
  readonly stays?: string;
}

/**
 * One directory for each of some containers, below one of ours; each is mounted in its container. A text in it is
 * replaced as a whole, so a reader has the old or the new one. Nothing is synced: after a reboot no container is left
 * that could read it.
 *
 * A directory is mounted read-only, but a container that may mount can write to it all the same. What it puts there is
 * removed. A mark beside each directory that was made here, where no container comes, tells it from those of somebody
 * else.
 *
 * Names of directories are the caller's, who has checked them. All functions throw HostError, which names the path and
 * the reason.
 */
export class ContainerDirectories {
  /** `root`: an absolute path, the same for us and for the runtime. */
  constructor(private readonly root: string) {}

  pathOf(name: string): string {
    return `${this.root}/${name}`;
  }

  /**
   * Makes the root where it is missing. A root that others may write to is refused: they could put a file of their own
   * in a container.
   */
  open(): void {
    attempt(this.root, () => {
      if (mkdirSync(this.root, { recursive: true, mode: ROOT_MODE }) !== undefined) chmodSync(this.root, ROOT_MODE);
      const { uid, mode } = lstatSync(this.root);
      const isOwn = uid === 0 || uid === process.geteuid?.();
      if (!isOwn || (mode & WRITABLE_BY_OTHERS) !== 0)
        throw new HostError(`${this.root}: others may write to this directory; run: chown 0:0 and chmod go-w on it`);
    });
  }

  /** The names of all directories; none where there is no root. */
  list(): readonly string[] {
    return attempt(this.root, () => {
      try {
        return readdirSync(this.root, { withFileTypes: true }).flatMap((entry) =>
          entry.isDirectory() ? [entry.name] : [],
        );
      } catch (error) {
        if (systemCodeOf(error) === 'ENOENT') return [];
        throw error;
      }
    });
  }

  /**
   * Makes a directory. One that is there stays the same directory. The mark comes first: where cpusetd ends in between,
   * there is no directory yet, and never one without a mark.
   */
  make(name: string): void {
    const path = this.pathOf(name);
    attempt(path, () => {
      const found = lstatSync(path, { throwIfNoEntry: false });
      if (!found) {
        closeSync(openSync(this.markOf(name), 'w', MARK_MODE));
        try {
          mkdirSync(path, DIRECTORY_MODE);
        } catch (error) {
          rmSync(this.markOf(name), { force: true });
          throw error;
        }
      } else if (!found.isDirectory()) throw Object.assign(new Error(`${path} is no directory`), { code: 'EEXIST' });
      else if (!this.isMarked(name) || (found.mode & PERMISSIONS) === DIRECTORY_MODE) return;
      chmodSync(path, DIRECTORY_MODE); // whatever the umask
    });
  }

  exists(name: string): boolean {
    return lstatSync(this.pathOf(name), { throwIfNoEntry: false })?.isDirectory() === true;
  }

  replace(name: string, file: string, text: string): void {
    const path = `${this.pathOf(name)}/${file}`;
    attempt(path, () => {
      const draft = this.pathOf(DRAFT);
      const fd = openSync(draft, 'w', FILE_MODE);
      try {
        fchmodSync(fd, FILE_MODE); // whatever the umask
        const bytes = Buffer.from(text);
        for (let written = 0; written < bytes.length;) written += writeSync(fd, bytes, written);
      } finally {
        closeSync(fd);
      }
      try {
        renameSync(draft, path);
      } catch (error) {
        if (systemCodeOf(error) !== 'EISDIR' || !this.isMarked(name)) throw error;
        clearDirectory(this.pathOf(name), { most: MAX_REMOVED });
        renameSync(draft, path);
      }
    });
  }

  /** False where there is no file, or something that is none of ours: no regular file, or a large one. */
  hasFile(name: string, file: string): boolean {
    const path = `${this.pathOf(name)}/${file}`;
    return attempt(path, () => {
      const found = lstatSync(path, { throwIfNoEntry: false });
      if (found?.isFile() !== true) return false;
      return found.size <= MAX_FILE_BYTES && found.blocks * BLOCK_BYTES <= MAX_ALLOCATED_BYTES;
    });
  }

  /**
   * Removes what else than its file is in a directory that was made here. @returns undefined where there is nothing
   * else
   */
  tidy(name: string, file: string): Tidied | undefined {
    const path = this.pathOf(name);
    return attempt(path, () => {
      const directory = opendirSync(path);
      let found = false;
      try {
        for (let entry = directory.readSync(); entry && !found; entry = directory.readSync())
          found = entry.name !== file;
      } finally {
        directory.closeSync();
      }
      if (!found) return undefined;
      const { stuck } = this.isMarked(name) ? clearDirectory(path, { keep: file, most: MAX_REMOVED }) : {};
      return stuck === undefined ? {} : { stays: becauseOf(stuck) };
    });
  }

  /** Undefined where no file of ours can be read. */
  read(name: string, file: string): string | undefined {
    const read = readBounded(`${this.pathOf(name)}/${file}`, MAX_FILE_BYTES, { own: true });
    return read.ok ? read.text : undefined;
  }

  /**
   * Removes a directory and what is in it; one that is not there is no failure. A directory that was not made here is
   * removed only if it has nothing but the file. The mark stays as long as the directory does.
   */
  remove(name: string, file: string): void {
    const path = this.pathOf(name);
    attempt(path, () => {
      unlessGone(() => {
        if (this.isMarked(name)) this.empty(path);
        else rmSync(`${path}/${file}`, { force: true });
      });
      unlessGone(() => rmdirSync(path));
      rmSync(this.markOf(name), { force: true });
    });
  }

  private empty(path: string): void {
    const { isLeft, stuck } = clearDirectory(path, { most: MAX_REMOVED });
    if (stuck !== undefined) throw new HostError(`${path}: ${becauseOf(stuck)}`, { cause: stuck });
    if (isLeft)
      throw new HostError(
        `${path}: files of the container are left in it, of which ${MAX_REMOVED} are removed at one time: the rest goes later`,
      );
  }

  private isMarked(name: string): boolean {
    return lstatSync(this.markOf(name), { throwIfNoEntry: false })?.isFile() === true;
  }

  private markOf(name: string): string {
    return `${this.root}/.made.${name}`;
  }
}

function attempt<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof HostError) throw error;
    throw new HostError(`${path}: ${becauseOf(error)}`, { cause: error });
  }
}

function becauseOf(error: unknown): string {
  const code = systemCodeOf(error) ?? 'unknown error';
  return `${meaningOf('keep a file for a container', code) ?? 'it cannot be made or written'} (${code})`;
}

function unlessGone(work: () => void): void {
  try {
    work();
  } catch (error) {
    if (systemCodeOf(error) !== 'ENOENT') throw error;
  }
}
