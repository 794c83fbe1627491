import { constants } from 'node:fs';
import { open, stat, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { systemCodeOf } from '../../core/system-errors';
import { listFiles } from './journal-fs';
import { decodeLine, JOURNAL_VERSION, MAX_LINE_BYTES, type JournalRecord } from './record';
import { segmentNumber, sortSegments } from './segments';

/** A journal can't be read. The message names the path and the reason. */
export class JournalError extends Error {
  override readonly name = 'JournalError';
}

export interface ReadOptions {
  /** Goes on with what is written later, until the signal aborts. */
  readonly follow?: AbortSignal;
  /** The pause between two looks for what is new, in ms. */
  readonly pollMs?: number;
  /** Called for each whole line that is no record, before the records after it. */
  readonly onUnreadable?: () => void;
  /** Called with the number of each file and the time of its beginning, in ms since 1970, before its records. */
  readonly onFile?: (number: number, atMs: number) => void;
  /**
   * Begins with the file of this number: each file begins with the whole node as it was. Not for a path that is a file.
   */
  readonly fromFile?: number;
}

const POLL_MS = 200;
const CHUNK_BYTES = 64 * 1024;

/**
 * The records of a journal in the order of writing, while cpusetd writes it or not. Changes nothing on disk. A line or
 * a preamble that a crash cut off is left out. `given`: the journal's directory, one of its files, or the state
 * directory that has it. Throws JournalError when there is none, or when it is of a newer version.
 */
export async function* readJournal(
  given: string,
  { follow, pollMs = POLL_MS, onUnreadable, onFile, fromFile = 0 }: ReadOptions = {},
): AsyncGenerator<JournalRecord> {
  const { path, isDirectory } = await findJournal(given);
  if (!isDirectory) {
    const reader = await SegmentReader.open(path);
    try {
      yield* reader.records({ onUnreadable });
    } finally {
      await reader.close();
    }
    return;
  }
  let readUpTo = fromFile - 1;
  let reader: SegmentReader | undefined;
  try {
    for (;;) {
      const next = await findNext(path, readUpTo);
      // After the look for the next file: this one is whole when there is one.
      if (reader) yield* reader.records({ onUnreadable, onFile: onFile && ((atMs) => onFile(readUpTo, atMs)) });
      if (next) {
        await reader?.close();
        reader = await openIfThere(join(path, next.name));
        readUpTo = next.number;
      } else if (!follow || follow.aborted) return;
      else await delay(pollMs, undefined, { signal: follow }).catch(() => undefined);
    }
  } finally {
    await reader?.close();
  }
}

/** A state directory stands for the journal in it. */
async function findJournal(path: string): Promise<{ readonly path: string; readonly isDirectory: boolean }> {
  const isDirectory = await explain(path, async () => (await stat(path)).isDirectory());
  const within = join(path, 'journal');
  const has = isDirectory && (await explain(within, () => isDirectoryThere(within)));
  return { path: has ? within : path, isDirectory };
}

async function isDirectoryThere(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return false;
    throw error;
  }
}

/** The first file after the one of this number. */
async function findNext(dir: string, number: number): Promise<{ name: string; number: number } | undefined> {
  const files = sortSegments(await explain(dir, () => listFiles(dir)));
  const next = files.find(({ name }) => segmentNumber(name)! > number);
  return next && { name: next.name, number: segmentNumber(next.name)! };
}

/** Undefined for a file that was removed meanwhile, because it was too old. */
async function openIfThere(path: string): Promise<SegmentReader | undefined> {
  try {
    return await SegmentReader.open(path);
  } catch (error) {
    if (error instanceof JournalError && systemCodeOf(error.cause) === 'ENOENT') return undefined;
    throw error;
  }
}

interface SegmentListeners {
  readonly onUnreadable?: (() => void) | undefined;
  readonly onFile?: ((atMs: number) => void) | undefined;
}

/** Reads whole lines of one file, and later those that came meanwhile. */
class SegmentReader {
  private position = 0;
  /** The beginning of a line whose end was not read. */
  private rest = Buffer.alloc(0);
  private readonly preamble = new Preamble();

  private constructor(
    private readonly path: string,
    private readonly file: FileHandle,
  ) {}

  static async open(path: string): Promise<SegmentReader> {
    const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
    return explain(path, async () => {
      const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
      if ((await file.stat()).isFile()) return new SegmentReader(path, file);
      await file.close();
      throw new JournalError(`${path} is not a regular file`);
    });
  }

  async *records({ onUnreadable, onFile }: SegmentListeners): AsyncGenerator<JournalRecord> {
    const chunk = Buffer.alloc(CHUNK_BYTES);
    for (;;) {
      const { bytesRead } = await explain(this.path, () => this.file.read(chunk, 0, chunk.length, this.position));
      if (bytesRead === 0) return;
      this.position += bytesRead;
      for (const line of this.takeLines(chunk.subarray(0, bytesRead))) {
        const read = decodeLine(line);
        if (read.kind === 'unreadable') onUnreadable?.();
        if (read.kind === 'header') {
          this.checkVersion(read);
          onFile?.(read.atMs);
          this.preamble.begin(read.preambleBytes);
        } else yield* this.preamble.take(line, read.kind === 'record' ? [read.record] : []);
      }
    }
  }

  async close(): Promise<void> {
    await this.file.close();
  }

  private checkVersion({ version, writtenBy }: { readonly version: number; readonly writtenBy: string }): void {
    if (version > JOURNAL_VERSION)
      throw new JournalError(
        `${this.path} has version ${version}, written by ${writtenBy}, and version ${JOURNAL_VERSION} is read here: use that cpusetd or a newer one`,
      );
  }

  private takeLines(bytes: Buffer): readonly string[] {
    const all = Buffer.concat([this.rest, bytes]);
    const end = all.lastIndexOf('\n');
    this.rest = Buffer.from(all.subarray(end + 1));
    if (this.rest.length > 2 * MAX_LINE_BYTES) this.rest = Buffer.from(this.rest.subarray(0, MAX_LINE_BYTES)); // no line of ours
    return end === -1 ? [] : all.subarray(0, end).toString('utf8').split('\n');
  }
}

/** Holds the records of a preamble back until all of them are there: the node as it was is of use only whole. */
class Preamble {
  private leftBytes = 0;
  private held: JournalRecord[] = [];

  begin(bytes: number): void {
    this.leftBytes = bytes;
  }

  /** The records that are to be returned after this line, which has those of `records`. */
  take(line: string, records: readonly JournalRecord[]): readonly JournalRecord[] {
    if (this.leftBytes <= 0) return records;
    this.leftBytes -= Buffer.byteLength(line) + 1;
    this.held.push(...records);
    return this.leftBytes > 0 ? [] : this.held.splice(0);
  }
}

/** Turns an error of the file system into a sentence: rejects with JournalError. */
export async function explain<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const code = systemCodeOf(error);
    if (code === undefined) throw error;
    const because = code === 'ENOENT' ? 'no such file or directory' : `can't be read (${code})`;
    throw new JournalError(`${path}: ${because}`, { cause: error });
  }
}
