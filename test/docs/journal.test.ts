import { JOURNAL_KINDS } from '../../src/state/journal';
import { readPage, readTable } from './markdown';

test('the table of events has each kind of record once', () => {
  const named = readTable(readPage('operations.md'), '### `cpusetd events`').flatMap(([kinds]) =>
    [...kinds!.matchAll(/`([^`]+)`/g)].map(([, kind]) => kind!),
  );
  expect(named.sort()).toEqual([...JOURNAL_KINDS].sort());
});
