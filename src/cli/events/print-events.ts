import { escapeJson, showText } from '../../core/show-text';
import {
  cellsOf,
  EVENT_COLUMNS,
  isSelected,
  readJournal,
  type JournalRecord,
  type RecordFilter,
} from '../../state/journal';
import { write, type CliContext } from '../context';
import { formatData, type DataFormat } from '../format/data';
import { COLUMN_GAP, ColumnWriter } from '../format/table';
import { terminalOf } from '../format/terminal';
import { toneOfEvent } from './event-tone';

export interface PrintOptions {
  /** A journal, or one of its files. */
  readonly path: string;
  readonly filter: RecordFilter;
  readonly follow: boolean;
  readonly output: 'table' | DataFormat;
}

/** Records are printed together up to this number. */
const BATCH = 1_000;

/**
 * Prints the records of a journal: JSON is one record a line, YAML one document a record. With `follow` until the
 * signal aborts. Throws JournalError.
 */
export async function printEvents(
  { path, filter, follow, output }: PrintOptions,
  { stdout, signal, env }: Pick<CliContext, 'stdout' | 'signal' | 'env'>,
): Promise<void> {
  const terminal = terminalOf({ stdout, env });
  const table = new ColumnWriter(EVENT_COLUMNS, {
    terminal,
    toneOf: toneOfEvent,
    ...(follow && { fixedWidths: widthsToFollow(terminal.width) }),
  });
  const print = async (records: readonly JournalRecord[]): Promise<void> => {
    if (records.length === 0) return;
    if (output === 'table') await write(stdout, table.format(records.map(cellsOf)));
    else if (output === 'json')
      await write(stdout, records.map((record) => `${escapeJson(JSON.stringify(record))}\n`).join(''));
    else for (const record of records) await write(stdout, `---\n${await formatData(record, 'yaml')}`);
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
  if (found === 0 && output === 'table' && !follow) await write(stdout, `${sayNone(filter)}\n`);
}

function sayNone({ pod }: RecordFilter): string {
  if (!pod) return 'No events.';
  const name = pod.namespace === '' ? pod.pod : `${pod.namespace}/${pod.pod}`;
  return `No events of the pod "${showText(name)}": cpusetd status lists the pods that run here, cpusetd events the others.`;
}

/** The longest of `JOURNAL_KINDS`, and a time to the second. */
const [TIME_WIDTH, KIND_WIDTH] = [20, 19];
const CPUS_WIDTH = 10;
/** Of pod and container together. */
const NAMES_WIDTH = { min: 23, max: 52 };
const MIN_REASON_WIDTH = 24;

/**
 * The widths of all columns but the reason, where rows to come are not known: the same for all rows, and longer cells
 * lose their middle.
 */
function widthsToFollow(width = Infinity): readonly number[] {
  const left = width - TIME_WIDTH - KIND_WIDTH - CPUS_WIDTH - 4 * COLUMN_GAP;
  const besideReason = left - MIN_REASON_WIDTH - COLUMN_GAP;
  const room = besideReason >= NAMES_WIDTH.min ? besideReason : left;
  const names = Math.min(NAMES_WIDTH.max, Math.max(NAMES_WIDTH.min, room));
  const pod = Math.ceil(names * 0.6);
  return [TIME_WIDTH, KIND_WIDTH, pod, names - pod, CPUS_WIDTH];
}
