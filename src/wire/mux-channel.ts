import type { ByteChannel, CloseReason, Receiver } from './channel';
import { frameHeaderBytes, maxFirstFrameBytes, writeFrameHeader } from './frame';
import type { SocketChannel } from './socket-channel';

/** One connection of a mux; the mux makes it and feeds it. */
export class MuxChannel implements ByteChannel {
  readonly headroom = frameHeaderBytes;
  readonly closed: Promise<CloseReason>;
  private receiver: Receiver | undefined;
  private isPaused = false;
  private reason: CloseReason | undefined;
  private settle: (reason: CloseReason) => void = () => undefined;

  constructor(
    private readonly id: number,
    private readonly socket: SocketChannel,
    private readonly goOn: () => void,
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
    else this.goOn();
  }

  /** One frame, or two: exactly the first 4096 bytes, then all the rest. See {@link maxFirstFrameBytes}. */
  send(packet: Buffer): void {
    if (this.reason) return;
    const length = packet.length - frameHeaderBytes;
    if (length <= maxFirstFrameBytes) {
      writeFrameHeader(packet, 0, this.id, length);
      this.socket.send(packet);
      return;
    }
    const cut = frameHeaderBytes + maxFirstFrameBytes;
    const secondHeader = Buffer.allocUnsafe(frameHeaderBytes);
    writeFrameHeader(packet, 0, this.id, maxFirstFrameBytes);
    writeFrameHeader(secondHeader, 0, this.id, length - maxFirstFrameBytes);
    this.socket.sendParts([packet.subarray(0, cut), secondHeader, packet.subarray(cut)]);
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
    this.goOn();
  }

  close(because: string): void {
    this.end({ by: 'us', because });
    this.goOn();
  }

  /** False when nobody wants the bytes now. After the end they are taken and forgotten. */
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
