import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { CpuSet } from '../../../src/core/cpuset';
import { JournalWriter, MIN_JOURNAL_BYTES } from '../../../src/state/journal';
import type { JournalWriterParts } from '../../../src/state/journal/journal-writer';
import { nodeJournalFs, type AppendedFile, type JournalFs } from '../../../src/state/journal/journal-fs';
import { patienceMs } from '../../support/wait-until';
import { useTempDirs } from '../support/temp-dir';
import { collect } from './support/collect';

const makeDir = useTempDirs();
const HOUR_MS = 3_600_000;
/** A writer that gives up goes on beside the next one of a test. */
const closeMs = patienceMs;
const start = Date.parse('2026-11-24T10:00:00Z');

function openWriter(
  dir: string,
  {
    maxAgeMs = 168 * HOUR_MS,
    wallMs = () => start,
    ...parts
  }: { maxAgeMs?: number } & Partial<JournalWriterParts> = {},
) {
  const problems: unknown[] = [];
  const limits = { maxBytes: MIN_JOURNAL_BYTES, maxAgeMs };
  const onProblem = (error: unknown): void => void problems.push(error);
  const writer = new JournalWriter({ dir, version: '0.1.0', limits, wallMs, onProblem, closeMs, ...parts });
  return { writer, problems };
}

const newDir = (): string => join(makeDir(), 'journal');
const sizeOf = (dir: string): number => readdirSync(dir).reduce((sum, name) => sum + statSync(join(dir, name)).size, 0);
const filler = 'x'.repeat(10_000);

test('records are lines of JSON below a header, with their time, in a file that only root may read', async () => {
  const dir = newDir();
  const { writer } = openWriter(dir);
  writer.add({ kind: 'pinned', pod: 'ns/web', cpus: CpuSet.of([2, 3]), because: 'it asked for 2 CPUs' });
  writer.add({ kind: 'idle', at: '2026-11-24T09:59:00.000Z', cpus: CpuSet.of([2, 3]) });
  await writer.close();
  expect(readFileSync(join(dir, '00000001.jsonl'), 'utf8')).toBe(
    [
      '{"journal":1,"writtenBy":"cpusetd 0.1.0","at":"2026-11-24T10:00:00.000Z"}',
      '{"at":"2026-11-24T10:00:00.000Z","kind":"pinned","pod":"ns/web","cpus":"2-3","because":"it asked for 2 CPUs"}',
      '{"at":"2026-11-24T09:59:00.000Z","kind":"idle","cpus":"2-3"}',
      '',
    ].join('\n'),
  );
  expect(statSync(dir).mode & 0o777).toBe(0o700);
  expect(statSync(join(dir, '00000001.jsonl')).mode & 0o777).toBe(0o600);
});

test('a later process goes on in the same file', async () => {
  const dir = newDir();
  for (const number of [1, 2, 3]) {
    const { writer } = openWriter(dir);
    writer.add({ kind: 'settings', number });
    await writer.close();
  }
  expect(readdirSync(dir)).toEqual(['00000001.jsonl']);
  expect((await collect(dir)).map(({ number }) => number)).toEqual([1, 2, 3]);
});

test.each([
  [
    'was cut off within a line',
    '{"journal":1,"writtenBy":"cpusetd 0.1.0","at":"2026-11-24T10:00:00Z"}\n{"at":"2026-11-24T10',
  ],
  ['is of a newer version', '{"journal":2,"writtenBy":"cpusetd 9.0.0","at":"2026-11-24T10:00:00Z"}\n'],
  ['has no header', '\n'],
  ['is empty', ''],
])('a file that %s is left as it is, and the next one is begun', async (_what, text) => {
  const dir = newDir();
  mkdirSync(dir);
  writeFileSync(join(dir, '00000007.jsonl'), text);
  const { writer, problems } = openWriter(dir);
  writer.add({ kind: 'settings' });
  await writer.close();
  expect(problems).toEqual([]);
  expect(readdirSync(dir).sort()).toEqual(['00000007.jsonl', '00000008.jsonl']);
  expect(readFileSync(join(dir, '00000007.jsonl'), 'utf8')).toBe(text);
  expect(await collect(join(dir, '00000008.jsonl'))).toHaveLength(1);
});

test('all files together stay within the limit of size; the oldest records go first', async () => {
  const dir = newDir();
  const { writer } = openWriter(dir);
  let largest = 0;
  for (let number = 0; number < 300; number++) {
    writer.add({ kind: 'pinned', number, filler });
    await writer.flush();
    largest = Math.max(largest, sizeOf(dir));
  }
  await writer.close();
  expect(largest).toBeLessThanOrEqual(MIN_JOURNAL_BYTES);
  const numbers = (await collect(dir)).map(({ number }) => Number(number));
  const [first = 0] = numbers;
  expect(numbers).toEqual(Array.from({ length: 300 - first }, (_, i) => first + i));
  expect(numbers.length).toBeGreaterThan(35); // 6 of 10 kB in each of the last files
});

