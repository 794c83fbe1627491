import { replaceIn } from './guest/replace-in';

test.each([
  ['a string', 'b = 1\n'],
  ['a pattern', /^b = .*\n/m],
])('the first place of %s is replaced, and a $ in the replacement has no meaning', (_, found) => {
  expect(replaceIn('a = 1\nb = 1\nb = 1\n', found, 'b = $&\n')).toBe('a = 1\nb = $&\nb = 1\n');
});

test.each([
  ['a string', 'c = 1\n', 'nothing to replace: "c = 1\\n" is not in a = 1\nb = 1'],
  ['a pattern', /^c/m, 'nothing to replace: /^c/m is not in a = 1\nb = 1'],
])('%s that is not in the text is an error, which shows both', (_, found, message) => {
  expect(() => replaceIn('a = 1\nb = 1', found, '')).toThrow(new Error(message));
});
