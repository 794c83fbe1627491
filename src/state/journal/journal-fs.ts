import { constants } from 'node:fs';
import { lstat, mkdir, open, readdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * The file operations that the journal needs, so that a test can let any of them fail, or end the process in it. None
 * of them blocks the event loop. They reject with Node's errors.
 */
export interface JournalFs {
  /** Makes the directory, unless it is there. */
  readonly makeDirectory: (path: string) => Promise<void>;
  readonly list: (dir: string) => Promise<readonly FoundFile[]>;
  /** Makes the file. Rejects with EEXIST when anything is at the path. */
  readonly create: (path: string) => Promise<AppendedFile>;
  /** Opens a regular file that is there; a link is not followed. */
  readonly openToAppend: (path: string) => Promise<AppendedFile>;
  readonly remove: (path: string) => Promise<void>;
}

export interface FoundFile {
  readonly name: string;
  readonly sizeBytes: number;
  /** The last write, in ms since 1970. */
  readonly changedMs: number;
}

/** A file that is open for appending, and for reading what it has. */
export interface AppendedFile {
  readonly append: (bytes: Buffer) => Promise<void>;
  readonly cutTo: (sizeBytes: number) => Promise<void>;
  readonly read: (fromByte: number, maxBytes: number) => Promise<Buffer>;
  readonly close: () => Promise<void>;
}

const { O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDWR } = constants;

export const nodeJournalFs: JournalFs = {
  makeDirectory: async (path) => {
    await mkdir(path, { recursive: true, mode: 0o700 });
  },
  list: listFiles,
  create: (path) => openFile(path, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW),
  openToAppend: (path) => openFile(path, O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK),
  remove: unlink,
};

/** The regular files of a directory. A file that is removed meanwhile is left out. */
export async function listFiles(dir: string): Promise<readonly FoundFile[]> {
  const found: FoundFile[] = [];
  for (const name of await readdir(dir)) {
    const stats = await lstat(join(dir, name)).catch(() => undefined);
    if (stats?.isFile()) found.push({ name, sizeBytes: stats.size, changedMs: stats.mtimeMs });
  }
  return found;
}

async function openFile(path: string, flags: number): Promise<AppendedFile> {
  const file = await open(path, flags, 0o600);
  return {
    append: async (bytes) => file.writeFile(bytes),
    cutTo: async (sizeBytes) => file.truncate(sizeBytes),
    read: async (fromByte, maxBytes) => {
      const buffer = Buffer.alloc(maxBytes);
      const { bytesRead } = await file.read(buffer, 0, maxBytes, fromByte);
      return buffer.subarray(0, bytesRead);
    },
    close: async () => file.close(),
  };
}
