import { MESSAGE_PREFIX_BYTES, type GrpcMessage } from './message';

/**
 * Assembles the messages of one direction of a call. A message inside one piece is returned in place; a split one is
 * copied into a buffer that grows with the bytes that arrive, not with the announced length.
 */
export class MessageAssembler {
  private readonly maxBytes: number;
  private held: Buffer = Buffer.alloc(0);
  private heldBytes = 0;
  private skip = 0;

  /** Messages longer than `maxBytes` are not assembled but reported to `onTooLong` with the announced length. */
  constructor(
    maxBytes: number,
    readonly onTooLong: (announcedBytes: number) => void,
  ) {
    this.maxBytes = maxBytes;
  }

  /** The messages that `piece` completes, in order. Their bytes may lie in `piece`. */
  push(piece: Buffer): readonly GrpcMessage[] {
    const messages: GrpcMessage[] = [];
    let at = 0;
    while (at < piece.length) {
      if (this.skip > 0) {
        const skipped = Math.min(this.skip, piece.length - at);
        this.skip -= skipped;
        at += skipped;
        continue;
      }
      if (this.heldBytes === 0) {
        const whole = readWhole(piece, at);
        if (whole !== undefined && whole.bytes.length <= this.maxBytes) {
          messages.push(whole);
          at += MESSAGE_PREFIX_BYTES + whole.bytes.length;
          continue;
        }
      }
      at = this.take(piece, at, messages);
    }
    return messages;
  }

  /** True when no message is incomplete. */
  get isAtBoundary(): boolean {
    return this.heldBytes === 0 && this.skip === 0;
  }

  private take(piece: Buffer, from: number, messages: GrpcMessage[]): number {
    if (this.heldBytes < MESSAGE_PREFIX_BYTES) {
      const at = this.hold(piece, from, MESSAGE_PREFIX_BYTES - this.heldBytes);
      if (this.heldBytes === MESSAGE_PREFIX_BYTES) this.checkLength(messages);
      return at;
    }
    const announced = this.held.readUInt32BE(1);
    const at = this.hold(piece, from, MESSAGE_PREFIX_BYTES + announced - this.heldBytes);
    if (this.heldBytes === MESSAGE_PREFIX_BYTES + announced) this.finish(messages);
    return at;
  }

  private checkLength(messages: GrpcMessage[]): void {
    const announced = this.held.readUInt32BE(1);
    if (announced > this.maxBytes) {
      this.heldBytes = 0;
      this.skip = announced;
      this.onTooLong(announced);
    } else if (announced === 0) {
      this.finish(messages);
    }
  }

  private finish(messages: GrpcMessage[]): void {
    messages.push({
      isCompressed: this.held[0] === 1,
      bytes: this.held.subarray(MESSAGE_PREFIX_BYTES, this.heldBytes),
    });
    this.held = Buffer.alloc(0);
    this.heldBytes = 0;
  }

  private hold(piece: Buffer, from: number, wantedBytes: number): number {
    const to = Math.min(piece.length, from + wantedBytes);
    const needed = this.heldBytes + to - from;
    if (needed > this.held.length) {
      const grown = Buffer.alloc(
        Math.max(needed, Math.min(this.held.length * 2, this.maxBytes + MESSAGE_PREFIX_BYTES), 256),
      );
      this.held.copy(grown, 0, 0, this.heldBytes);
      this.held = grown;
    }
    piece.copy(this.held, this.heldBytes, from, to);
    this.heldBytes = needed;
    return to;
  }
}

function readWhole(piece: Buffer, at: number): GrpcMessage | undefined {
  const start = at + MESSAGE_PREFIX_BYTES;
  if (piece.length < start) return undefined;
  const end = start + piece.readUInt32BE(at + 1);
  return end > piece.length ? undefined : { isCompressed: piece[at] === 1, bytes: piece.subarray(start, end) };
}
