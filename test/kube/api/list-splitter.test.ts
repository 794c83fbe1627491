import fc from 'fast-check';
import { ListSplitter } from '../../../src/kube/api/list-splitter';

function split(text: string, cuts: readonly number[] = []): { items: string[]; rest: string } {
  const items: string[] = [];
  const splitter = new ListSplitter((item) => items.push(item));
  const bytes = Buffer.from(text);
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  for (let i = 1; i < places.length; i++) splitter.push(bytes.subarray(places[i - 1], places[i]));
  return { items, rest: splitter.rest };
}

test('a list of any objects, in any pieces, gives the objects, and the list without them', () => {
  const anyObject = fc.dictionary(fc.oneof(fc.constantFrom('items', '"items":[', '\\'), fc.string({ unit: 'binary' })), fc.jsonValue()); // prettier-ignore
  fc.assert(
    fc.property(
      fc.array(anyObject),
      anyObject,
      anyObject,
      fc.array(fc.nat(), { maxLength: 6 }),
      fc.constantFrom(undefined, 1),
      (items, before, after, cuts, indent) => {
        const list = { x: before, meta: '"items":[{}]', items, y: after };
        const found = split(JSON.stringify(list, undefined, indent), cuts);
        expect(found.items.map((text) => JSON.parse(text) as unknown)).toEqual(JSON.parse(JSON.stringify(items)));
        expect(JSON.parse(found.rest)).toEqual(JSON.parse(JSON.stringify({ ...list, items: [] })));
      },
    ),
  );
});

test.each`
  name                            | text                        | rest
  ${'no items'}                   | ${'{"kind":"Status"}'}      | ${'{"kind":"Status"}'}
  ${'items that are null'}        | ${'{"items":null}'}         | ${'{"items":null}'}
  ${'items that are an object'}   | ${'{"items":{"a":[{}]}}'}   | ${'{"items":{"a":[{}]}}'}
  ${'items of a nested object'}   | ${'{"a":{"items":[{}]}}'}   | ${'{"a":{"items":[{}]}}'}
  ${'a text that contains items'} | ${'{"a":"items","b":[{}]}'} | ${'{"a":"items","b":[{}]}'}
  ${'a text that is no JSON'}     | ${']]}}"items":[{'}         | ${']]}}"items":[{'}
`('$name: all of it is the rest', ({ text, rest }: { text: string; rest: string }) => {
  expect(split(text)).toEqual({ items: [], rest });
});

test('an item longer than any object of Kubernetes is refused at the limit', () => {
  const splitter = new ListSplitter(() => undefined);
  splitter.push(Buffer.from('{"items":[{"a":"'));
  const chunk = Buffer.alloc(1024 * 1024, 'x');
  expect(() => {
    for (let i = 0; i < 20; i++) splitter.push(chunk);
  }).toThrow('longer than 16777216 bytes');
});
