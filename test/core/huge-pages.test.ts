import { HugePageAmounts, nameHugePages, nameOfPageSize } from '../../src/core/huge-pages';

test.each([
  [64, 'hugepages-64Ki'],
  [2048, 'hugepages-2Mi'],
  [32 * 1024, 'hugepages-32Mi'],
  [1024 ** 2, 'hugepages-1Gi'],
  [16 * 1024 ** 2, 'hugepages-16Gi'],
  [3, undefined],
  [0, undefined],
  [1.5, undefined],
  [NaN, undefined],
])('pages of %s KiB are the resource %s', (kib, resource) => expect(nameHugePages(kib)).toBe(resource));

test.each([
  ['2MB', 'hugepages-2Mi'],
  ['1GB', 'hugepages-1Gi'],
  ['64KB', 'hugepages-64Ki'],
  ['2Mi', undefined],
  ['3MB', undefined],
  ['-2MB', undefined],
  ['02MB', undefined],
  ['9999999GB', undefined],
  ['', undefined],
])('the size %j of a request is the resource %s', (text, resource) => expect(nameOfPageSize(text)).toBe(resource));

test('no amount, no limit and no size are left out; the last amount of a size counts', () => {
  const amounts = new HugePageAmounts();
  amounts.set('hugepages-2Mi', 5);
  amounts.set('hugepages-1Gi', 7);
  amounts.set('hugepages-64Ki', 2 ** 63);
  amounts.set(undefined, 9);
  amounts.set('hugepages-2Mi', 6);
  expect(JSON.stringify(amounts.all)).toBe('{"hugepages-1Gi":7,"hugepages-2Mi":6}');
  amounts.set('hugepages-1Gi', 0);
  amounts.set('hugepages-2Mi', -1);
  expect(amounts.all).toBeUndefined();
});

test('more sizes than a machine has are left out', () => {
  const amounts = new HugePageAmounts();
  for (let i = 0; i < 1000; i++) amounts.set(`hugepages-${i}Mi`, 1);
  expect(Object.keys(amounts.all!)).toHaveLength(8);
});
