import type { Socket } from 'node:net';
import type { Frame } from './frame';

/**
 * The writing side of a socket. Neighbouring frames of one buffer are joined to one piece, and `flush` writes all
 * pieces of a turn with one system call, which makes forwarding cheap.
 */
export class FrameWriter {
  private pieces: Uint8Array[] = [];
  private run: Buffer | undefined;
  private runStart = 0;
  private runEnd = 0;

  /** Without a socket everything is dropped. */
  constructor(readonly socket: Socket | undefined) {}

  /** Queues a frame as it is. */
  pass({ buffer, start, end }: Frame): void {
    if (this.run === buffer && this.runEnd === start) {
      this.runEnd = end;
      return;
    }
    this.endRun();
    this.run = buffer;
    this.runStart = start;
    this.runEnd = end;
  }

  /** Queues bytes of our own, whole frames. */
  send(bytes: Uint8Array): void {
    this.endRun();
    this.pieces.push(bytes);
  }

  /** Writes what is queued. */
  flush(): void {
    this.endRun();
    const pieces = this.pieces;
    if (pieces.length === 0) return;
    this.pieces = [];
    if (this.socket?.writable !== true) return;
    if (pieces.length === 1) {
      this.socket.write(pieces[0]!);
      return;
    }
    this.socket.cork();
    for (const piece of pieces) this.socket.write(piece);
    this.socket.uncork();
  }

  /** True when the peer reads slower than we write, until the socket's `drain` event. */
  get isFull(): boolean {
    return this.socket?.writableNeedDrain === true;
  }

  /** Bytes that were written and that the peer has not taken. */
  get bufferedBytes(): number {
    return this.socket?.writableLength ?? 0;
  }

  private endRun(): void {
    if (this.run === undefined) return;
    const isWhole = this.runStart === 0 && this.runEnd === this.run.length;
    this.pieces.push(isWhole ? this.run : this.run.subarray(this.runStart, this.runEnd));
    this.run = undefined;
  }
}
