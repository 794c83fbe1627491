import { findCombination } from '../../../src/core/allocation/combinations';

function visit(values: readonly number[], size: number, until = Infinity): { visited: string[]; found: boolean } {
  const visited: string[] = [];
  const found = findCombination(values, size, (indices) => visited.push(indices.join()) === until);
  return { visited, found };
}

test('given different values, then all combinations are visited in lexicographic order', () => {
  expect(visit([5, 6, 7], 2)).toEqual({ visited: ['0,1', '0,2', '1,2'], found: false });
});

test('given equal values, then combinations with the same values are visited once', () => {
  expect(visit([5, 5, 7], 2).visited).toEqual(['0,1', '0,2']);
});

test('given a visitor that accepts a combination, then no other is visited', () => {
  expect(visit([5, 6, 7], 2, 2)).toEqual({ visited: ['0,1', '0,2'], found: true });
});

test('given more indices than values, then no combination is visited', () => {
  expect(visit([5], 2)).toEqual({ visited: [], found: false });
});
