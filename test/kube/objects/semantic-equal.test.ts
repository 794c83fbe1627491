import { semanticEqual } from '../../../src/kube/objects/semantic-equal';

test.each<[string, unknown, unknown, boolean]>([
  ['the same text', 'a', 'a', true],
  ['absent and empty', { a: [] }, {}, true],
  ['null and empty', { a: null, b: {} }, { c: '' }, true],
  ['a quantity in another spelling', { available: '2000m' }, { available: '2' }, true],
  ['a quantity as a number', { capacity: { cpu: 2 } }, { capacity: { cpu: '2' } }, true],
  ['the same bytes', { capacity: { memory: '1Gi' } }, { capacity: { memory: '1073741824' } }, true],
  ['another amount', { available: '2' }, { available: '3' }, false],
  ['zero is not absent', { available: '0' }, {}, false],
  ['texts that are no quantities', { available: 'x' }, { available: 'y' }, false],
  ['what only looks like a quantity', { value: '2000m' }, { value: '2' }, false],
  ['another order', [1, 2], [2, 1], false],
  ['one more', [1], [1, 2], false],
  ['a list and an object', { a: [1] }, { a: { 0: 1 } }, false],
  ['a text and an object', { a: 'x' }, { a: { x: 1 } }, false],
])('%s: %j, %j', (_name, a, b, same) => {
  expect(semanticEqual(a, b)).toBe(same);
  expect(semanticEqual(b, a)).toBe(same);
});
