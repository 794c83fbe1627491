import { excerpt, matching, onOff, oneOf, orOff, quote, wholeNumber } from '../../src/option-types/value-type';

const OK = (value: unknown) => ({ ok: true, value });

test.each([
  ['oneOf', oneOf('a', 'b').parse('b'), OK('b')],
  ['onOff', onOff.parse('off'), OK(false)],
  ['orOff with off', orOff(onOff).parse('off'), OK(undefined)],
  ['orOff with a value', orOff(onOff).parse('on'), OK(true)],
  ['wholeNumber', wholeNumber({ min: 1, max: 3 }).parse('3'), OK(3)],
])('%s accepts a value', (_name, parsed, want) => {
  expect(parsed).toEqual(want);
});

test.each([
  ['oneOf', oneOf('a', 'b').parse('c'), 'is not a known value', 'choose one of a, b'],
  ['onOff', onOff.parse('true'), 'is not a switch', 'write on or off'],
  ['wholeNumber', wholeNumber({ min: 1, max: 3 }).parse('4'), 'is out of range', 'write a whole number from 1 to 3'],
  [
    'wholeNumber',
    wholeNumber({ min: 1, max: 3 }).parse('1.0'),
    'is not a whole number',
    'write a whole number from 1 to 3',
  ],
  [
    'matching',
    matching(/^\d\d$/, 'n', { problem: 'is short', remedy: 'write two' }).parse('1'),
    'is short',
    'write two',
  ],
])('%s rejects a value with problem and remedy', (_name, parsed, problem, remedy) => {
  expect(parsed).toEqual({ ok: false, problem, remedy });
});

test('quote and excerpt show 100 characters of a text, in one line', () => {
  const text = `a\n${'x'.repeat(200)}`;
  expect(quote('a\nb')).toBe('"a\\nb"');
  expect(quote(text)).toBe(`"a\\n${'x'.repeat(98)}"... (202 characters)`);
  expect(excerpt(text)).toBe(`a\\n${'x'.repeat(98)}...`);
});
