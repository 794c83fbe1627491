import { parse } from 'yaml';

import { boundText, escapeJson, escapeYaml, LONGEST_SHOWN, showLines, showText } from '../../src/core/show-text';
import { createRandom } from '../support/random';
import { listSpecial, randomText, unsafeIn } from '../support/unsafe-text';

test.each`
  what                        | text                        | shown
  ${'a plain name'}           | ${'default/web-0'}          | ${'default/web-0'}
  ${'letters of many'}        | ${'Zürich 東京 €5 “x” 🙂'}  | ${'Zürich 東京 €5 “x” 🙂'}
  ${'a backslash'}            | ${'C:\\u'}                  | ${'C:\\u'}
  ${'escape'}                 | ${'a\u001b[2Jb'}            | ${'a\\u001b[2Jb'}
  ${'a new line'}             | ${'a\r\nb\tc'}              | ${'a\\u000d\\u000ab\\u0009c'}
  ${'C1 controls and DEL'}    | ${'\u009b31m\u007f'}        | ${'\\u009b31m\\u007f'}
  ${'bidi overrides'}         | ${'\u202eabc\u2069'}        | ${'\\u202eabc\\u2069'}
  ${'bidi marks'}             | ${'\u200e\u200f\u061c'}     | ${'\\u200e\\u200f\\u061c'}
  ${'zero width'}             | ${'a\u200bb\u2060c\ufeffd'} | ${'a\\u200bb\\u2060c\\ufeffd'}
  ${'separators of lines'}    | ${'a\u2028b\u2029c'}        | ${'a\\u2028b\\u2029c'}
  ${'other spaces'}           | ${'a\u00a0b\u3000c'}        | ${'a\\u00a0b\\u3000c'}
  ${'marks on top'}           | ${'e\u0301\u0301'}          | ${'e\\u0301\\u0301'}
  ${'invisible characters'}   | ${'a\u3164b\u2800c\u00add'} | ${'a\\u3164b\\u2800c\\u00add'}
  ${'right to left'}          | ${'x\u05d0\u0661y'}         | ${'x\\u05d0\\u0661y'}
  ${'tags beyond 16 bits'}    | ${'a\u{e0041}b'}            | ${'a\\u{e0041}b'}
  ${'a lone surrogate'}       | ${'a\ud800b'}               | ${'a\\ud800b'}
  ${'unassigned code points'} | ${'a\u0378b\ue000'}         | ${'a\\u0378b\\ue000'}
`('$what is shown as $shown', ({ text, shown }: { text: string; shown: string }) => {
  expect(showText(text)).toBe(shown);
  expect(showText(shown)).toBe(shown);
});

test('every character of Unicode is either harmless or an escape', () => {
  const unsafe = [...listSpecial()].filter((char) => unsafeIn(showText(char)) !== undefined);
  expect(unsafe).toEqual([]);
});

test('any text is shown harmless, within the bound, and the same when shown again', () => {
  const random = createRandom(1);
  for (let i = 0; i < 2_000; i++) {
    const max = 40 + random.int(0, 200);
    const text = randomText(random, random.int(0, 400));
    const shown = showText(text, max);
    expect(unsafeIn(shown)).toBeUndefined();
    expect(shown.length).toBeLessThanOrEqual(max);
    expect(showText(shown, max)).toBe(shown);
  }
});

test('of a text of a million characters only the beginning is read', () => {
  const text = '\u202e'.repeat(2 ** 20);
  showText(text);
  const before = process.cpuUsage();
  for (let i = 0; i < 1_000; i++) showText(text);
  const { user, system } = process.cpuUsage(before);
  expect(showText('x'.repeat(2 ** 20))).toMatch(/^x{990,}… \(1048576 characters\)$/);
  expect((user + system) / 1_000).toBeLessThan(2_000); // a thousand times; each would take some 20 ms if the whole text were read
});

test('lines stay lines, each is bounded, and so is their number', () => {
  const shown = showLines(`Error: a\u001b\n    at b\u2028c\n${'x'.repeat(5_000)}\n${'y\n'.repeat(500)}`);
  const lines = shown.split('\n');
  expect(lines.slice(0, 2)).toEqual(['Error: a\\u001b', '    at b\\u2028c']);
  expect(lines).toHaveLength(100);
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(LONGEST_SHOWN);
});

test('text for programs is cut and not changed otherwise', () => {
  expect(boundText('a\u202e')).toBe('a\u202e');
  expect(boundText('🙂'.repeat(1_000), 101)).toMatch(/^(🙂)+… \(2000 characters\)$/u);
});

describe('data', () => {
  test('JSON with escapes is the same data and harmless', () => {
    const random = createRandom(2);
    for (let i = 0; i < 500; i++) {
      const data = { a: randomText(random, 50), b: [randomText(random, 5)] };
      const json = escapeJson(JSON.stringify(data, null, 2));
      expect(JSON.parse(json)).toEqual(data);
      expect(json.split('\n').map(unsafeIn).filter(Boolean)).toEqual([]);
    }
  });

  test('YAML in double quotes with escapes is the same data', () => {
    const text = 'a\u202e\u{e0041}\u0301b';
    expect(parse(escapeYaml(`a: "${text}"\n`))).toEqual({ a: text });
  });
});
