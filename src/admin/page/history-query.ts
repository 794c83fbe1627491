import { CPUS_RULE, POD_RULE, readCpus, readPod, readTime, TIME_RULE, type RecordFilter } from '../../state/journal';

/** The fields of the history's form, which are the parameters of its address too. */
export const HISTORY_FIELDS = ['pod', 'cpu', 'since', 'until'] as const;
export type HistoryField = (typeof HISTORY_FIELDS)[number];

/** The filter of the history, as it was asked for. */
export interface HistoryQuery {
  /** As typed; empty for a field that is not used. */
  readonly typed: Readonly<Record<HistoryField, string>>;
  readonly filter: RecordFilter;
  /** A sentence for each field that can't be read. With one the filter is not to be used. */
  readonly faults: ReadonlyMap<HistoryField, string>;
  /** No field is used. */
  readonly isEmpty: boolean;
}

/** Longest text that is taken from a field. */
const MAX_FIELD = 1_000;

/** Reads the parameters. Never throws. */
export function readHistoryQuery(query: URLSearchParams, nowMs: number): HistoryQuery {
  const faults = new Map<HistoryField, string>();
  const textOf = (field: HistoryField): string => (query.get(field) ?? '').trim();
  const read = <T>(field: HistoryField, parse: (text: string) => T | undefined, rule: string): T | undefined => {
    const text = textOf(field);
    if (text === '') return undefined;
    const value = text.length > MAX_FIELD ? undefined : parse(text);
    if (value === undefined) faults.set(field, `"${shorten(text)}" can't be read; ${rule}`);
    return value;
  };
  const pod = read('pod', readPod, POD_RULE);
  const cpus = read('cpu', readCpus, CPUS_RULE);
  const sinceMs = read('since', (text) => readTime(text, nowMs), TIME_RULE);
  const untilMs = read('until', (text) => readTime(text, nowMs), TIME_RULE);
  if (sinceMs !== undefined && untilMs !== undefined && untilMs < sinceMs)
    faults.set('until', 'is earlier than "since"; exchange them');
  const filter = {
    ...(pod && { pod }),
    ...(cpus && { cpus }),
    ...(sinceMs !== undefined && { sinceMs }),
    ...(untilMs !== undefined && { untilMs }),
  };
  const typed = { pod: '', cpu: '', since: '', until: '' };
  for (const field of HISTORY_FIELDS) typed[field] = textOf(field).slice(0, MAX_FIELD);
  return { typed, filter, faults, isEmpty: Object.values(typed).every((text) => text === '') };
}

function shorten(text: string): string {
  return text.length <= 60 ? text : `${text.slice(0, 57)}...`;
}
