import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigFileWatch } from '../../../src/app/reload/config-file-watch';
import { waitUntil } from '../../support/wait-until';

let folder: string;
let stop: AbortController;
let changes: number;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'watch-'));
  stop = new AbortController();
  changes = 0;
});
afterEach(() => {
  stop.abort();
  rmSync(folder, { recursive: true, force: true });
});

const path = (): string => join(folder, 'cpusetd.yaml');
/** A poll comes only when a test says so. */
const NEVER_MS = 3_600_000;

function watch(known: string | undefined, pollMs = NEVER_MS): void {
  new ConfigFileWatch({ path: path(), known, onChange: () => changes++, signal: stop.signal, pollMs });
}

function replace(text: string): void {
  writeFileSync(`${path()}.new`, text);
  renameSync(`${path()}.new`, path());
}

const seen = (count: number): Promise<void> => waitUntil(`${count} changes`, () => changes >= count);

test('a file that is replaced, written in place, removed and made again is noticed each time, once', async () => {
  replace('a');
  watch('a');
  replace('b');
  await seen(1);
  writeFileSync(path(), 'c');
  await seen(2);
  rmSync(path());
  await seen(3);
  replace('c');
  await seen(4);
  expect(changes).toBe(4);
});

test('a change before the watch began is noticed', async () => {
  replace('b');
  watch('a');
  await seen(1);
});

test('other files of the directory, and the same text again, are no change', async () => {
  replace('a');
  watch('a');
  writeFileSync(join(folder, 'other.yaml'), 'x');
  replace('a');
  replace('b'); // the first that counts
  await seen(1);
  expect(changes).toBe(1);
});

test('a file that is written in steps is taken when it has settled', async () => {
  replace('a');
  watch('a');
  const steps = Array.from({ length: 20 }, (_, i) => `line ${i}\n`);
  for (const [i] of steps.entries()) {
    writeFileSync(path(), steps.slice(0, i + 1).join(''));
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await seen(1);
  // It was taken far less often than it was written.
  expect(changes).toBeLessThan(5);
});

test('the links of a mounted ConfigMap: the swap of ..data is noticed', async () => {
  const publish = (version: string, text: string): void => {
    mkdirSync(join(folder, version));
    writeFileSync(join(folder, version, 'cpusetd.yaml'), text);
    symlinkSync(version, join(folder, '..data_tmp'));
    renameSync(join(folder, '..data_tmp'), join(folder, '..data'));
  };
  publish('..1', 'a');
  symlinkSync('..data/cpusetd.yaml', path());
  watch('a');
  publish('..2', 'b');
  await seen(1);
});

test('a change that inotify can not see is found by the poll', async () => {
  const elsewhere = mkdtempSync(join(tmpdir(), 'elsewhere-'));
  try {
    writeFileSync(join(elsewhere, 'real'), 'a');
    symlinkSync(join(elsewhere, 'real'), path());
    watch('a', 20);
    writeFileSync(join(elsewhere, 'real'), 'b');
    await seen(1);
  } finally {
    rmSync(elsewhere, { recursive: true });
  }
});

test('a directory that is not there yet is watched when it is', async () => {
  rmSync(folder, { recursive: true });
  watch(undefined, 20);
  mkdirSync(folder);
  replace('a');
  await seen(1);
});