test('each file begins with the preamble, as far as it has room for it; a file that goes on does not', async () => {
  const dir = newDir();
  const limits = { maxBytes: MIN_JOURNAL_BYTES, maxAgeMs: 168 * HOUR_MS };
  const onProblem = (error: unknown): never => {
    throw error;
  };
  let long = '';
  let files = 0;
  const preamble = () => [
    { kind: 'input', of: 'settings', file: ++files } as const,
    { kind: 'input', of: 'listed', long } as const,
  ];
  const open = () => new JournalWriter({ dir, version: '0.1.0', limits, onProblem, closeMs, preamble });
  const first = open();
  for (let number = 0; number < 8; number++) first.add({ kind: 'pinned', number, filler });
  await first.close();
  const again = open();
  again.add({ kind: 'settings' });
  await again.close();
  expect((await collect(dir)).map(({ kind, of: part, file }) => (kind === 'input' ? [part, file] : kind))).toEqual([
    ...[['settings', 1], ['listed', undefined], ...Array<string>(6).fill('pinned')],
    ...[['settings', 2], ['listed', undefined], 'pinned', 'pinned', 'settings'],
  ]);
  long = 'x'.repeat(20_000);
  const full = open();
  for (let number = 0; number < 5; number++) full.add({ kind: 'idle', filler });
  await full.close();
  expect((await collect(join(dir, '00000003.jsonl'))).map(({ kind }) => kind)).toEqual(['idle']);
});

test('a preamble that a crash cut off, within a line or between two, is left out, and the next file is begun', async () => {
  const dir = newDir();
  const limits = { maxBytes: MIN_JOURNAL_BYTES, maxAgeMs: 168 * HOUR_MS };
  const lines = ['settings', 'pod', 'container', 'listed'];
  const preamble = () => lines.map((part) => ({ kind: 'input', of: part }) as const);
  const begin = async () => {
    const writer = new JournalWriter({ dir, version: '0.1.0', limits, onProblem: () => undefined, closeMs, preamble });
    writer.add({ kind: 'pinned' });
    await writer.close();
  };
  await begin();
  const path = join(dir, '00000001.jsonl');
  const whole = readFileSync(path, 'utf8');
  const endOfPreamble = whole.lastIndexOf('\n', whole.length - 2) + 1;
  const all = [...lines, 'pinned'];
  const recorded = async () => (await collect(dir)).map(({ kind, of: part }) => part ?? kind);
  expect(await recorded()).toEqual(all);
  for (let length = whole.indexOf('\n') + 1; length < whole.length; length++) {
    writeFileSync(path, whole.slice(0, length));
    const isWhole = length >= endOfPreamble;
    expect(await recorded()).toEqual(isWhole ? lines : []);
    await begin();
    const isNext = existsSync(join(dir, '00000002.jsonl'));
    expect([length, isNext]).toEqual([length, length !== endOfPreamble]);
    expect(await recorded()).toEqual([...(isWhole ? lines : []), ...(isNext ? all : ['pinned'])]);
    rmSync(join(dir, '00000002.jsonl'), { force: true });
  }
});

test('after a gap a file is begun in any case, and it alone is told to be the first', async () => {
  const dir = newDir();
  const { writer: before } = openWriter(dir);
  before.add({ kind: 'settings' });
  await before.close();
  const recorded: boolean[] = [];
  let isFull = true;
  const fs: JournalFs = {
    ...nodeJournalFs,
    create: (path) => (isFull ? Promise.reject(new Error('no space')) : nodeJournalFs.create(path)),
  };
  const preamble = (_ahead: number, afterGap: boolean): [] => {
    recorded.push(afterGap);
    return [];
  };
  const { writer } = openWriter(dir, { afterGap: true, preamble, fs });
  writer.add({ kind: 'left-out' });
  await writer.flush();
  isFull = false;
  for (let number = 0; number < 8; number++) writer.add({ kind: 'pinned', number, filler });
  await writer.close();
  expect(readdirSync(dir).sort()).toEqual(['00000001.jsonl', '00000002.jsonl', '00000003.jsonl']);
  expect((await collect(join(dir, '00000001.jsonl'))).map(({ kind }) => kind)).toEqual(['settings']);
  expect(recorded).toEqual([true, true, false]); // the first could not be made at once
});

