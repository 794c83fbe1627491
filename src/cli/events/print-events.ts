import { escapeJson } from '../../core/show-text';
import {
  cellsOf,
  EVENT_COLUMNS,
  isSelected,
  readJournal,
  type JournalRecord,
  type RecordFilter,
} from '../../state/journal';
import { write, type CliContext } from '../context';
import { ColumnWriter } from '../format/table';
import { terminalOf } from '../format/terminal';
import { toneOfEvent } from './event-tone';

export interface PrintOptions {
  /** A journal, or one of its files. */
  readonly path: string;
  readonly filter: RecordFilter;
  readonly follow: boolean;
  readonly output: 'table' | 'json';
}

/** Records are printed together up to this number. */
const BATCH = 1_000;

/** Prints the records of a journal; JSON is one record a line. With `follow` until the signal aborts. Throws JournalError. */
export async function printEvents(
  { path, filter, follow, output }: PrintOptions,
  { stdout, signal, env }: Pick<CliContext, 'stdout' | 'signal' | 'env'>,
): Promise<void> {
  const table = new ColumnWriter(EVENT_COLUMNS, { terminal: terminalOf({ stdout, env }), toneOf: toneOfEvent });
  const print = async (records: readonly JournalRecord[]): Promise<void> => {
    if (records.length === 0) return;
    if (output === 'table') await write(stdout, table.format(records.map(cellsOf)));
    else await write(stdout, records.map((record) => `${escapeJson(JSON.stringify(record))}\n`).join(''));
  };
  let found = 0;
  let batch: JournalRecord[] = [];
  const take = async (records: AsyncIterable<JournalRecord>, atOnce: boolean): Promise<void> => {
    for await (const record of records) {
      if (signal.aborted) return;
      if (!isSelected(record, filter)) continue;
      found += 1;
      batch.push(record);
      if (!atOnce && batch.length < BATCH) continue;
      await print(batch);
      batch = [];
    }
    await print(batch);
    batch = [];
  };
  await take(readJournal(path, follow ? { follow: signal } : {}), follow);
  if (found === 0 && output === 'table' && !follow) await write(stdout, 'No events.\n');
}
