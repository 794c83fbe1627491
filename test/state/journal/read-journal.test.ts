import { appendFileSync, mkdirSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { JournalWriter, MIN_JOURNAL_BYTES, readJournal } from '../../../src/state/journal';
import { patienceMs, waitUntil } from '../../support/wait-until';
import { useTempDirs } from '../support/temp-dir';
import { collect } from './support/collect';

const makeDir = useTempDirs();
const header = (version = 1): string =>
  `{"journal":${version},"writtenBy":"cpusetd ${version}.0.0","at":"2026-11-24T10:00:00Z"}\n`;
const line = (number: number): string => `{"at":"2026-11-24T10:00:00Z","kind":"pinned","number":${number}}\n`;

function writeSegments(...texts: readonly string[]): string {
  const dir = makeDir();
  texts.forEach((text, i) => writeFileSync(join(dir, `0000000${i + 1}.jsonl`), text));
  return dir;
}

test('files are read in the order of their numbers, other names are no part of the journal', async () => {
  const dir = writeSegments(header() + line(1), header() + line(2));
  writeFileSync(join(dir, '123456789.jsonl'), header() + line(4));
  writeFileSync(join(dir, '00000003.jsonl'), header() + line(3));
  for (const name of ['00000001.jsonl.bak', '1.jsonl', 'notes']) writeFileSync(join(dir, name), line(99));
  mkdirSync(join(dir, '00000005.jsonl'));
  expect((await collect(dir)).map(({ number }) => number)).toEqual([1, 2, 3, 4]);
  expect((await collect(join(dir, '00000002.jsonl'))).map(({ number }) => number)).toEqual([2]);
});

test.each([
  ['a line that was cut off', '{"at":"2026-11-24T10:00'],
  ['zeros, as after a power cut', '\0\0\0\0\n'],
  ['no JSON', 'pinned\n'],
  ['a list', '[]\n'],
  ['a number', '7\n'],
  ['a record without a time', '{"kind":"pinned"}\n'],
  ['a record without a kind', '{"at":"2026-11-24T10:00:00Z"}\n'],
  ['a wrong time', '{"at":"yesterday","kind":"pinned"}\n'],
  ['a name that is no text', '{"at":"2026-11-24T10:00:00Z","kind":"pinned","pod":7}\n'],
  ['a very long line', `"${'x'.repeat(500_000)}"\n`],
])('%s is left out', async (_what, text) => {
  const dir = writeSegments(header() + line(1) + text + (text.endsWith('\n') ? line(2) : ''), header() + line(3));
  const numbers = (await collect(dir)).map(({ number }) => number);
  expect(numbers).toEqual(text.endsWith('\n') ? [1, 2, 3] : [1, 3]);
});

test('facts and kinds of another version are handed on', async () => {
  const text = '{"at":"2026-11-24T10:00:00Z","kind":"teleported","to":{"cpus":"1"}}\n';
  expect(await collect(writeSegments(header() + text))).toEqual([JSON.parse(text)]);
});

test('a version that is newer is refused by name', async () => {
  const dir = writeSegments(header() + line(1), header(2) + line(2));
  await expect(collect(dir)).rejects.toThrow(
    `${dir}/00000002.jsonl has version 2, written by cpusetd 2.0.0, and version 1 is read here: use that cpusetd or a newer one`,
  );
});

test('a state directory whose journal can not be looked at is an error, not an empty journal', async () => {
  const dir = makeDir();
  symlinkSync('journal', join(dir, 'journal'));
  await expect(collect(dir)).rejects.toThrow(`${dir}/journal: can't be read (ELOOP)`);
});

test('a path without a journal is an error that names it', async () => {
  const dir = makeDir();
  await expect(collect(join(dir, 'none'))).rejects.toThrow(`${dir}/none: no such file or directory`);
  expect(await collect(dir)).toEqual([]);
});

test('following: what is written later comes, over new files and over files that are removed', async () => {
  const dir = makeDir();
  const limits = { maxBytes: MIN_JOURNAL_BYTES, maxAgeMs: 3_600_000 };
  const writer = new JournalWriter({ dir, version: '0.1.0', limits, onProblem: () => undefined, closeMs: patienceMs });
  const stop = new AbortController();
  const numbers: unknown[] = [];
  const following = (async () => {
    for await (const { number } of readJournal(dir, { follow: stop.signal, pollMs: 1 })) numbers.push(number);
  })();
  const expected: number[] = [];
  for (let number = 0; number < 120; number++) {
    writer.add({ kind: 'pinned', number, filler: 'x'.repeat(10_000) });
    await writer.flush();
    expected.push(number);
    await waitUntil('the record comes', () => numbers.length === expected.length);
  }
  stop.abort();
  await following;
  expect(numbers).toEqual(expected);
  await writer.close();
});

test('following: a line comes when it is whole, and a file that is removed before it was read is passed over', async () => {
  const dir = writeSegments(header() + line(1));
  const stop = new AbortController();
  const numbers: unknown[] = [];
  const following = (async () => {
    for await (const { number } of readJournal(dir, { follow: stop.signal, pollMs: 1 })) numbers.push(number);
  })();
  await waitUntil(() => numbers.length === 1);
  const file = join(dir, '00000001.jsonl');
  appendFileSync(file, line(2).slice(0, 30));
  appendFileSync(file, line(2).slice(30));
  await waitUntil(() => numbers.length === 2);
  unlinkSync(file);
  writeFileSync(join(dir, '00000003.jsonl'), header() + line(3));
  await waitUntil(() => numbers.length === 3);
  stop.abort();
  await following;
  expect(numbers).toEqual([1, 2, 3]);
});
