import {
  checkContent,
  ConnectionError,
  ErrorCode,
  Flag,
  FRAME_HEAD_BYTES,
  FrameType,
  hasFlag,
  payloadLength,
  readContent,
  type Frame,
} from './frame';

/** The largest header block accepted, over all its frames (gRPC servers stop at 8 to 64 KiB by default). */
const MAX_BLOCK_BYTES = 262_144;
/** Most frames of a block, since a frame costs more than its bytes. 16 frames carry the largest block. */
const MAX_BLOCK_FRAMES = 64;

/** The frames of one header block: HEADERS and its CONTINUATIONs. */
export type HeaderBlock = readonly [Frame, ...Frame[]];

/** The bytes of a block. */
export function readBlock(frames: HeaderBlock): Buffer {
  return frames.length === 1 ? readContent(frames[0]) : Buffer.concat(frames.map(readFragment));
}

/** Gathers HEADERS and its CONTINUATIONs, between which no other frame may come (RFC 9113 §6.10). */
export class HeaderBlockReader {
  private frames: Frame[] = [];
  private bytes = 0;

  /** True while a block is incomplete. */
  get isOpen(): boolean {
    return this.frames.length > 0;
  }

  /** The block, once `frame` completes it. Throws ConnectionError when the frame does not belong here. */
  take(frame: Frame): HeaderBlock | undefined {
    const first = this.frames[0];
    const isNext = first === undefined ? frame.type === FrameType.headers : frame.type === FrameType.continuation;
    if (!isNext || frame.streamId === 0 || (first !== undefined && first.streamId !== frame.streamId)) {
      throw new ConnectionError(ErrorCode.protocol, 'a header block is interrupted');
    }
    this.bytes += FRAME_HEAD_BYTES + payloadLength(frame);
    if (this.bytes > MAX_BLOCK_BYTES || this.frames.length >= MAX_BLOCK_FRAMES)
      throw new ConnectionError(ErrorCode.enhanceYourCalm, 'a header block is too long');
    if (first === undefined) checkContent(frame);
    const isComplete = hasFlag(frame, Flag.endHeaders);
    if (isComplete) this.bytes = 0;
    if (isComplete && first === undefined) return [frame];
    this.frames.push(frame);
    if (!isComplete) return undefined;
    const [head = frame, ...rest] = this.frames;
    this.frames = [];
    return [head, ...rest];
  }
}

function readFragment(frame: Frame): Buffer {
  return frame.type === FrameType.headers
    ? readContent(frame)
    : frame.buffer.subarray(frame.start + FRAME_HEAD_BYTES, frame.end);
}
