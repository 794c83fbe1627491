import { appendFileSync, mkdtempSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { JournalTail } from '../../../src/state/journal';
import { encodeHeader, encodeRecord } from '../../../src/state/journal/record';

const at = '2026-11-24T10:00:00.000Z';
const header = encodeHeader({ writtenBy: '1', at, preambleBytes: 0 });
const line = (pod: string, kind: 'pinned' | 'input' = 'pinned'): string => encodeRecord({ at, kind, pod });
let dir: string;
beforeEach(() => (dir = mkdtempSync(join(tmpdir(), 'tail-'))));
afterEach(() => rmSync(dir, { recursive: true }));

const file = (number: number): string => join(dir, `${String(number).padStart(8, '0')}.jsonl`);
const openTail = (most = 3): JournalTail => new JournalTail({ dir, most, isLeftOut: ({ kind }) => kind === 'input' });
const podsOf = async (tail: JournalTail): Promise<(string | undefined)[]> =>
  (await tail.records()).map(({ pod }) => pod);

test('given records in several files: the last ones, without those that do not count', async () => {
  writeFileSync(file(1), header + line('a'));
  writeFileSync(file(2), header + line('x', 'input') + line('b') + line('c'));
  writeFileSync(file(3), header + line('d') + line('y', 'input'));
  expect(await podsOf(openTail())).toEqual(['b', 'c', 'd']);
});

test('given records that are appended, also in a next file: they are added, and the same list stays without one', async () => {
  const tail = openTail();
  expect(await podsOf(tail)).toEqual([]);
  writeFileSync(file(1), header + line('a'));
  const first = await tail.records();
  expect(await tail.records()).toBe(first);
  appendFileSync(file(1), line('b'));
  writeFileSync(file(2), header + line('c'));
  expect(await podsOf(tail)).toEqual(['a', 'b', 'c']);
  appendFileSync(file(2), line('d'));
  const last = await tail.records();
  expect(last.map(({ pod }) => pod)).toEqual(['b', 'c', 'd']);
});

test('given half a line: it is read when the rest of it has come', async () => {
  const text = line('b');
  writeFileSync(file(1), header + line('a') + text.slice(0, 20));
  const tail = openTail();
  expect(await podsOf(tail)).toEqual(['a']);
  appendFileSync(file(1), text.slice(20));
  expect(await podsOf(tail)).toEqual(['a', 'b']);
});

test('given a very large file: only its end is read, and only whole lines of it', async () => {
  const many = Array.from({ length: 20_000 }, (_, i) => line(`pod-${i}`)).join('');
  writeFileSync(file(1), header + many);
  expect(many.length).toBeGreaterThan(1_000_000);
  expect(await podsOf(openTail(2))).toEqual(['pod-19998', 'pod-19999']);
  expect((await openTail(20_000).records()).length).toBeLessThan(10_000);
});

test('given a file that is removed, and lines that are none of ours: the others are read', async () => {
  writeFileSync(file(1), header + line('a'));
  const tail = openTail();
  expect(await podsOf(tail)).toEqual(['a']);
  unlinkSync(file(1));
  writeFileSync(file(2), `${header}nonsense\n${line('b')}`);
  expect(await podsOf(tail)).toEqual(['a', 'b']);
});

test('given no directory: the error of the system', async () => {
  await expect(new JournalTail({ dir: join(dir, 'none'), most: 1 }).records()).rejects.toMatchObject({
    code: 'ENOENT',
  });
});
