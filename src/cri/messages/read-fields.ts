import { DecodeError, ProtobufReader } from '../../wire/protobuf';

/** Readers by field number: each reads the value and stores it. */
export type FieldReaders = Readonly<Record<number, (reader: ProtobufReader) => void>>;

/**
 * Reads the fields of a message that have a reader, in their order; the others are skipped.
 *
 * A reader writes into the object of the first occurrence, so that a repeated field is merged into it, as protobuf
 * demands (a proxy in front of us may have appended, as we do). Generated decoders replace it instead.
 *
 * Throws DecodeError for bytes that are no message.
 */
export function readFields(source: Uint8Array | ProtobufReader, readers: FieldReaders): void {
  const reader = source instanceof ProtobufReader ? source.readMessage() : ProtobufReader.of(source);
  while (!reader.isAtEnd) {
    const tag = reader.readVarint();
    const read = readers[Math.floor(tag / 8)];
    if (read === undefined) reader.skip(tag);
    else if (tag % 8 === VARINT || tag % 8 === DELIMITED) read(reader);
    else throw new DecodeError(`field ${Math.floor(tag / 8)} has the unexpected wire type ${tag % 8}`);
  }
}

/** The wire types of all fields that are read. */
const VARINT = 0;
const DELIMITED = 2;
