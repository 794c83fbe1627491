import { MESSAGE_PREFIX_BYTES } from './message';

/** Follows the DATA of one direction of a call, only to know whether a message is cut off. */
export class MessageBoundary {
  private prefixSeen = 0;
  private length = 0;
  /** Bytes of the current message that are still to come. */
  private left = 0;

  /** The next bytes are `bytes[from, to)`. */
  advance(bytes: Uint8Array, from = 0, to = bytes.length): void {
    let at = from;
    while (at < to) {
      if (this.left > 0) {
        const taken = Math.min(this.left, to - at);
        this.left -= taken;
        at += taken;
        continue;
      }
      const byte = bytes[at++]!;
      if (this.prefixSeen > 0) this.length = this.length * 256 + byte;
      if (++this.prefixSeen < MESSAGE_PREFIX_BYTES) continue;
      this.left = this.length;
      this.prefixSeen = 0;
      this.length = 0;
    }
  }

  /** True when no message is incomplete. */
  get isAtBoundary(): boolean {
    return this.left === 0 && this.prefixSeen === 0;
  }
}
