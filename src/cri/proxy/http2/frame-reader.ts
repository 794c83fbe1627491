import {
  CLIENT_PREFACE,
  ConnectionError,
  DEFAULT_MAX_FRAME_BYTES,
  ErrorCode,
  FRAME_HEAD_BYTES,
  type Frame,
} from './frame';

/**
 * Cuts the bytes of one connection into frames.
 *
 * A frame inside one chunk is returned in place; only one that is split between chunks is copied. The reader holds at
 * most one frame, and checks an announced length before it allocates.
 */
export class FrameReader {
  private maxFrameBytes = DEFAULT_MAX_FRAME_BYTES;
  private prefaceSeen: number;
  private readonly head = Buffer.alloc(FRAME_HEAD_BYTES);
  private partial: Buffer = this.head;
  private have = 0;

  /** `expectPreface`: the connection begins with the client's preface, which is checked and not handed out. */
  constructor({ expectPreface }: { readonly expectPreface: boolean }) {
    this.prefaceSeen = expectPreface ? 0 : CLIENT_PREFACE.length;
  }

  /** Payloads up to `bytes` are accepted from now on. Never lowered: frames of the old size may be on their way. */
  allowFrameBytes(bytes: number): void {
    this.maxFrameBytes = Math.max(this.maxFrameBytes, bytes);
  }

  /**
   * Hands every frame that `chunk` completes to `onFrame`, in order. Throws ConnectionError on a wrong preface or an
   * oversized frame.
   */
  feed(chunk: Buffer, onFrame: (frame: Frame) => void): void {
    let at = this.skipPreface(chunk);
    if (this.have > 0) at = this.complete(chunk, at, onFrame);
    while (chunk.length - at >= FRAME_HEAD_BYTES) {
      const end = at + this.checkedFrameBytes(chunk, at);
      if (end > chunk.length) break;
      onFrame(frameAt(chunk, at, end));
      at = end;
    }
    if (at < chunk.length) this.complete(chunk, at, onFrame);
  }

  private skipPreface(chunk: Buffer): number {
    let at = 0;
    for (; this.prefaceSeen < CLIENT_PREFACE.length && at < chunk.length; at++, this.prefaceSeen++) {
      if (chunk[at] !== CLIENT_PREFACE[this.prefaceSeen])
        throw new ConnectionError(ErrorCode.protocol, 'the peer does not speak HTTP/2');
    }
    return at;
  }

  /** Fills the frame that is split between chunks; returns where the next one begins. */
  private complete(chunk: Buffer, from: number, onFrame: (frame: Frame) => void): number {
    let at = from;
    while (at < chunk.length) {
      const taken = chunk.copy(this.partial, this.have, at);
      this.have += taken;
      at += taken;
      if (this.have < this.partial.length) return at;
      if (this.partial === this.head) {
        this.partial = Buffer.alloc(this.checkedFrameBytes(this.head, 0));
        this.head.copy(this.partial);
        if (this.partial.length > FRAME_HEAD_BYTES) continue;
      }
      const frame = frameAt(this.partial, 0, this.partial.length);
      this.partial = this.head;
      this.have = 0;
      onFrame(frame);
      return at;
    }
    return at;
  }

  private checkedFrameBytes(bytes: Buffer, at: number): number {
    const payloadBytes = (bytes[at]! << 16) | (bytes[at + 1]! << 8) | bytes[at + 2]!;
    if (payloadBytes > this.maxFrameBytes) {
      throw new ConnectionError(
        ErrorCode.frameSize,
        `a frame of ${payloadBytes} bytes, ${this.maxFrameBytes} are allowed`,
      );
    }
    return FRAME_HEAD_BYTES + payloadBytes;
  }
}

function frameAt(buffer: Buffer, start: number, end: number): Frame {
  return {
    type: buffer[start + 3]!,
    flags: buffer[start + 4]!,
    streamId: buffer.readUInt32BE(start + 5) & 0x7fffffff,
    buffer,
    start,
    end,
  };
}
