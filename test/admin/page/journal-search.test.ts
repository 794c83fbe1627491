import { JournalSearch, SEARCH_LIMITS, type PageJournal } from '../../../src/admin/page/journal-search';
import type { FoundRecords } from '../../../src/state/journal';

const NONE: FoundRecords = { records: [], more: false, isCutShort: false };
const { signal } = new AbortController();

/** A journal whose searches end when the test says so. */
function openJournal() {
  const running: { end: (found: FoundRecords) => void; fail: (error: Error) => void; limits: object }[] = [];
  const find: PageJournal['find'] = (_filter, limits) =>
    new Promise((end, fail) => running.push({ end, fail, limits }));
  return { running, search: new JournalSearch({ find }) };
}
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('one search runs at a time, within its limits; the others wait, and beyond four they are turned away', async () => {
  const { running, search } = openJournal();
  const searches = Array.from({ length: 6 }, () => search.find({}, signal));
  expect(searches.map((each) => each !== undefined)).toEqual([true, true, true, true, false, false]);
  for (let i = 0; i < 4; i++) {
    await settle();
    expect(running).toHaveLength(i + 1);
    expect(running[i]!.limits).toEqual({ ...SEARCH_LIMITS, signal });
    running[i]!.end(NONE);
    expect(await searches[i]).toBe(NONE);
  }
  expect(search.find({}, signal)).toBeDefined();
});

test('given a search that fails: its caller is told, and the next one runs', async () => {
  const { running, search } = openJournal();
  const [first, second] = [search.find({}, signal)!, search.find({}, signal)!];
  await settle();
  running[0]!.fail(new Error('no journal'));
  await expect(first).rejects.toThrow('no journal');
  await settle();
  running[1]!.end(NONE);
  expect(await second).toBe(NONE);
});
