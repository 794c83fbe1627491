/** Length of the data, stream id (both u32 big endian), type and flags (one byte each). */
export const MESSAGE_HEADER_BYTES = 10;

/** Types of a ttrpc message. The third, data, belongs to streaming calls and is never sent: it crashes old runtimes. */
export const MessageType = { request: 1, response: 2 } as const;

/** Maximum data of a message that is sent. Old peers send more, so a receiver should accept more. */
export const MAX_SENT_DATA_BYTES = 4 << 20;

/** Takes the messages of a stream. */
export interface MessageSink {
  /** Takes a whole message; its data are the bytes start..end of the buffer. */
  onMessage(type: number, streamId: number, data: Buffer, start: number, end: number): void;
  /** Called at the header of a message above the limit. Its data are skipped. */
  onOversized(type: number, streamId: number, length: number): void;
}

/** Writes a message header at `offset`. Flags are 0: unary calls have none. */
export function writeMessageHeader(
  target: Buffer,
  offset: number,
  length: number,
  streamId: number,
  type: number,
): void {
  target.writeUInt32BE(length, offset);
  target.writeUInt32BE(streamId, offset + 4);
  target.writeUInt16BE(type << 8, offset + 8);
}

/**
 * First size of the buffer of a message that comes in parts; it grows with the bytes that come, not with those
 * announced.
 */
const FIRST_CAPACITY = 64 << 10;

/** Splits a byte stream, cut anywhere, into ttrpc messages. A message that lies whole in a chunk is not copied. */
export class MessageDecoder {
  private readonly header = Buffer.alloc(MESSAGE_HEADER_BYTES);
  private headerFilled = 0;
  private type = 0;
  private streamId = 0;
  private length = 0;
  /** The data of a message of which only a part has come. */
  private body: Buffer | undefined;
  private filled = 0;
  private toSkip = 0;

  constructor(
    private readonly sink: MessageSink,
    private readonly maxDataBytes: number,
  ) {}

  /** Takes bytes start..end of a chunk. */
  feed(chunk: Buffer, start: number, end: number): void {
    let at = start;
    while (at < end) {
      if (this.body) {
        at = this.collect(this.body, chunk, at, end);
      } else if (this.toSkip > 0) {
        const skipped = Math.min(this.toSkip, end - at);
        this.toSkip -= skipped;
        at += skipped;
      } else if (this.headerFilled === 0 && end - at >= MESSAGE_HEADER_BYTES) {
        at = this.begin(chunk, at, chunk, at + MESSAGE_HEADER_BYTES, end);
      } else {
        this.header[this.headerFilled++] = chunk[at++]!;
        if (this.headerFilled === MESSAGE_HEADER_BYTES) {
          this.headerFilled = 0;
          at = this.begin(this.header, 0, chunk, at, end);
        }
      }
    }
  }

  /** Reads a header and, when all data are there, the message. Returns the offset behind it, else `at`. */
  private begin(header: Buffer, headerAt: number, chunk: Buffer, at: number, end: number): number {
    const length = header.readUInt32BE(headerAt);
    const streamId = header.readUInt32BE(headerAt + 4);
    const type = header[headerAt + 8]!;
    if (length > this.maxDataBytes) {
      this.toSkip = length;
      this.sink.onOversized(type, streamId, length);
      return at;
    }
    if (end - at >= length) {
      this.sink.onMessage(type, streamId, chunk, at, at + length);
      return at + length;
    }
    this.type = type;
    this.streamId = streamId;
    this.length = length;
    this.filled = 0;
    this.body = Buffer.allocUnsafe(Math.min(length, FIRST_CAPACITY));
    return at;
  }

  private collect(body: Buffer, chunk: Buffer, at: number, end: number): number {
    const until = Math.min(end, at + this.length - this.filled);
    const target = this.ensureCapacity(body, this.filled + until - at);
    chunk.copy(target, this.filled, at, until);
    this.filled += until - at;
    if (this.filled === this.length) {
      this.body = undefined;
      this.sink.onMessage(this.type, this.streamId, target, 0, this.length);
    }
    return until;
  }

  private ensureCapacity(body: Buffer, bytes: number): Buffer {
    if (bytes <= body.length) return body;
    const grown = Buffer.allocUnsafeSlow(Math.min(this.length, Math.max(bytes, 2 * body.length)));
    body.copy(grown, 0, 0, this.filled);
    this.body = grown;
    return grown;
  }
}
