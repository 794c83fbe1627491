import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseCpuList } from '../../../src/core/cpuset';
import {
  findRecords,
  JournalError,
  type FindLimits,
  type FoundRecords,
  type RecordFilter,
} from '../../../src/state/journal';
import { useTempDirs } from '../support/temp-dir';

const makeDir = useTempDirs();
const header = (version = 1): string =>
  `{"journal":${version},"writtenBy":"cpusetd ${version}.0.0","at":"2026-11-24T10:00:00Z"}\n`;
const line = (number: number, cpus = '2-3'): string =>
  `{"at":"2026-11-24T10:00:00Z","kind":"pinned","number":${number},"cpus":"${cpus}"}\n`;

function writeSegments(...texts: readonly string[]): string {
  const dir = makeDir();
  texts.forEach((text, i) => writeFileSync(join(dir, `0000000${i + 1}.jsonl`), header() + text));
  return dir;
}

const find = (
  dir: string,
  { filter = {}, ...limits }: Partial<FindLimits & { filter: RecordFilter; signal: AbortSignal }> = {},
): Promise<FoundRecords> =>
  findRecords(dir, filter, {
    most: 3,
    maxBytes: 2 ** 20,
    maxMs: 60_000,
    signal: new AbortController().signal,
    ...limits,
  });
const shown = ({ records, more, isCutShort }: FoundRecords): string =>
  [records.map(({ number }) => number).join(' '), more ? 'more' : '', isCutShort ? 'cut short' : '']
    .filter((text) => text !== '')
    .join(', ');

test.each<[string, readonly string[], string]>([
  ['fewer than the most', [line(1), line(2)], '1 2'],
  ['as many as the most', [line(1), line(2) + line(3)], '1 2 3'],
  ['one more, in an older file', [line(1), line(2) + line(3) + line(4)], '2 3 4, more'],
  [
    'many more in the latest file',
    [line(0), Array.from({ length: 40 }, (_, i) => line(i + 1)).join('')],
    '38 39 40, more',
  ],
  ['none', [], ''],
])('given %s: the latest, and if there are older ones', async (_name, texts, want) => {
  expect(shown(await find(writeSegments(...texts)))).toBe(want);
});

test('only what the filter lets through counts, from all files', async () => {
  const dir = writeSegments(line(1, '17') + line(2), line(3), line(4) + line(5, '16-18') + '{"kind":"pinned"}\n');
  expect(shown(await find(dir, { filter: { cpus: parseCpuList('17') } }))).toBe('1 5');
});

test('given files with more bytes than may be read: the latest files, each as a whole, and it is said', async () => {
  const dir = writeSegments(line(1), line(2), line(3));
  const each = (header() + line(1)).length;
  expect(shown(await find(dir, { maxBytes: 2 * each }))).toBe('2 3, cut short');
  expect(shown(await find(dir, { maxBytes: 3 * each }))).toBe('1 2 3');
  expect(shown(await find(dir, { maxBytes: each - 1 }))).toBe('cut short');
});

test('given no time, or a client that has gone: nothing is read, and it is said', async () => {
  const dir = writeSegments(line(1));
  expect(shown(await find(dir, { maxMs: 0 }))).toBe('cut short');
  expect(shown(await find(dir, { signal: AbortSignal.abort() }))).toBe('cut short');
});

test('given a file of a newer version, and no directory: an error', async () => {
  const dir = writeSegments(line(1));
  writeFileSync(join(dir, '00000002.jsonl'), header(2) + line(2));
  await expect(find(dir)).rejects.toThrow(JournalError);
  const none = join(dir, 'none');
  await expect(find(none)).rejects.toThrow(`${none}: no such file or directory`);
  await expect(find(none)).rejects.toThrow(JournalError);
});

test('given a file that is removed while the search runs: the others are found', async () => {
  const dir = writeSegments(line(1), line(2));
  const signal = {
    // Asked after the files were listed, and before one is read.
    get aborted() {
      rmSync(join(dir, '00000001.jsonl'), { force: true });
      return false;
    },
  } as AbortSignal;
  expect(shown(await find(dir, { signal }))).toBe('2');
});
