import {
  ConnectionError,
  ErrorCode,
  Flag,
  FRAME_HEAD_BYTES,
  FrameType,
  hasFlag,
  payloadLength,
  readContent,
  type Frame,
} from './http2/frame';

/** The largest header block accepted, over all its frames (gRPC servers stop at 8 to 64 KiB by default). */
const MAX_BLOCK_BYTES = 262_144;
/** And the most frames: one costs more than it has bytes. 16 carry the largest block. */
const MAX_BLOCK_FRAMES = 64;

/** A header block with the frames that carried it. */
export interface HeaderBlock {
  readonly frames: readonly [Frame, ...Frame[]];
  readonly bytes: Buffer;
}

/** Gathers HEADERS and its CONTINUATIONs, between which no other frame may come (RFC 9113 §6.10). */
export class HeaderBlockReader {
  #frames: Frame[] = [];
  #bytes = 0;

  /** A block is incomplete. */
  get isOpen(): boolean {
    return this.#frames.length > 0;
  }

  /** The block, once `frame` completes it. Throws ConnectionError when the frame does not belong here. */
  take(frame: Frame): HeaderBlock | undefined {
    const first = this.#frames[0];
    const isNext = first === undefined ? frame.type === FrameType.headers : frame.type === FrameType.continuation;
    if (!isNext || frame.streamId === 0 || (first !== undefined && first.streamId !== frame.streamId)) {
      throw new ConnectionError(ErrorCode.protocol, 'a header block is interrupted');
    }
    this.#bytes += FRAME_HEAD_BYTES + payloadLength(frame);
    if (this.#bytes > MAX_BLOCK_BYTES || this.#frames.length >= MAX_BLOCK_FRAMES)
      throw new ConnectionError(ErrorCode.enhanceYourCalm, 'a header block is too long');
    this.#frames.push(frame);
    if (!hasFlag(frame, Flag.endHeaders)) return undefined;
    const frames: [Frame, ...Frame[]] = first === undefined ? [frame] : [first, ...this.#frames.slice(1)];
    this.#frames = [];
    this.#bytes = 0;
    return { frames, bytes: first === undefined ? readContent(frame) : Buffer.concat(frames.map(readFragment)) };
  }
}

function readFragment(frame: Frame): Buffer {
  return frame.type === FrameType.headers
    ? readContent(frame)
    : frame.buffer.subarray(frame.start + FRAME_HEAD_BYTES, frame.end);
}
