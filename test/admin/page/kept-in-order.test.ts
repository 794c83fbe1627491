import { keptInOrder } from '../../../src/admin/page/render/kept-in-order';

test.each`
  values             | kept
  ${[]}              | ${[]}
  ${[0, 1, 2]}       | ${[0, 1, 2]}
  ${[3, 0, 1, 2]}    | ${[1, 2, 3]}
  ${[1, 2, 3, 0]}    | ${[0, 1, 2]}
  ${[2, 1, 0]}       | ${[2]}
  ${[0, 8, 4, 5, 9]} | ${[0, 2, 3, 4]}
`('of $values the positions $kept stay', ({ values, kept }) => {
  expect([...keptInOrder(values as number[])].sort((a, b) => a - b)).toEqual(kept);
});
