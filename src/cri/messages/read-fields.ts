import { BinaryReader, type WireType } from '@bufbuild/protobuf/wire';

/** Readers by field number: each reads the value and stores it. */
export type FieldReaders = Readonly<Record<number, (reader: BinaryReader) => void>>;

/**
 * Reads the fields of a message that somebody wants, in the order in which they come; the others are skipped.
 *
 * Readers write into what they were given before, so that a field that comes again is merged into the first, as
 * protobuf demands (a proxy in front of us may have appended, as we do); generated decoders replace instead.
 *
 * Throws an error of the reader for bytes that are no message.
 */
export function readFields(source: Uint8Array | BinaryReader, readers: FieldReaders): void {
  const reader = source instanceof BinaryReader ? source : new BinaryReader(source);
  const end = source instanceof BinaryReader ? readEnd(reader) : reader.len;
  while (reader.pos < end) {
    const [field, wireType] = reader.tag();
    const read = readers[field];
    if (read === undefined) skip(reader, field, wireType);
    else {
      checkWireType(field, wireType);
      read(reader);
    }
  }
  if (reader.pos !== end) throw new RangeError('a field is longer than the message that it is in');
}

/** The reader's own `skip` makes a view of each value that it skips, which costs more than all the rest. */
function skip(reader: BinaryReader, field: number, wireType: WireType): void {
  const number: number = wireType;
  if (number === 2) reader.pos = readEnd(reader);
  else reader.skip(wireType, field);
}

/** Position of the end of the embedded message that begins here. */
function readEnd(reader: BinaryReader): number {
  const length = reader.uint32();
  const end = reader.pos + length;
  if (end > reader.len) throw new RangeError('a field is longer than the message that it is in');
  return end;
}

/** All that is read here is a varint (0) or has a length (2). */
function checkWireType(field: number, wireType: WireType): void {
  const number: number = wireType;
  if (number !== 0 && number !== 2) throw new RangeError(`field ${field} has the unexpected wire type ${number}`);
}
