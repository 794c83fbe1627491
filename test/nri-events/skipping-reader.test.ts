import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { SkippingReader } from '../../src/nri-events/skipping-reader';

const bytesOf = (write: (writer: BinaryWriter) => void): Uint8Array => {
  const writer = new BinaryWriter();
  write(writer);
  return writer.finish();
};

test('texts are decoded as UTF-8', () => {
  const reader = new SkippingReader(bytesOf((writer) => writer.string('grün').string('b')));
  expect([reader.string(), reader.string(), reader.pos === reader.len]).toEqual(['grün', 'b', true]);
});

test('a map entry is returned, unless it is too short for the name of an annotation that decides', () => {
  const long = Buffer.from('x'.repeat(40));
  const reader = new SkippingReader(bytesOf((writer) => writer.bytes(Buffer.from('short')).bytes(long)));
  expect([reader.bytes().length, Buffer.from(reader.bytes())]).toEqual([0, long]);
});

test('a skipped field moves the reader to the next one', () => {
  const reader = new SkippingReader(bytesOf((writer) => writer.string('skipped').uint32(300).string('next')));
  expect(reader.skip(WireType.LengthDelimited)).toHaveLength(0);
  reader.skip(WireType.Varint);
  expect(reader.string()).toBe('next');
});

test('given a length beyond the message, then it throws RangeError', () => {
  expect(() => new SkippingReader(Uint8Array.of(5, 1)).string()).toThrow(RangeError);
});