test('a batch that is longer than a file goes into several', async () => {
  const dir = newDir();
  const { writer } = openWriter(dir);
  for (let number = 0; number < 30; number++) writer.add({ kind: 'pinned', number, filler });
  await writer.close();
  expect(readdirSync(dir).length).toBe(5);
  expect(sizeOf(dir)).toBeLessThanOrEqual(MIN_JOURNAL_BYTES);
  expect(await collect(dir)).toHaveLength(30);
});

test('files whose last record is too old are removed, and a file is left after an eighth of that time', async () => {
  const dir = newDir();
  let now = start;
  const { writer } = openWriter(dir, { maxAgeMs: 8 * HOUR_MS, wallMs: () => now });
  for (let hour = 0; hour < 3; hour++) {
    writer.add({ kind: 'pinned', hour });
    await writer.flush();
    const file = join(dir, readdirSync(dir).sort().at(-1)!);
    utimesSync(file, now / 1000, now / 1000);
    now += 1.5 * HOUR_MS;
  }
  expect(readdirSync(dir)).toHaveLength(3);
  now = start + 9 * HOUR_MS;
  writer.add({ kind: 'pinned', hour: 9 });
  await writer.close();
  expect((await collect(dir)).map(({ hour }) => hour)).toEqual([1, 2, 9]);
});

test('a record that is too long loses its facts, and keeps its kind', async () => {
  const dir = newDir();
  const { writer } = openWriter(dir);
  writer.add({ kind: 'refused', because: 'x'.repeat(100_000) });
  await writer.close();
  expect(await collect(dir)).toEqual([
    {
      at: '2026-11-24T10:00:00.000Z',
      kind: 'refused',
      because: 'the record was too long, and its facts were left out',
    },
  ]);
});

test('a write that fails is told once, leaves no half line, and is made again', async () => {
  const dir = newDir();
  let isFull = false;
  const onFullDisk = (file: AppendedFile): AppendedFile => ({
    ...file,
    append: async (bytes) => {
      if (!isFull) return file.append(bytes);
      await file.append(bytes.subarray(0, 20));
      throw Object.assign(new Error('no space'), { code: 'ENOSPC' });
    },
  });
  const fs: JournalFs = {
    ...nodeJournalFs,
    create: async (path) => onFullDisk(await nodeJournalFs.create(path)),
    openToAppend: async (path) => onFullDisk(await nodeJournalFs.openToAppend(path)),
  };
  const { writer, problems } = openWriter(dir, { fs });
  writer.add({ kind: 'pinned', number: 1 });
  await writer.flush();
  isFull = true;
  writer.add({ kind: 'pinned', number: 2 });
  await writer.flush();
  await writer.flush();
  expect(problems).toEqual([expect.objectContaining({ code: 'ENOSPC' })]);
  expect((await collect(dir)).map(({ number }) => number)).toEqual([1]);
  isFull = false;
  await writer.close();
  expect((await collect(dir)).map(({ number }) => number)).toEqual([1, 2]);
});

test('a disk that is full when a file is begun leaves no file, however often it is tried', async () => {
  const dir = newDir();
  let isFull = true;
  const fs: JournalFs = {
    ...nodeJournalFs,
    create: async (path) => {
      const file = await nodeJournalFs.create(path);
      const append = async (bytes: Buffer): Promise<void> => {
        await file.append(isFull ? bytes.subarray(0, 10) : bytes);
        if (isFull) throw Object.assign(new Error('no space'), { code: 'ENOSPC' });
      };
      return { ...file, append };
    },
  };
  const { writer, problems } = openWriter(dir, { fs });
  writer.add({ kind: 'pinned' });
  for (let i = 0; i < 5; i++) {
    await writer.flush();
    expect(readdirSync(dir)).toEqual([]);
  }
  expect(problems).toHaveLength(1);
  isFull = false;
  await writer.close();
  expect(readdirSync(dir)).toEqual(['00000001.jsonl']);
  expect(await collect(dir)).toHaveLength(1);
});

/** File operations, one of which fails as long as `fault.code` is set. */
function faultyFs(operation: string, fault: { code: string; count: number }): JournalFs {
  const guard = <A extends unknown[], R>(name: string, work: (...args: A) => Promise<R>) => {
    return async (...args: A): Promise<R> => {
      if (fault.code !== '' && name === operation) {
        fault.count += 1;
        throw Object.assign(new Error(name), { code: fault.code });
      }
      return work(...args);
    };
  };
  const ofFile = (file: AppendedFile): AppendedFile => ({
    append: guard('append', file.append),
    cutTo: guard('cutTo', file.cutTo),
    read: guard('read', file.read),
    // A descriptor is closed also when its close fails.
    close: async () => {
      await file.close();
      await guard('close', () => Promise.resolve())();
    },
  });
  const { makeDirectory, list, create, openToAppend, remove } = nodeJournalFs;
  return {
    makeDirectory: guard('makeDirectory', makeDirectory),
    list: guard('list', list),
    create: guard('create', async (path) => ofFile(await create(path))),
    openToAppend: guard('openToAppend', async (path) => ofFile(await openToAppend(path))),
    remove: guard('remove', remove),
  };
}

