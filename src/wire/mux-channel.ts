import type { ByteChannel, CloseReason, Receiver } from './channel';
import { FRAME_HEADER_BYTES, MAX_FIRST_FRAME_BYTES, writeFrameHeader } from './frame';
import type { SocketChannel } from './socket-channel';

/** One connection of a mux; the mux makes it and feeds it. */
export class MuxChannel implements ByteChannel {
  readonly headroom = FRAME_HEADER_BYTES;
  readonly closed: Promise<CloseReason>;
  private receiver: Receiver | undefined;
  private isPaused = false;
  private reason: CloseReason | undefined;
  private settle: (reason: CloseReason) => void = () => undefined;

  constructor(
    private readonly id: number,
    private readonly socket: SocketChannel,
    private readonly resumeDecoding: () => void,
  ) {
    this.closed = new Promise((resolve) => {
      this.settle = resolve;
    });
  }

  get queuedBytes(): number {
    return this.socket.queuedBytes;
  }

  get maxQueuedBytes(): number {
    return this.socket.maxQueuedBytes;
  }

  receive(receiver: Receiver): void {
    if (this.receiver) throw new Error('a channel has one receiver');
    this.receiver = receiver;
    if (this.reason) receiver.onClose(this.reason);
    else this.resumeDecoding();
  }

  /** Sends one frame, or two: exactly the first 4096 bytes, then all the rest. See {@link MAX_FIRST_FRAME_BYTES}. */
  send(packet: Buffer): void {
    if (this.reason) return;
    const length = packet.length - FRAME_HEADER_BYTES;
    if (length <= MAX_FIRST_FRAME_BYTES) {
      writeFrameHeader(packet, 0, this.id, length);
      this.socket.send(packet);
      return;
    }
    const cut = FRAME_HEADER_BYTES + MAX_FIRST_FRAME_BYTES;
    const secondHeader = Buffer.allocUnsafe(FRAME_HEADER_BYTES);
    writeFrameHeader(packet, 0, this.id, MAX_FIRST_FRAME_BYTES);
    writeFrameHeader(secondHeader, 0, this.id, length - MAX_FIRST_FRAME_BYTES);
    this.socket.sendParts([packet.subarray(0, cut), secondHeader, packet.subarray(cut)]);
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
    this.resumeDecoding();
  }

  close(because: string): void {
    this.end({ by: 'us', because });
    this.resumeDecoding();
  }

  /**
   * Returns false while the channel is paused or has no receiver. After the end of the channel the bytes are dropped.
   */
  deliver(chunk: Buffer, start: number, end: number): boolean {
    if (this.reason) return true;
    if (this.isPaused || !this.receiver) return false;
    this.receiver.onBytes(chunk, start, end);
    return true;
  }

  drained(): void {
    this.receiver?.onDrain();
  }

  end(reason: CloseReason): void {
    if (this.reason) return;
    this.reason = reason;
    this.receiver?.onClose(reason);
    this.settle(reason);
  }
}
