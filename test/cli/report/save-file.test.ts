import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { saveFile } from '../../../src/cli/report/save-file';
import { useTempDirs } from '../../state/support/temp-dir';

const makeDir = useTempDirs();
const bytes = Buffer.from('report');

test('the file is for its owner alone, and nothing is left beside it', () => {
  const dir = makeDir();
  saveFile(join(dir, 'r'), bytes);
  expect(readdirSync(dir)).toEqual(['r']);
  expect(readFileSync(join(dir, 'r'), 'utf8')).toBe('report');
  expect(statSync(join(dir, 'r')).mode & 0o777).toBe(0o600);
});

test.each<[string, (path: string) => void]>([
  ['a file', (path) => writeFileSync(path, 'before')],
  ['a folder', (path) => mkdirSync(path)],
  ['a link that leads nowhere', (path) => symlinkSync('/nowhere/at/all', path)],
])('%s at the path is not replaced, nor followed', (_what, make) => {
  const dir = makeDir();
  make(join(dir, 'r'));
  expect(() => saveFile(join(dir, 'r'), bytes)).toThrow(
    expect.objectContaining({
      code: 'ALREADY_EXISTS',
      message: expect.stringContaining('is not replaced; name another --output'),
    }),
  );
  expect(readdirSync(dir)).toEqual(['r']);
});

test('a folder that is not there is told', () => {
  const path = join(makeDir(), 'no/such/r');
  expect(() => saveFile(path, bytes)).toThrow(
    expect.objectContaining({
      code: 'FAILED_PRECONDITION',
      message: `${path}: there is no such folder; name another --output`,
    }),
  );
});
