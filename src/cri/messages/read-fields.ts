import { BinaryReader, type WireType } from '@bufbuild/protobuf/wire';

/** Readers by field number: each reads the value and stores it. */
export type FieldReaders = Readonly<Record<number, (reader: BinaryReader) => void>>;

/**
 * Reads the fields of a message that have a reader, in their order; the others are skipped.
 *
 * A reader writes into the object of the first occurrence, so that a repeated field is merged into it, as protobuf demands (a
 * proxy in front of us may have appended, as we do). Generated decoders replace it instead.
 *
 * Throws the reader's error for bytes that are no message.
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

/** The `skip` of BinaryReader makes a view of each value that it skips, which costs more than all other work here. */
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

/** Throws unless the field is a varint (0) or has a length (2), as all that are read here. */
function checkWireType(field: number, wireType: WireType): void {
  const number: number = wireType;
  if (number !== 0 && number !== 2) throw new RangeError(`field ${field} has the unexpected wire type ${number}`);
}
