import { parse } from 'yaml';

import { formatData } from '../../../src/cli/format/data';
import { parseCpuList } from '../../../src/core/cpuset';

const VALUE = { cpus: parseCpuList('0-3'), name: 'a\u001b[2J\u2028b', list: [1, null, true] };

test.each(['json', 'yaml'] as const)('%s has CPU sets as lists, and escapes control characters', async (format) => {
  const text = await formatData(VALUE, format);
  expect(parse(text)).toEqual({ cpus: '0-3', name: 'a\u001b[2J\u2028b', list: [1, null, true] });
  expect(text).not.toMatch(/[\u001b\u2028]/);
  expect(text.endsWith('\n')).toBe(true);
});
