import type { FindLimits, FoundRecords, JournalRecord, RecordFilter } from '../../state/journal';

/** The journal of the node. */
export interface PageJournal {
  /** The last records, the latest last. */
  readonly latest: () => Promise<readonly JournalRecord[]>;
  /** Those that a filter lets through, within these limits. */
  readonly find: (filter: RecordFilter, limits: FindLimits & { readonly signal: AbortSignal }) => Promise<FoundRecords>;
}

/** Limits of one search. A journal of the size that is the default is read as a whole. */
export const SEARCH_LIMITS: FindLimits = { most: 200, maxBytes: 64 * 2 ** 20, maxMs: 3_000 };
/** Most searches at once: one that runs, and those that wait for it. */
const MAX_SEARCHES = 4;

/** Searches the journal for browsers, one search at a time: they share the process with the runtime's calls. */
export class JournalSearch {
  private searches = 0;
  private last: Promise<unknown> = Promise.resolve();

  constructor(private readonly journal: Pick<PageJournal, 'find'>) {}

  /**
   * Searches when those before have ended. A search whose signal has aborted ends at once. undefined: too many wait
   * already.
   */
  find(filter: RecordFilter, signal: AbortSignal): Promise<FoundRecords> | undefined {
    if (this.searches >= MAX_SEARCHES) return undefined;
    this.searches += 1;
    const found = this.last
      .then(() => this.journal.find(filter, { ...SEARCH_LIMITS, signal }))
      .finally(() => (this.searches -= 1));
    this.last = found.catch(() => undefined);
    return found;
  }
}
