import { DecodeError, ProtobufReader } from './protobuf';

/** Which entries of a map are wanted, and who takes them. */
export interface EntryTaker {
  /** Bytes of the shortest key that is wanted: an entry that can't hold one is not looked at. */
  readonly shortestKey: number;
  /** Asked with the key, before the value is read. */
  readonly wants: (key: string) => boolean;
  readonly put: (key: string, value: string) => void;
}

/**
 * Takes one entry of a `map<string, string>` as it is on the wire, if it is wanted; of others nothing is decoded but the key. So
 * a map costs what is wanted of it, and hardly what the peer put into it. Bytes that are no entry are passed over.
 */
export function takeMapEntry(entry: Uint8Array, taker: EntryTaker): void {
  if (entry.length < taker.shortestKey + 2) return;
  try {
    take(Buffer.from(entry.buffer, entry.byteOffset, entry.byteLength), taker);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
  }
}

function take(entry: Buffer, { wants, put }: EntryTaker): void {
  const reader = new ProtobufReader(entry, 0, entry.length);
  let key = '';
  let value: Buffer = NOTHING;
  while (!reader.isAtEnd) {
    const tag = reader.readVarint();
    if (tag === KEY) key = reader.readString();
    else if (tag === VALUE) value = reader.readBytes();
    else reader.skip(tag);
  }
  if (wants(key)) put(key, value.toString('utf8'));
}

const KEY = 10;
const VALUE = 18;
const NOTHING = Buffer.alloc(0);
