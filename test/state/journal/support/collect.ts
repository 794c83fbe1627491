import { readJournal, type JournalRecord } from '../../../../src/state/journal';

/** All records of a journal, as it is now. */
export async function collect(path: string): Promise<readonly JournalRecord[]> {
  const records: JournalRecord[] = [];
  for await (const record of readJournal(path)) records.push(record);
  return records;
}
