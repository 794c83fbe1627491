import * as fs from 'node:fs';
import { dirname } from 'node:path';
import { systemCodeOf } from '../core/system-errors';

/**
 * The file operations that the store needs, one system call each, so that a test can let any of them fail.
 * All are synchronous and throw Node's errors with `code`.
 */
export interface FsOps {
  /** Makes the directory with its parents; returns the topmost one it had to make, if any. */
  readonly mkdir: (path: string, mode: number) => string | undefined;
  readonly readdir: (path: string) => string[];
  readonly stat: (path: string) => {
    /** A regular file, no link, of root or of our user. */
    readonly isOwnFile: boolean;
    readonly sizeBytes: number;
  };
  /** Throws when the process may not write there or the file system is mounted read-only. */
  readonly assertWritable: (path: string) => void;
  readonly readText: (path: string) => string;
  /** Makes the file. Throws EEXIST when anything is at the path, so no link is followed. */
  readonly openForWriting: (path: string, mode: number) => number;
  readonly openDirectory: (path: string) => number;
  /** Returns how many bytes were written, which may be fewer than given. */
  readonly write: (fd: number, bytes: Uint8Array, offset: number) => number;
  readonly fsync: (fd: number) => void;
  readonly close: (fd: number) => void;
  readonly rename: (from: string, to: string) => void;
  readonly link: (from: string, to: string) => void;
  readonly unlink: (path: string) => void;
}

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = fs.constants;

export const nodeFsOps: FsOps = {
  mkdir: makeWithParents,
  readdir: (path) => fs.readdirSync(path),
  stat: (path) => {
    const stats = fs.lstatSync(path);
    const isOwned = stats.uid === 0 || stats.uid === process.geteuid?.();
    return { isOwnFile: stats.isFile() && isOwned, sizeBytes: stats.size };
  },
  assertWritable: (path) => fs.accessSync(path, fs.constants.W_OK | fs.constants.X_OK),
  readText,
  openForWriting: (path, mode) => fs.openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode),
  openDirectory: (path) => fs.openSync(path, O_RDONLY | O_DIRECTORY),
  write: (fd, bytes, offset) => fs.writeSync(fd, bytes, offset),
  fsync: (fd) => fs.fsyncSync(fd),
  close: (fd) => fs.closeSync(fd),
  rename: (from, to) => fs.renameSync(from, to),
  link: (from, to) => fs.linkSync(from, to),
  unlink: (path) => fs.unlinkSync(path),
};

/** Does not wait when the path has just become a pipe. */
function readText(path: string): string {
  const fd = fs.openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    return fs.readFileSync(fd, 'utf8');
  } finally {
    fs.closeSync(fd);
  }
}

/**
 * Makes the directory with its parents; returns the topmost one it had to make, if any.
 *
 * Node's own recursive mkdir never ends where the parent exists and mkdir answers ENOENT all the same, as in /proc.
 */
export function makeWithParents(path: string, mode: number): string | undefined {
  try {
    fs.mkdirSync(path, { mode });
    return path;
  } catch (error) {
    if (isDirectory(path)) return undefined;
    const parent = dirname(path);
    if (systemCodeOf(error) !== 'ENOENT' || isDirectory(parent)) throw error;
    const topmost = makeWithParents(parent, mode);
    const made = makeWithParents(path, mode);
    return topmost ?? made;
  }
}

function isDirectory(path: string): boolean {
  try {
    return fs.statSync(path).isDirectory();
  } catch {
    return false;
  }
}
