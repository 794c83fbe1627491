import { chmodSync, closeSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { HostLockError, openOwnDirectory } from '../../../src/host/directories/own-directory';

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'own-'))));
afterEach(() => rmSync(folder, { recursive: true }));

function open(path: string): readonly string[] {
  const { fd, warnings } = openOwnDirectory(path);
  closeSync(fd);
  return warnings;
}

const modeOf = (path: string): string => (statSync(path).mode & 0o7777).toString(8);

test('a missing directory is made with mode 0700, and without a warning', () => {
  const path = join(folder, 'a/b');
  expect(open(path)).toEqual([]);
  expect(modeOf(path)).toBe('700');
});

test.each([
  ['777', '755', /had mode 777/],
  ['1777', '1777', /is shared with others/],
])('a directory of mode %s gets a warning, and has mode %s afterwards', (before, after, warning) => {
  const path = join(folder, 'open');
  mkdirSync(path);
  chmodSync(path, parseInt(before, 8));
  expect(open(path)).toEqual([expect.stringMatching(warning)]);
  expect(modeOf(path)).toBe(after);
});

test('a file in place of the directory is an error with the remedy', () => {
  const path = join(folder, 'file');
  writeFileSync(path, '');
  expect(() => open(path)).toThrow(HostLockError);
  expect(() => open(path)).toThrow(/\(EEXIST\); cpusetd needs a directory of its own/);
});
