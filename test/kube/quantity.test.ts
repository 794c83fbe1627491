import { MAX_AMOUNT, parseMilli, parseQuantity, parseWhole, sumAmounts } from '../../src/kube/quantity';

test.each<[string, string, bigint]>([
  ['a whole number', '2', 2_000_000_000n],
  ['thousandths', '2000m', 2_000_000_000n],
  ['a fraction', '1.5', 1_500_000_000n],
  ['a fraction without a whole part', '.5', 500_000_000n],
  ['a point without a fraction', '5.', 5_000_000_000n],
  ['an exponent', '2e3', 2_000_000_000_000n],
  ['a negative exponent', '2E-3', 2_000_000n],
  ['millionths', '1u', 1_000n],
  ['less than a billionth, rounded up', '0.0000000001', 1n],
  ['powers of two', '1Ki', 1_024_000_000_000n],
  ['a fraction of powers of two', '0.5Gi', 536_870_912_000_000_000n],
  ['exa, which is no exponent', '1E', 10n ** 27n],
  ['a sign', '+1', 1_000_000_000n],
  ['zero', '0', 0n],
])('%s', (_name, text, billionths) => {
  expect(parseQuantity(text)).toBe(billionths);
});

test.each([
  ...['', ' 1', '1 ', '1 m', 'm', '.', '-', '1mi', '1KI', '1ki', '1e', '1e3m', '1.2.3', '0x10', '1,5', '½', 'NaN'],
  ...['1'.repeat(65), null, undefined, {}, [], true, NaN, Infinity],
])('%p is no quantity', (text) => {
  expect(parseQuantity(text)).toBeUndefined();
});

test.each<[string, number | undefined, number | undefined]>([
  ['500m', 500, 1],
  ['1.0005', 1001, 2],
  ['256', 256_000, 256],
  ['64Gi', 68_719_476_736_000, 68_719_476_736],
  ['-1', undefined, undefined],
  ['9Pi', MAX_AMOUNT, MAX_AMOUNT],
  ['10T', MAX_AMOUNT, 10 ** 13],
  ['16Ei', MAX_AMOUNT, MAX_AMOUNT],
  ['1e999999', MAX_AMOUNT, MAX_AMOUNT],
  ['1e-999999', 1, 1],
  ['0e999999', 0, 0],
  ['-1e999999', undefined, undefined],
])('%s is %p thousandths and %p whole', (text, milli, whole) => {
  expect([parseMilli(text), parseWhole(text)]).toEqual([milli, whole]);
});

test('a sum of amounts is an amount', () => {
  expect(sumAmounts([1, 2])).toBe(3);
  expect(sumAmounts([MAX_AMOUNT, MAX_AMOUNT])).toBe(MAX_AMOUNT);
});
