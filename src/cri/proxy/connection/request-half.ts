import { formatMessagePrefix, type GrpcMessage } from '../grpc/message';
import { MessageAssembler } from '../grpc/message-assembler';
import { allocFrame, Flag, FrameType, payloadLength, readContent, type Frame } from '../http2/frame';
import type { MemoryBudget } from '../memory-budget';
import { requestIsNotOneMessage, requestIsTooLong, tooMuchHeld, type ProxyError } from '../proxy-errors';

/** A request that is held until it is complete and decided. */
interface Hold {
  readonly assembler: MessageAssembler;
  readonly messages: GrpcMessage[];
  /** Bytes of DATA that were not yet credited to the kubelet on this stream. */
  uncreditedBytes: number;
  /** The announced length when it is over the limit, otherwise 0. */
  tooLongBytes: number;
}

/** DATA for the runtime that waits for its window. */
interface Outbox {
  readonly pieces: Buffer[];
  leftBytes: number;
  endStream: boolean;
}

export interface RequestLimits {
  /** Longest message of an intercepted call. */
  readonly maxMessageBytes: number;
  /** Memory for request data that is held for a decision or waits to be sent. */
  readonly held: MemoryBudget;
  /** Memory for open calls, without their messages. */
  readonly open: MemoryBudget;
}

/** The request of one call. It is forwarded unread, or held for a hook and then sent as the runtime's windows allow. */
export class RequestHalf {
  /** The kubelet has sent all of it. */
  hasEnded = false;
  private heldRequest: Hold | undefined;
  private outbox: Outbox | undefined;
  private heldBytes = 0;
  private openBytes = 0;
  private isDeciding = false;
  private isReleased = false;
  /** Bytes sent to the runtime, less its credits for this stream; only when the request is ours. */
  private usedBytes = 0;

  constructor(
    /** We, not the kubelet, send this stream's DATA: its flow control towards the runtime is ours. */
    readonly isOurs: boolean,
    readonly limits: RequestLimits,
  ) {
    if (isOurs) this.heldRequest = createHold(limits.maxMessageBytes);
  }

  /** Reserves memory for the call. False when open calls use all of it. */
  tryOpen(bytes: number): boolean {
    if (!this.limits.open.tryReserve(bytes)) return false;
    this.openBytes += bytes;
    return true;
  }

  /** True while the request waits for its end or for a decision. */
  get isHeld(): boolean {
    return this.heldRequest !== undefined;
  }

  /** Keeps a DATA frame of a held request. Returns an error when the request has to be refused. */
  hold(frame: Frame): ProxyError | undefined {
    const hold = this.heldRequest!;
    const flowBytes = payloadLength(frame);
    if (!this.hasEnded) hold.uncreditedBytes += flowBytes;
    if (!this.limits.held.tryReserve(flowBytes)) return tooMuchHeld;
    this.heldBytes += flowBytes;
    hold.messages.push(...hold.assembler.push(readAlone(frame)));
    if (hold.tooLongBytes > 0) return requestIsTooLong(hold.tooLongBytes, this.limits.maxMessageBytes);
    return hold.messages.length > 1 ? requestIsNotOneMessage : undefined;
  }

  /** The message of a held request that has ended; undefined when it is not exactly one. */
  get message(): GrpcMessage | undefined {
    const { assembler, messages } = this.heldRequest!;
    return assembler.isAtBoundary ? messages[0] : undefined;
  }

  /** Returns the bytes to credit to the kubelet for held DATA, and counts them as credited. */
  takeUncredited(): number {
    const bytes = this.heldRequest?.uncreditedBytes ?? 0;
    if (bytes > 0) this.heldRequest!.uncreditedBytes = 0;
    return bytes;
  }

  /** Reserves memory for a message of `bytes` until `endDecision`: the hook may keep it after the call is over. */
  tryDecide(bytes: number): boolean {
    if (!this.tryOpen(bytes)) return false;
    this.isDeciding = true;
    return true;
  }

  /** The hook has answered. */
  endDecision(): void {
    this.isDeciding = false;
    if (this.isReleased) this.releaseOpen();
  }

  /** The decided message replaces what is held and goes to the outbox. */
  replace(message: Uint8Array, isCompressed: boolean): void {
    const prefix = formatMessagePrefix(message.length, isCompressed);
    this.heldRequest = undefined;
    this.queue([prefix, Buffer.from(message.buffer, message.byteOffset, message.byteLength)], true);
  }

  /** Appends `pieces` to the outbox. */
  queue(pieces: readonly Buffer[], endStream: boolean): void {
    this.outbox ??= { pieces: [], leftBytes: 0, endStream: false };
    for (const piece of pieces) {
      if (piece.length === 0) continue; // empty frames use no window, so their number is not limited
      this.outbox.pieces.push(piece);
      this.outbox.leftBytes += piece.length;
    }
    this.outbox.endStream = endStream;
  }

  /** True while DATA waits for the runtime's window. */
  get isQueued(): boolean {
    return this.outbox !== undefined;
  }

  get queuedBytes(): number {
    return this.outbox?.leftBytes ?? 0;
  }

  /** Bytes that the runtime lets us send on this stream; for a request that is not ours the kubelet counts them. */
  windowBytes(initialWindowBytes: number): number {
    return this.isOurs ? initialWindowBytes - this.usedBytes : Infinity;
  }

  /** Counts a credit of the runtime for this stream. */
  credit(bytes: number): void {
    this.usedBytes -= bytes;
  }

  /** Takes the next `bytes` out of the outbox as a DATA frame. */
  takeFrame(streamId: number, bytes: number): Buffer {
    const outbox = this.outbox!;
    outbox.leftBytes -= bytes;
    this.usedBytes += bytes;
    return takeDataFrame(streamId, outbox.pieces, bytes, outbox.leftBytes === 0 && outbox.endStream);
  }

  /** Drops the outbox: all of it was sent, or the call is over. */
  clearOutbox(): void {
    this.outbox = undefined;
    this.limits.held.release(this.heldBytes);
    this.heldBytes = 0;
  }

  /** Releases all memory: the call is over. */
  release(): void {
    this.isReleased = true;
    this.heldRequest = undefined;
    if (!this.isDeciding) this.releaseOpen();
    this.clearOutbox();
  }

  private releaseOpen(): void {
    this.limits.open.release(this.openBytes);
    this.openBytes = 0;
  }
}

function createHold(maxMessageBytes: number): Hold {
  const assembler = new MessageAssembler(maxMessageBytes, (announcedBytes) => (hold.tooLongBytes = announcedBytes));
  const hold: Hold = { assembler, messages: [], uncreditedBytes: 0, tooLongBytes: 0 };
  return hold;
}

/** The content of a DATA frame that will be held: copied when it would keep a much larger chunk in memory. */
function readAlone(frame: Frame): Buffer {
  const content = readContent(frame);
  return content.length * 2 < frame.buffer.length ? Buffer.from(content) : content;
}

/** One DATA frame with the first `bytes` of `pieces`, which are taken off. */
function takeDataFrame(streamId: number, pieces: Buffer[], bytes: number, isLast: boolean): Buffer {
  const frame = allocFrame(FrameType.data, isLast ? Flag.endStream : 0, streamId, bytes);
  let at = frame.length - bytes;
  while (at < frame.length) {
    const piece = pieces[0]!;
    const taken = piece.copy(frame, at);
    at += taken;
    if (taken === piece.length) pieces.shift();
    else pieces[0] = piece.subarray(taken);
  }
  return frame;
}
