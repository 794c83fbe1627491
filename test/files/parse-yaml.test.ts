import { parseYaml } from '../../src/files/parse-yaml';

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);

test('a document within the depth limit is parsed, with its errors', () => {
  const parsed = parseYaml('a: 1\nb: [2, {c: d}]\n');
  expect(parsed.ok && parsed.document.toJS()).toEqual({ a: 1, b: [2, { c: 'd' }] });
  const broken = parseYaml('a: }');
  expect(broken.ok && broken.document.errors.length).toBeGreaterThan(0);
});

test('a key that is there twice is no error', () => {
  const parsed = parseYaml('a: 1\na: 2\n');
  expect(parsed.ok && parsed.document.errors).toEqual([]);
});

test.each([
  ['60 lists: refused', nested(60), false],
  ['unclosed lists: refused', '['.repeat(60_000), false],
  ['dashes: refused', '- '.repeat(30_000), false],
  ['keys: refused', '? '.repeat(30_000), false],
  ['30 lists: accepted', nested(30), true],
])('a document of nested %s', (_name, text, ok) => {
  expect(parseYaml(text)).toMatchObject(ok ? { ok } : { ok, because: 'is nested deeper than 32 levels' });
});
