/** The bytes are no protobuf message, or none that is accepted. */
export class DecodeError extends Error {
  override readonly name = 'DecodeError';
}

const TWO_31 = 2 ** 31;
const TWO_64 = 2 ** 64;

/**
 * Reads protobuf's wire format in place, and creates only the values that are read. Throws {@link DecodeError} when the
 * bytes end too early or make no sense.
 */
export class ProtobufReader {
  constructor(
    private readonly buffer: Buffer,
    private at: number,
    private readonly end: number,
  ) {}

  /** A reader of a whole message. */
  static of(message: Uint8Array): ProtobufReader {
    return new ProtobufReader(Buffer.from(message.buffer, message.byteOffset, message.byteLength), 0, message.length);
  }

  /** True behind the last field. */
  get isAtEnd(): boolean {
    return this.at >= this.end;
  }

  /** Reads a varint of up to 64 bits; beyond 53 bits the lowest ones are lost. */
  readVarint(): number {
    const first = this.buffer[this.at]!;
    if (first < 0x80 && this.at < this.end) {
      this.at++;
      return first;
    }
    let value = 0;
    for (let scale = 1; scale < TWO_64; scale *= 128) {
      if (this.at >= this.end) throw new DecodeError('a number is cut off');
      const byte = this.buffer[this.at++]!;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
    throw new DecodeError('a number has more than 10 bytes');
  }

  /** Reads an int64, rounded to 53 bits; its sign is always right. */
  readInt64(): number {
    return this.readSigned(64);
  }

  /** Reads an int32, which is sent as the int64 of the same value. */
  readInt32(): number {
    return this.readSigned(32);
  }

  /** Reads a text in UTF-8. */
  readString(): string {
    const end = this.readEnd();
    const text = this.buffer.toString('utf8', this.at, end);
    this.at = end;
    return text;
  }

  /** Reads bytes as a view, not a copy. */
  readBytes(): Buffer {
    const end = this.readEnd();
    const bytes = this.buffer.subarray(this.at, end);
    this.at = end;
    return bytes;
  }

  /** Returns a reader of the embedded message. */
  readMessage(): ProtobufReader {
    const end = this.readEnd();
    const message = new ProtobufReader(this.buffer, this.at, end);
    this.at = end;
    return message;
  }

  /** Skips the value of an unknown field. Groups, which proto3 does not have, are refused. */
  skip(tag: number): void {
    if (tag < 8) throw new DecodeError('a field has the number 0');
    const type = tag % 8;
    if (type === 0) this.readVarint();
    else if (type === 1) this.step(8);
    else if (type === 2) this.at = this.readEnd();
    else if (type === 5) this.step(4);
    else throw new DecodeError(`a field has the wire type ${type}`);
  }

  private readSigned(bits: 32 | 64): number {
    const start = this.at;
    const value = this.readVarint();
    if (value < TWO_31 || (bits === 64 && value <= Number.MAX_SAFE_INTEGER)) return value;
    let exact = 0n;
    for (let i = start; i < this.at; i++) exact |= BigInt(this.buffer[i]! & 0x7f) << BigInt(7 * (i - start));
    return Number(BigInt.asIntN(bits, exact));
  }

  private step(bytes: number): void {
    if (bytes > this.end - this.at) throw new DecodeError('a field is cut off');
    this.at += bytes;
  }

  private readEnd(): number {
    const length = this.readVarint();
    if (length > this.end - this.at) throw new DecodeError('a field is longer than its message');
    return this.at + length;
  }
}

/** Returns the size of a varint in bytes. `value`: a whole number from 0 below 2^63. */
export function sizeVarint(value: number): number {
  let size = 1;
  for (let rest = value; rest >= 128; rest /= 128) size++;
  return size;
}

/** Writes a varint and returns the offset behind it. */
export function writeVarint(target: Buffer, offset: number, value: number): number {
  let at = offset;
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) target[at++] = (rest % 128) | 0x80;
  target[at++] = rest;
  return at;
}

/** Returns the size of a length-delimited field with a tag of one byte. */
export function sizeDelimited(length: number): number {
  return 1 + sizeVarint(length) + length;
}

/** Writes a string field with a tag of one byte, `length` being its size in UTF-8; returns the offset behind it. */
export function writeString(target: Buffer, offset: number, tag: number, text: string, length: number): number {
  target[offset] = tag;
  const at = writeVarint(target, offset + 1, length);
  return at + target.write(text, at, length, 'utf8');
}

/** Writes a bytes field with a tag of one byte; returns the offset behind it. */
export function writeBytes(target: Buffer, offset: number, tag: number, bytes: Uint8Array): number {
  target[offset] = tag;
  const at = writeVarint(target, offset + 1, bytes.length);
  target.set(bytes, at);
  return at + bytes.length;
}
