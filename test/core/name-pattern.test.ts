import { matchesPattern } from '../../src/core/name-pattern';

/** All texts of these letters, up to a length. */
function textsOf(letters: readonly string[], length: number): string[] {
  if (length === 0) return [''];
  const shorter = textsOf(letters, length - 1);
  return [...new Set(shorter.flatMap((text) => [text, ...letters.map((letter) => text + letter)]))];
}

test('a pattern describes the same names as a regular expression with .* in place of each star', () => {
  const names = textsOf(['a', 'b'], 5);
  for (const pattern of textsOf(['a', 'b', '*'], 5)) {
    const expression = new RegExp(`^${pattern.replaceAll('*', '.*')}$`);
    expect([pattern, names.filter((name) => matchesPattern(name, pattern))]).toEqual([
      pattern,
      names.filter((name) => expression.test(name)),
    ]);
  }
});

test('all other characters stand for themselves', () => {
  expect(matchesPattern('a.b', 'a.*')).toBe(true);
  expect(matchesPattern('axb', 'a.*')).toBe(false);
  expect(matchesPattern('A', 'a')).toBe(false);
});
