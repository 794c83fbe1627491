export { cellsOf, describeRecord, EVENT_COLUMNS } from './describe-record';
export { describeMachine, readMachineRecord } from './machine';
export { JournalTail } from './journal-tail';
export { JournalWriter, MIN_JOURNAL_BYTES, type JournalLimits } from './journal-writer';
export { JournalError, readJournal } from './read-journal';
export { InputRecorder, type RecordedTransaction } from './record-inputs';
export type { RecordedEvent } from './recorded-input';
export { JOURNAL_KINDS, type JournalKind, type JournalRecord, type NewRecord } from './record';
export { sortSegments } from './segments';
