import { GoShapeError, readGoObject } from '../../../src/state/kubelet-checkpoint/go-json';

const read = (value: unknown) => readGoObject(value, 'the file');

test('keys match without regard to case, and the exact spelling comes first', () => {
  expect(read({ POLICYNAME: 'a' }).text('policyName')).toBe('a');
  expect(read({ policyName: 'exact', POLICYNAME: 'other' }).text('policyName')).toBe('exact');
  expect(read({ defaultCpuſet: '0' }).text('defaultCpuSet')).toBe('0');
  expect(read({ checKsum: 1 }).count('checksum')).toBe(1);
});

test('a missing or null text is empty, and a missing or null count is 0', () => {
  const object = read({ text: null, count: null });
  expect([object.text('text'), object.text('other'), object.count('count'), object.count('other')]).toEqual([
    ...['', ''],
    ...[0, 0],
  ]);
  expect([object.textOrNull('text'), object.textOrNull('other')]).toEqual(['', null]);
});

test('a missing map is empty, and a null map is null', () => {
  const object = read({ none: null, map: { a: 'x' } });
  const texts = (key: string) => object.map(key, (value, what) => value.asText(what));
  expect([texts('other'), texts('none'), texts('map')]).toEqual([new Map(), null, new Map([['a', 'x']])]);
});

test.each<[string, () => unknown, string]>([
  ['a list', () => read([]), 'the file is not a JSON object'],
  ['a number as text', () => read({ a: 1 }).text('a'), '"a" is not a text'],
  ['half a number as count', () => read({ a: 0.5 }).count('a'), '"a" is not a whole number'],
  ['a list as map', () => read({ a: [] }).map('a', () => 0), '"a" is not an object'],
  [
    'a number as text in a map',
    () => read({ a: { k: 1 } }).map('a', (value, what) => value.asText(what)),
    '"a", key "k" is not a text',
  ],
])('%s is an error that names the place', (_name, act, message) => {
  expect(act).toThrow(new GoShapeError(message));
});
