import { DecodeError, ProtobufReader } from './protobuf';

/** Chooses entries of a map and takes them. */
export interface EntryTaker {
  /** Bytes of the shortest key that is wanted: an entry that can't hold one is not read. */
  readonly shortestKey: number;
  /** Called with the key, before the value is decoded. */
  readonly wants: (key: string) => boolean;
  readonly put: (key: string, value: string) => void;
}

/**
 * Takes one entry of a `map<string, string>` as it is on the wire, if it is wanted; of others only the key is decoded.
 * A map thus costs what is wanted of it, not what the peer put into it. Bytes that are no entry are skipped.
 */
export function takeMapEntry(entry: Uint8Array, taker: EntryTaker): void {
  if (entry.length < taker.shortestKey + 2) return;
  try {
    take(ProtobufReader.of(entry), taker);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
  }
}

function take(reader: ProtobufReader, { wants, put }: EntryTaker): void {
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
