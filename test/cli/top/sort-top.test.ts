import { reorder, SORT_KEYS, sortTop, type Order, type SortBy } from '../../../src/cli/top/sort-top';
import { foreign, row } from './rows';

const rows = [
  row('d', { usedPercent: 10, waitMsPerSecond: 5, verdict: 'unknown' }),
  row('c', { usedPercent: 90, throttledPercent: 20, foreign: foreign(3) }),
  row('b', { verdict: 'violated' }),
  row('a', { usedPercent: 10, waitMsPerSecond: 50, throttledPercent: 0, foreign: foreign(30) }),
];

test.each`
  by             | want      | reversed
  ${'used'}      | ${'cadb'} | ${'adcb'}
  ${'wait'}      | ${'adbc'} | ${'dabc'}
  ${'throttled'} | ${'cabd'} | ${'acbd'}
  ${'others'}    | ${'acbd'} | ${'cabd'}
  ${'name'}      | ${'abcd'} | ${'dcba'}
  ${'verdict'}   | ${'bdac'} | ${'acdb'}
`(
  'by $by: the largest or worst first, equal ones by name, and unknown ones last, reversed too',
  ({ by, want, reversed }: { by: SortBy; want: string; reversed: string }) => {
    const show = (isReversed: boolean): string =>
      sortTop(rows, { by, isReversed })
        .map(({ pod }) => pod)
        .join('');
    expect([show(false), show(true)]).toEqual([want, reversed]);
  },
);

test('no two orders have the same key, and none has that of another command', () => {
  const keys: string[] = Object.values(SORT_KEYS);
  expect(new Set([...keys, 'r', 'q']).size).toBe(keys.length + 2);
});

test.each`
  key    | want
  ${'u'} | ${'used'}
  ${'w'} | ${'wait'}
  ${'t'} | ${'throttled'}
  ${'o'} | ${'others'}
  ${'n'} | ${'name'}
  ${'v'} | ${'verdict'}
`('the key $key sorts by $want, not reversed', ({ key, want }: { key: string; want: SortBy }) => {
  expect(reorder({ by: 'name', isReversed: true }, key)).toEqual({ by: want, isReversed: false });
});

test('r reverses, and reverses back; other keys change nothing', () => {
  const order: Order = { by: 'wait', isReversed: false };
  expect(reorder(order, 'r')).toEqual({ by: 'wait', isReversed: true });
  expect(reorder(reorder(order, 'r'), 'r')).toEqual(order);
  for (const key of ['x', 'U', ' ', 'toString']) expect(reorder(order, key)).toBe(order);
});
