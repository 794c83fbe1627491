import { Cell, Table } from '../../../src/core/model/table';

test('a write has the value before and after, and its follower gets both', () => {
  const follow = jest.fn();
  const table = new Table<number>({ follow });
  expect(table.write('a', 1)).toMatchObject({ table, key: 'a', before: undefined, after: 1 });
  expect(table.write('a', 2)).toMatchObject({ before: 1, after: 2 });
  expect(table.write('a')).toMatchObject({ before: 2, after: undefined });
  expect(table.values.size).toBe(0);
  expect(follow.mock.calls).toEqual([
    [undefined, 1, 'a'],
    [1, 2, 'a'],
    [2, undefined, 'a'],
  ]);
});

test('a replaced value keeps its place in the order', () => {
  const table = new Table<number>();
  for (const [key, value] of [['a', 1], ['b', 2], ['a', 3]] as const) table.write(key, value); // prettier-ignore
  expect([...table.values]).toEqual([
    ['a', 3],
    ['b', 2],
  ]);
});

test('a cell has its last value', () => {
  const cell = new Cell<string>();
  cell.set('first');
  expect(cell.set('second')).toMatchObject({ before: 'first', after: 'second' });
  expect(cell.value).toBe('second');
});
