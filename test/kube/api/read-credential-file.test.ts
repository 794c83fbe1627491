import { mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readCredentialFile } from '../../../src/kube/api/read-credential-file';

let folder: string;
const at = (name: string): string => join(folder, name);
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'credential-'));
  writeFileSync(at('token'), 'secret');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('a file is read, also over a link', async () => {
  symlinkSync('token', at('link'));
  expect(String(await readCredentialFile(at('token')))).toBe('secret');
  expect(String(await readCredentialFile(at('link')))).toBe('secret');
});

test.each([
  ['no file', 'missing', 'no such file (ENOENT)'],
  ['a path through a file', 'token/inner', 'a part of the path is no directory (ENOTDIR)'],
  ['a directory', '.', 'it is not a regular file'],
  ['a loop of links', 'loop', 'it can’t be opened (ELOOP)'],
  ['a file above 1 MiB', 'large', 'it is larger than 1 MiB'],
])('given %s, then it rejects with the reason', async (_name, name, message) => {
  symlinkSync('loop', at('loop'));
  writeFileSync(at('large'), '');
  truncateSync(at('large'), (1 << 20) + 1);
  await expect(readCredentialFile(at(name))).rejects.toThrow(message);
});
