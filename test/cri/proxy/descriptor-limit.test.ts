import * as fs from 'node:fs';
import { readDescriptorLimit } from '../../../src/cri/proxy/descriptor-limit';

jest.mock('node:fs', () => ({ ...jest.requireActual<typeof fs>('node:fs'), readFileSync: jest.fn() }));

const line = (soft: string) => `Limit                     Soft Limit           Hard Limit           Units\nMax open files            ${soft} 524288 files\n`; // prettier-ignore

test.each([
  ['a number', line('4096'), 4096],
  ['no limit', line('unlimited'), Infinity],
  ['no line of open files', 'Max processes 1 1 processes\n', 1024],
])('given %s, then the limit follows it', (_name, text, limit) => {
  jest.mocked(fs.readFileSync).mockReturnValue(text);
  expect(readDescriptorLimit()).toBe(limit);
});

test('given a file that can not be read, then the limit is the default of Linux', () => {
  jest.mocked(fs.readFileSync).mockImplementation(() => {
    throw new Error('ENOENT');
  });
  expect(readDescriptorLimit()).toBe(1024);
});
