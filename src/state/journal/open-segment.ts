import { join } from 'node:path';
import type { AppendedFile, FoundFile, JournalFs } from './journal-fs';
import { decodeLine, encodeHeader, JOURNAL_VERSION } from './record';
import { segmentName } from './segments';

/** A file of the journal that takes lines. */
export interface OpenSegment {
  readonly number: number;
  readonly file: AppendedFile;
  readonly sinceMs: number;
  /** All of it are whole lines. */
  sizeBytes: number;
}

const MAX_HEADER_BYTES = 4_096;

/** Begins a file: its header, and the lines of its preamble. Removes it again when that fails. */
export async function beginSegment(
  { fs, dir }: { readonly fs: JournalFs; readonly dir: string },
  segment: { readonly number: number; readonly sinceMs: number; readonly writtenBy: string; readonly preamble: Buffer },
): Promise<OpenSegment> {
  const { number, sinceMs, writtenBy, preamble } = segment;
  const at = new Date(sinceMs).toISOString();
  const header = Buffer.from(encodeHeader({ writtenBy, at, preambleBytes: preamble.length }));
  const start = Buffer.concat([header, preamble]);
  const path = join(dir, segmentName(number));
  const file = await fs.create(path);
  try {
    await file.append(start);
  } catch (error) {
    await file.close().catch(() => undefined);
    await fs.remove(path).catch(() => undefined); // each try would leave another one
    throw error;
  }
  return { number, file, sinceMs, sizeBytes: start.length };
}

/**
 * Opens the file of an earlier process; undefined when it has another version, or was cut off within a line or its
 * preamble.
 */
export async function continueSegment(
  { fs, dir }: { readonly fs: JournalFs; readonly dir: string },
  { name, sizeBytes }: FoundFile,
): Promise<Omit<OpenSegment, 'number'> | undefined> {
  const file = await fs.openToAppend(join(dir, name));
  try {
    const head = (await file.read(0, MAX_HEADER_BYTES)).toString('utf8').split('\n', 1)[0]!;
    const [end] = sizeBytes === 0 ? [] : await file.read(sizeBytes - 1, 1);
    const header = decodeLine(head);
    const isOurs = header.kind === 'header' && header.version === JOURNAL_VERSION;
    const isWhole = isOurs && sizeBytes >= Buffer.byteLength(head) + 1 + header.preambleBytes;
    if (isWhole && end === '\n'.charCodeAt(0)) return { file, sizeBytes, sinceMs: header.atMs };
  } catch (error) {
    await file.close();
    throw error;
  }
  await file.close();
  return undefined;
}
