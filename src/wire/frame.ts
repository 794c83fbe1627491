/** Connection id and payload length, both u32 big endian. */
export const frameHeaderBytes = 8;

/**
 * No frame in which a message begins may carry more: the runtime reads message headers through a buffer of this size
 * and gives up on a frame that does not fit into it. See PROTOCOL.md.
 */
export const maxFirstFrameBytes = 4096;

/** Takes what the frames carry. */
export interface FrameSink {
  /** A frame begins. */
  onFrame(connectionId: number): void;
  /** Part of the current frame's payload. False: not now; it is offered again with the next call of `feed`. */
  onPayload(chunk: Buffer, start: number, end: number): boolean;
}

/** The byte stream is no sequence of frames (any more); nothing behind this point can be understood. */
export class FrameError extends Error {
  override readonly name = 'FrameError';
}

/** Writes a frame header at `offset`. */
export function writeFrameHeader(target: Buffer, offset: number, connectionId: number, length: number): void {
  target.writeUInt32BE(connectionId, offset);
  target.writeUInt32BE(length, offset + 4);
}

/** Takes a byte stream, cut anywhere, apart into frames. Passes payloads on as they come, so it holds at most a header. */
export class FrameDecoder {
  private readonly header = Buffer.alloc(frameHeaderBytes);
  private headerFilled = 0;
  private remaining = 0;

  constructor(
    private readonly sink: FrameSink,
    private readonly maxFrameBytes: number,
  ) {}

  /** Whether the stream may end here: between two frames. */
  get isBetweenFrames(): boolean {
    return this.headerFilled === 0 && this.remaining === 0;
  }

  /**
   * Takes bytes start..end of a chunk and returns how far it came; before `end` only when the sink said "not now".
   * Throws {@link FrameError} for a frame longer than the limit.
   */
  feed(chunk: Buffer, start: number, end: number): number {
    let at = start;
    while (at < end) {
      if (this.remaining > 0) {
        const until = Math.min(end, at + this.remaining);
        if (!this.sink.onPayload(chunk, at, until)) return at;
        this.remaining -= until - at;
        at = until;
      } else if (this.headerFilled === 0 && end - at >= frameHeaderBytes) {
        this.begin(chunk, at);
        at += frameHeaderBytes;
      } else {
        this.header[this.headerFilled++] = chunk[at++]!;
        if (this.headerFilled === frameHeaderBytes) {
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
