import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { tryFlock, tryFlockAsync } from '../../../src/host/locks/flock';

let folder: string;
let fds: number[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'flock-'));
  fds = [];
});
afterEach(() => {
  for (const fd of fds) closeSync(fd);
  rmSync(folder, { recursive: true });
});

function open(name: string): number {
  const fd = openSync(join(folder, name), 'w');
  fds.push(fd);
  return fd;
}

describe.each([
  ['tryFlock', tryFlock],
  ['tryFlockAsync', tryFlockAsync],
])('%s', (_name, lock) => {
  test('locks free files, and returns the index of the first that is locked', async () => {
    expect(await lock('here', [open('b')])).toBeUndefined();
    expect(await lock('here', [open('a'), open('b'), open('c')])).toBe(1);
  });

  test('keeps the lock until the file is closed', async () => {
    await lock('here', [open('a')]);
    expect(await lock('here', [open('a')])).toBe(0);
    for (const fd of fds.splice(0)) closeSync(fd);
    expect(await lock('here', [open('a')])).toBeUndefined();
  });
});
