import { padTo, shorten, widthOf, wrap } from '../../../src/cli/format/width';

test('wide characters take two columns', () => {
  expect(widthOf('日本語')).toBe(6);
  expect(widthOf('web-1')).toBe(5);
  expect(padTo('日本', 6)).toBe('日本  ');
  expect(padTo('long', 2)).toBe('long');
});

test.each([
  ['abcdef', 6, 'abcdef'],
  ['abcdefgh', 5, 'ab…gh'],
  ['abcdefgh', 4, 'ab…h'],
  ['日本語日本語', 7, '日…語'],
])('%s in %d columns is %s', (text, width, shown) => {
  expect(shorten(text, width)).toBe(shown);
  expect(widthOf(shown)).toBeLessThanOrEqual(width);
});

test.each([
  ['one two three', 7, ['one two', 'three']],
  ['one two three', 100, ['one two three']],
  ['abcdefghij kl', 4, ['abcd', 'efgh', 'ij', 'kl']],
  ['日本語 日本', 4, ['日本', '語', '日本']],
  ['', 4, ['']],
])('%j in %d columns is %j', (text, width, lines) => {
  expect(wrap(text, width)).toEqual(lines);
});
