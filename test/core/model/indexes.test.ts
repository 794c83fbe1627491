import { Derived, Groups, KeysWhere } from '../../../src/core/model/indexes';

test('a derived value is computed at the first read after a reset', () => {
  let computed = 0;
  const derived = new Derived(() => ++computed);
  expect([derived.value, derived.value]).toEqual([1, 1]);
  derived.reset();
  expect(computed).toBe(1);
  expect(derived.value).toBe(2);
});

test('keys follow the values: a key is a member while its value is one', () => {
  const even = new KeysWhere<number>((value) => value % 2 === 0);
  even.follow(undefined, 2, 'a');
  even.follow(undefined, 3, 'b');
  expect([...even]).toEqual(['a']);
  even.follow(2, 5, 'a');
  even.follow(3, 4, 'b');
  expect([...even]).toEqual(['b']);
  even.follow(4, undefined, 'b');
  expect(even.size).toBe(0);
});

describe('groups', () => {
  const value = (group: string, size: number) => ({ group, size });

  test('a replaced value keeps its place in its group', () => {
    const groups = new Groups<ReturnType<typeof value>>(({ group }) => group);
    groups.follow(undefined, value('p', 1), 'a');
    groups.follow(undefined, value('p', 2), 'b');
    groups.follow(value('p', 1), value('p', 3), 'a');
    expect(groups.of('p')).toEqual([value('p', 3), value('p', 2)]);
  });

  test('a value with another group leaves the first one, and a removed value is in none', () => {
    const groups = new Groups<ReturnType<typeof value>>(({ group }) => group);
    groups.follow(undefined, value('p', 1), 'a');
    groups.follow(value('p', 1), value('q', 1), 'a');
    expect([groups.of('p'), groups.of('q')]).toEqual([[], [value('q', 1)]]);
    groups.follow(value('q', 1), undefined, 'a');
    expect(groups.of('q')).toEqual([]);
  });
});
