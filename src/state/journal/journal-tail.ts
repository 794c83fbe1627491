import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { listFiles } from './journal-fs';
import { decodeLine, JOURNAL_VERSION, type JournalRecord } from './record';
import { segmentNumber, sortSegments } from './segments';

export interface JournalTailParts {
  /** The directory of the journal. */
  readonly dir: string;
  /** Most records that are kept, the latest. */
  readonly most: number;
  /** Records that do not count. */
  readonly isLeftOut?: (record: JournalRecord) => boolean;
}

/** Most bytes that one look reads of one file: older ones are passed over. */
const MAX_BYTES = 512 * 1024;
/**
 * The files of the first look: the beginning of a file is no news, and the one before has what happened just before.
 */
const FIRST_FILES = 2;

/** The last records of a journal that grows. A look reads only what was written since the one before. */
export class JournalTail {
  private kept: readonly JournalRecord[] = [];
  private readonly place = { number: 0, bytes: 0 };
  private looking: Promise<readonly JournalRecord[]> | undefined;

  constructor(private readonly parts: JournalTailParts) {}

  /**
   * The records as of now, the latest last; without a new one the same list as before. Calls at one time share a look.
   * Rejects with the system's error when the directory can't be read.
   */
  records(): Promise<readonly JournalRecord[]> {
    this.looking ??= this.look().finally(() => {
      this.looking = undefined;
    });
    return this.looking;
  }

  private async look(): Promise<readonly JournalRecord[]> {
    const { dir, most, isLeftOut } = this.parts;
    const files = sortSegments(await listFiles(dir));
    const isFirst = this.place.number === 0;
    const news: JournalRecord[] = [];
    for (const { name } of isFirst ? files.slice(-FIRST_FILES) : files) {
      const number = segmentNumber(name)!;
      if (number < this.place.number) continue;
      const from = number === this.place.number ? this.place.bytes : 0;
      const { lines, end } = await readLines(join(dir, name), from);
      for (const line of lines) {
        const read = decodeLine(line);
        if (read.kind === 'header' && read.version > JOURNAL_VERSION) break;
        if (read.kind === 'record' && isLeftOut?.(read.record) !== true) news.push(read.record);
      }
      Object.assign(this.place, { number, bytes: end });
    }
    if (news.length > 0) this.kept = [...this.kept, ...news].slice(-most);
    return this.kept;
  }
}

/**
 * The whole lines from an offset on, and where they end. Of very many bytes the last ones. A file that is gone has
 * none.
 */
async function readLines(path: string, from: number): Promise<{ lines: readonly string[]; end: number }> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  let file: FileHandle;
  try {
    file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch {
    return { lines: [], end: from };
  }
  try {
    const { size } = await file.stat();
    const start = Math.max(from, size - MAX_BYTES);
    const bytes = Buffer.alloc(Math.max(0, size - start));
    const { bytesRead } = await file.read(bytes, 0, bytes.length, start);
    const text = bytes.subarray(0, bytesRead);
    const end = text.lastIndexOf('\n') + 1;
    const lines = text.subarray(0, end).toString('utf8').split('\n').slice(0, -1);
    return { lines: start > from ? lines.slice(1) : lines, end: start + end };
  } finally {
    await file.close();
  }
}
