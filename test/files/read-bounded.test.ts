import { spawnSync } from 'node:child_process';
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readBounded } from '../../src/files/read-bounded';
import { defineAsRoot } from '../support/not-run';

let dir: string;
let path: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'bounded-'));
  path = join(dir, 'f');
});
afterEach(() => rmSync(dir, { recursive: true }));

test.each([0, 1, 4095, 4096, 4097, 65536])('a file of %i bytes is read completely', (size) => {
  writeFileSync(path, 'x'.repeat(size));
  expect(readBounded(path, 65536)).toEqual({ ok: true, text: 'x'.repeat(size) });
});

test('a file above the size limit is not read', () => {
  writeFileSync(path, 'x'.repeat(65537));
  expect(readBounded(path, 65536)).toEqual({ ok: false, kind: 'too-large', because: 'is larger than 64 KiB' });
});

test('a file longer than its reported size is read up to the limit', () => {
  const all = readBounded('/proc/self/maps', 1 << 24);
  expect(all).toMatchObject({ ok: true, text: expect.stringMatching(/^[\da-f]+-[\da-f]+ /) });
  expect(readBounded('/proc/self/maps', 1024)).toMatchObject({ ok: false, kind: 'too-large' });
});

test.each([
  ['no file', () => undefined, 'missing', 'no such file'],
  ['a FIFO without a writer', () => spawnSync('mkfifo', [path]), 'not-a-file', 'is not a regular file'],
  ['a folder', () => spawnSync('mkdir', [path]), 'not-a-file', 'is a folder, not a file'],
  ['a symbolic link to an endless device', () => spawnSync('ln', ['-s', '/dev/zero', path]), 'not-a-file', 'is not a regular file'],
  ['a symbolic link to itself', () => spawnSync('ln', ['-s', path, path]), 'unreadable', "is a symbolic link, or one that goes round in circles"],
])('%s is reported at once', (_name, make, kind, because) => {
  make();
  expect(readBounded(path, 1024)).toMatchObject({ ok: false, kind, because });
}); // prettier-ignore

test('a socket is not a file', async () => {
  const server = createServer().listen(path);
  await once(server, 'listening');
  expect(readBounded(path, 1024)).toMatchObject({ ok: false, kind: 'not-a-file' });
  await new Promise((resolve) => server.close(resolve));
});

test('with `own`, a symbolic link is not followed', () => {
  const target = `${path}-target`;
  writeFileSync(target, 'text');
  spawnSync('ln', ['-s', target, path]);
  expect(readBounded(path, 1024)).toMatchObject({ ok: true });
  expect(readBounded(path, 1024, { own: true })).toMatchObject({ ok: false, kind: 'unreadable' });
  expect(readBounded(target, 1024, { own: true })).toEqual({ ok: true, text: 'text' });
});

defineAsRoot(() =>
  test('with `own`, a file of another user is refused', () => {
    writeFileSync(path, 'text');
    chownSync(path, 12345, 12345);
    expect(readBounded(path, 1024, { own: true })).toEqual({
      ok: false,
      kind: 'unreadable',
      because: 'belongs to user 12345',
    });
  }),
);
