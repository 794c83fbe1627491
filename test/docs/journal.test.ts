import { JOURNAL_KINDS } from '../../src/state/journal';
import { readPage } from './markdown';

test('the table of events has each kind of record once', () => {
  const [, chapter = ''] = readPage('commands.md').split('\n## `cpusetd events`\n');
  const cells = [...chapter.split('\n## ')[0]!.matchAll(/^\| (`.*?) \| /gm)].map(([, kinds]) => kinds!);
  const named = cells.flatMap((kinds) => [...kinds.matchAll(/`([^`]+)`/g)].map(([, kind]) => kind!));
  expect(named.sort()).toEqual([...JOURNAL_KINDS].sort());
});
