import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { nodeFsOps } from '../../src/files/fs-ops';
import { backupAs, quarantine } from '../../src/state/quarantine';
import { fsError } from './support/fs-doubles';
import { useTempDirs } from './support/temp-dir';

const makeDir = useTempDirs();

function fileWith(text: string): string {
  const path = join(makeDir(), 'state.json');
  writeFileSync(path, text);
  return path;
}

test('quarantine renames the file to the next number after the highest one', () => {
  const path = fileWith('bad');
  writeFileSync(`${path}.bad-7`, '');
  expect(quarantine(nodeFsOps, path)).toEqual({ path: `${path}.bad-8` });
  expect([existsSync(path), readFileSync(`${path}.bad-8`, 'utf8')]).toEqual([false, 'bad']);
});

test('quarantine removes all but the eight newest files', () => {
  const path = fileWith('bad');
  for (let n = 1; n <= 12; n++) writeFileSync(`${path}.bad-${n}`, '');
  quarantine(nodeFsOps, path);
  const numbers = readdirSync(join(path, '..')).map((name) => Number(name.split('-')[1]));
  expect(numbers.sort((a, b) => a - b)).toEqual([6, 7, 8, 9, 10, 11, 12, 13]);
});

test('quarantine of a file that can’t be renamed returns the reason', () => {
  const path = fileWith('bad');
  const rename = (): never => {
    throw fsError('EPERM');
  };
  expect(quarantine({ ...nodeFsOps, rename }, path)).toEqual({
    because: expect.stringMatching(/^can't set aside .*\(EPERM\)$/),
  });
});

test('backupAs gives the file a second name, and replaces an earlier backup', () => {
  const path = fileWith('new');
  writeFileSync(`${path}.v1`, 'old');
  expect(backupAs(nodeFsOps, path, 'v1')).toEqual({ path: `${path}.v1` });
  expect([readFileSync(path, 'utf8'), readFileSync(`${path}.v1`, 'utf8')]).toEqual(['new', 'new']);
});
