import { takeMapEntry } from '../../src/wire/map-entry';

/** An entry of a `map<string, string>`: the fields 1 (key) and 2 (value), both shorter than 128 bytes. */
const field = (number: number, text: string) =>
  Buffer.concat([Buffer.of(number * 8 + 2, text.length), Buffer.from(text)]);
const entry = (key: string, value: string) => Buffer.concat([field(1, key), field(2, value)]);

function take(bytes: Uint8Array, shortestKey = 0): string[] {
  const taken: string[] = [];
  takeMapEntry(bytes, {
    shortestKey,
    wants: (key) => key !== 'unwanted',
    put: (key, value) => void taken.push(`${key}=${value}`),
  });
  return taken;
}

test.each([
  ['key and value', ['name=text'], entry('name', 'text')],
  ['the value first', ['name=text'], Buffer.concat([field(2, 'text'), field(1, 'name')])],
  ['no value', ['name='], field(1, 'name')],
  ['a field that maps do not have', ['name=text'], Buffer.concat([field(3, 'x'), entry('name', 'text')])],
  ['a repeated key', ['name=text'], Buffer.concat([field(1, 'first'), entry('name', 'text')])],
  ['an unwanted key', [], entry('unwanted', 'text')],
  ['a field that is cut off', [], entry('name', 'text').subarray(0, -1)],
])('given an entry with %s, then the result is %j', (_name, taken, bytes) => {
  expect(take(bytes)).toEqual(taken);
});

test('given an entry that is too short for a wanted key, then it is not read', () => {
  expect(take(entry('name', ''), 7)).toEqual([]);
  expect(take(entry('name', ''), 6)).toEqual(['name=']);
});
