/** Connection id and payload length, both u32 big endian. */
export const FRAME_HEADER_BYTES = 8;

/**
 * Maximum payload of a frame in which a message begins: the runtime reads message headers through a buffer of this size
 * and closes the connection at a frame that does not fit into it. See PROTOCOL.md.
 */
export const MAX_FIRST_FRAME_BYTES = 4096;

/** Takes the content of frames. */
export interface FrameSink {
  /** Called at the beginning of a frame. */
  onFrame(connectionId: number): void;
  /**
   * Takes a part of the current frame's payload. False means not now: the part is offered again with the next call of
   * `feed`.
   */
  onPayload(chunk: Buffer, start: number, end: number): boolean;
}

/** The bytes are no sequence of frames from here on; the connection can't be used any more. */
export class FrameError extends Error {
  override readonly name = 'FrameError';
}

/** Writes a frame header at `offset`. */
export function writeFrameHeader(target: Buffer, offset: number, connectionId: number, length: number): void {
  target.writeUInt32BE(connectionId, offset);
  target.writeUInt32BE(length, offset + 4);
}

/**
 * Splits a byte stream, cut anywhere, into frames. It passes payloads on as they come, so it holds at most a header.
 */
export class FrameDecoder {
  private readonly header = Buffer.alloc(FRAME_HEADER_BYTES);
  private headerFilled = 0;
  private remaining = 0;

  constructor(
    private readonly sink: FrameSink,
    private readonly maxFrameBytes: number,
  ) {}

  /** True between two frames, where the stream may end. */
  get isBetweenFrames(): boolean {
    return this.headerFilled === 0 && this.remaining === 0;
  }

  /**
   * Takes bytes start..end of a chunk and returns the offset behind the last byte that the sink took; before `end` only
   * when the sink returned false. Throws {@link FrameError} for a frame longer than the limit.
   */
  feed(chunk: Buffer, start: number, end: number): number {
    let at = start;
    while (at < end) {
      if (this.remaining > 0) {
        const until = Math.min(end, at + this.remaining);
        if (!this.sink.onPayload(chunk, at, until)) return at;
        this.remaining -= until - at;
        at = until;
      } else if (this.headerFilled === 0 && end - at >= FRAME_HEADER_BYTES) {
        this.begin(chunk, at);
        at += FRAME_HEADER_BYTES;
      } else {
        this.header[this.headerFilled++] = chunk[at++]!;
        if (this.headerFilled === FRAME_HEADER_BYTES) {
          this.headerFilled = 0;
          this.begin(this.header, 0);
        }
      }
    }
    return at;
  }

  private begin(header: Buffer, at: number): void {
    const length = header.readUInt32BE(at + 4);
    if (length > this.maxFrameBytes) {
      throw new FrameError(`a frame of ${length} bytes was announced; the limit is ${this.maxFrameBytes}`);
    }
    this.remaining = length;
    this.sink.onFrame(header.readUInt32BE(at));
  }
}
