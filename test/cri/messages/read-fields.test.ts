import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { readFields } from '../../../src/cri/messages/read-fields';
import { DecodeError } from '../../../src/wire/protobuf';

/** Reads field 1 as a text, and field 2 as a message with a number in field 1. */
function read(bytes: Uint8Array): unknown {
  const found: { text?: string; number?: number } = {};
  readFields(bytes, {
    1: (reader) => (found.text = reader.readString()),
    2: (reader) => readFields(reader, { 1: (inner) => (found.number = inner.readVarint()) }),
  });
  return found;
}

const nested = (value: number) =>
  new BinaryWriter()
    .uint32(1 << 3)
    .uint32(value)
    .finish();
const withNested = (writer: BinaryWriter, value: number) => writer.uint32((2 << 3) | 2).bytes(nested(value));

test('fields with a reader are read, others of any wire type are skipped', () => {
  const writer = new BinaryWriter();
  writer.uint32((9 << 3) | 2).string('skipped');
  writer.uint32((9 << 3) | 5).fixed32(1);
  writer.uint32((9 << 3) | 1).fixed64(1);
  writer.uint32(9 << 3).uint32(1);
  writer.uint32((1 << 3) | 2).string('text');
  expect(read(withNested(writer, 7).finish())).toEqual({ text: 'text', number: 7 });
});

test('given a field twice, then the last value wins, and messages are merged', () => {
  const writer = new BinaryWriter();
  writer.uint32((1 << 3) | 2).string('first');
  withNested(writer, 7);
  writer.uint32((1 << 3) | 2).string('last');
  writer.uint32((2 << 3) | 2).bytes(new Uint8Array(0));
  expect(read(writer.finish())).toEqual({ text: 'last', number: 7 });
});

test.each([
  ['a message longer than its bytes', [0x12, 0x05, 0x08, 0x01], 'a field is longer than its message'],
  ['a skipped field longer than its bytes', [0x4a, 0x05, 0x01], 'a field is longer than its message'],
  ['a field longer than the message that it is in', [0x12, 0x02, 0x08, 0x80, 0x01], 'a number is cut off'],
  ['a wire type that no read field has', [0x0d, 0, 0, 0, 0], 'field 1 has the unexpected wire type 5'],
])('given %s, then it throws DecodeError', (_name, bytes, message) => {
  expect(() => read(Uint8Array.from(bytes))).toThrow(new DecodeError(message));
});