const FAILING = ['makeDirectory', 'list', 'create', 'openToAppend', 'append', 'read', 'remove', 'close'];
test.each(FAILING.flatMap((operation) => ['ENOSPC', 'EIO', 'EROFS'].map((code) => ({ operation, code }))))(
  '$operation fails with $code for a while: each record is written once, in its order, and nothing is thrown',
  async ({ operation, code }) => {
    const dir = newDir();
    const earlier = openWriter(dir);
    // So many files that the next one begins with a removal.
    for (let number = 0; number < 43; number++) earlier.writer.add({ kind: 'pinned', number, filler });
    await earlier.writer.close();
    const fault = { code, count: 0 };
    const { writer, problems } = openWriter(dir, { fs: faultyFs(operation, fault) });
    let next = 43;
    const addSome = async (): Promise<void> => {
      for (let i = 0; i < 14; i++) writer.add({ kind: 'pinned', number: next++, filler });
      await writer.flush();
    };
    await addSome();
    expect(fault.count).toBeGreaterThan(0);
    // A failed close loses nothing that was appended.
    expect(problems).toEqual(operation === 'close' ? [] : [expect.objectContaining({ code })]);
    fault.code = '';
    await addSome();
    await writer.close();
    const numbers = (await collect(dir)).map(({ number }) => Number(number));
    expect(numbers.at(-1)).toBe(next - 1);
    expect(numbers).toEqual(numbers.map((_, i) => next - numbers.length + i));
    expect(sizeOf(dir)).toBeLessThanOrEqual(MIN_JOURNAL_BYTES);
  },
);

test('a directory that is removed is made again with the next file', async () => {
  const dir = newDir();
  const { writer, problems } = openWriter(dir);
  writer.add({ kind: 'pinned', number: 1 });
  await writer.flush();
  rmSync(dir, { recursive: true });
  for (let number = 2; number < 10; number++) writer.add({ kind: 'pinned', number, filler });
  await writer.close();
  expect(problems).toEqual([]);
  expect((await collect(dir)).map(({ number }) => number)).toContain(9);
});

test('records beyond what may wait for the disk are counted, and the count is a record', async () => {
  const dir = newDir();
  let isFull = true;
  const fs: JournalFs = {
    ...nodeJournalFs,
    list: (path) => (isFull ? Promise.reject(new Error('hangs')) : nodeJournalFs.list(path)),
  };
  const { writer } = openWriter(dir, { fs, gatherMs: 3_600_000 });
  for (let number = 0; number < 200; number++) writer.add({ kind: 'pinned', number, filler });
  await writer.flush();
  isFull = false;
  await writer.close();
  const records = await collect(dir);
  // The newest of those that could wait are in the journal, the oldest had to go for its limit.
  const lastKept = Math.max(...records.flatMap(({ number }) => (number === undefined ? [] : [Number(number)])));
  expect(lastKept).toBeGreaterThan(100);
  expect(records.filter(({ kind }) => kind === 'left-out')).toEqual([
    {
      at: '2026-11-24T10:00:00.000Z',
      kind: 'left-out',
      records: 199 - lastKept,
      because: 'the disk did not take them in time',
    },
  ]);
});

test('a close does not wait for a disk that hangs', async () => {
  const fs: JournalFs = { ...nodeJournalFs, makeDirectory: () => new Promise(() => undefined) };
  const { writer } = openWriter(newDir(), { fs, closeMs: 10 });
  writer.add({ kind: 'stopped' });
  await writer.close();
  await writer.close();
});

test('a link in the place of a file is not followed', async () => {
  const dir = newDir();
  mkdirSync(dir);
  const victim = join(makeDir(), 'victim');
  appendFileSync(victim, 'victim');
  symlinkSync(victim, join(dir, '00000001.jsonl'));
  const { writer, problems } = openWriter(dir);
  writer.add({ kind: 'pinned' });
  await writer.close();
  expect(readFileSync(victim, 'utf8')).toBe('victim');
  expect(problems).toEqual([expect.objectContaining({ code: 'EEXIST' })]);
});
