import { join, resolve } from 'node:path';
import { systemCodeOf } from '../core/system-errors';
import { explainFsError, makeDirectoryDurably, syncDirectory, tryToRemove, writeDurably } from '../files/durable-write';
import { nodeFsOps, type FsOps } from '../files/fs-ops';
import { MAX_STATE_BYTES } from './document';
import { backupAs, quarantine, type BackupOutcome } from './quarantine';
import { readOwnFile, type ReadOutcome } from './read-own-file';

const FILE_NAME = 'state.json';

/** The state directory, and the operations through which it is reached. */
export interface StateLocation {
  readonly dir: string;
  readonly fs?: FsOps;
}

export type SaveOutcome =
  | { readonly ok: true }
  | {
      readonly ok: false;
      /** Node's error code, e.g. `ENOSPC`. */
      readonly code: string;
      /** The text that a restart would read: the one before this save, or either of the two. */
      readonly onDisk: 'old' | 'unknown';
      /** Names the path, the fault and the remedy. */
      readonly because: string;
    };

/** A text file that is replaced as a whole and survives a crash of process or machine at any instant. */
export interface StateFile {
  readonly path: string;
  /** The reason why saves are going to fail; null when none is known. */
  readonly notWritable: string | null;
  read(): ReadOutcome;
  /** Returns when the text is durable, or with the reason why it is not. */
  save(text: string): SaveOutcome;
  /** Moves the file to `state.json.bad-<n>`. */
  quarantine(): BackupOutcome;
  /** Keeps the present file as `state.json.<suffix>` beside the one that the next save writes. */
  backupAs(suffix: string): BackupOutcome;
}

export type OpenFileOutcome =
  { readonly ok: true; readonly file: StateFile } | { readonly ok: false; readonly because: string };

/**
 * Prepares the directory (made with mode 0700 when missing) and removes what a crashed save left there.
 * A directory that can be read but not written is opened all the same: what was promised can still be guarded.
 * At most one process may have the file open.
 */
export function openStateFile(location: StateLocation): OpenFileOutcome {
  const { fs = nodeFsOps } = location;
  const dir = resolve(location.dir);
  const path = join(dir, FILE_NAME);
  const tempPath = `${path}.tmp`;
  try {
    makeDirectoryDurably(fs, dir);
  } catch (error) {
    return { ok: false, because: explainFsError('use the state directory', dir, error) };
  }
  const notWritable = findWhyNotWritable(fs, dir);
  if (notWritable === null) tryToRemove(fs, tempPath);
  return {
    ok: true,
    file: {
      path,
      notWritable,
      read: () => readStateFile({ dir, fs }),
      save: (text) => save(fs, { dir, path, tempPath }, text),
      quarantine: () => quarantine(fs, path),
      backupAs: (suffix) => backupAs(fs, path, suffix),
    },
  };
}

/** Reads the state file and changes nothing on disk. Never throws. */
export function readStateFile({ dir, fs = nodeFsOps }: StateLocation): ReadOutcome {
  return readOwnFile(fs, join(dir, FILE_NAME), MAX_STATE_BYTES);
}

interface Paths {
  readonly dir: string;
  readonly path: string;
  readonly tempPath: string;
}

function save(fs: FsOps, { dir, path, tempPath }: Paths, text: string): SaveOutcome {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length > MAX_STATE_BYTES) {
    const because = `can't save ${path}: it would have ${bytes.length} bytes, and at most ${MAX_STATE_BYTES} are read at a start`;
    return { ok: false, code: 'EFBIG', onDisk: 'old', because };
  }
  try {
    writeDurably(fs, tempPath, bytes);
    fs.rename(tempPath, path);
  } catch (error) {
    tryToRemove(fs, tempPath); // and if that fails too, the next save removes it
    return failed('old', explainFsError('save', path, error), error);
  }
  try {
    syncDirectory(fs, dir);
  } catch (error) {
    return failed('unknown', explainFsError('sync', dir, error), error);
  }
  return { ok: true };
}

function failed(onDisk: 'old' | 'unknown', because: string, error: unknown): SaveOutcome {
  return { ok: false, code: systemCodeOf(error) ?? 'UNKNOWN', onDisk, because };
}

function findWhyNotWritable(fs: FsOps, dir: string): string | null {
  try {
    fs.assertWritable(dir);
    return null;
  } catch (error) {
    return explainFsError('write to the state directory', dir, error);
  }
}
