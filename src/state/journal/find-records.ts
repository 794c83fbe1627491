import { join } from 'node:path';
import { systemCodeOf } from '../../core/system-errors';
import { listFiles } from './journal-fs';
import { explain, JournalError, readJournal } from './read-journal';
import type { JournalRecord } from './record';
import { sortSegments } from './segments';
import { isSelected, type RecordFilter } from './select-records';

export interface FindLimits {
  /** Most records that are found, the latest. */
  readonly most: number;
  /** Most bytes of files that are read; absent: all. */
  readonly maxBytes?: number;
  /** Maximum time of the search; absent: as long as it takes. */
  readonly maxMs?: number;
}

export interface FoundRecords {
  /** In the order of writing. */
  readonly records: readonly JournalRecord[];
  /** There are older ones that the filter lets through. */
  readonly more: boolean;
  /** The search ended at a limit of bytes or time, or with the signal: files older than these records were not read. */
  readonly isCutShort: boolean;
}

/**
 * The latest records of a journal's directory that the filter lets through. Reads the latest file first, each as a
 * whole or not at all. Throws JournalError when the directory or a file can't be read.
 */
export async function findRecords(
  dir: string,
  filter: RecordFilter,
  { most, maxBytes = Infinity, maxMs = Infinity, signal }: FindLimits & { readonly signal: AbortSignal },
): Promise<FoundRecords> {
  const endMs = performance.now() + maxMs;
  let leftBytes = maxBytes;
  let found: readonly JournalRecord[] = [];
  for (const { name, sizeBytes } of sortSegments(await explain(dir, () => listFiles(dir))).toReversed()) {
    leftBytes -= sizeBytes;
    const isOver = (): boolean => leftBytes < 0 || signal.aborted || performance.now() >= endMs;
    const before = isOver() ? 'cut-short' : await findIn(join(dir, name), filter, { most: most + 1, isOver });
    if (before === 'cut-short') return { records: found, more: false, isCutShort: true };
    found = [...before, ...found];
    if (found.length > most) return { records: found.slice(-most), more: true, isCutShort: false };
  }
  return { records: found, more: false, isCutShort: false };
}

/** The latest records of a file. None of one that was removed meanwhile, because it was too old. */
async function findIn(
  path: string,
  filter: RecordFilter,
  { most, isOver }: { readonly most: number; readonly isOver: () => boolean },
): Promise<readonly JournalRecord[] | 'cut-short'> {
  let found: JournalRecord[] = [];
  try {
    for await (const record of readJournal(path)) {
      if (isOver()) return 'cut-short';
      if (isSelected(record, filter)) found.push(record);
      if (found.length >= 2 * most) found = found.slice(-most);
    }
  } catch (error) {
    if (error instanceof JournalError && systemCodeOf(error.cause) === 'ENOENT') return [];
    throw error;
  }
  return found.slice(-most);
}
