import { DEFAULT_WINDOW_BYTES } from '../http2/frame';

/**
 * Flow control of the request DATA of one connection (RFC 9113 §5.2), seen from between the two peers.
 *
 * Credits of the runtime are forwarded to the kubelet. While DATA is forwarded unchanged, both peers count the same
 * window. The counts differ where we hold, change or drop DATA. One number is the difference:
 *
 *     kubelet's window = runtime's window + excess
 *
 * Below 0 the kubelet may send too little, and gets the difference from us. Above 0 it may send more than fits; then
 * DATA waits here for the runtime's window, and the runtime's next credits are withheld until the two agree again.
 */
export class FlowControl {
  private windowBytes = DEFAULT_WINDOW_BYTES;
  private excessBytes = 0;

  /** Bytes that the runtime lets us send now. */
  get availableBytes(): number {
    return this.windowBytes;
  }

  /** The bytes that the kubelet may send now; more breaks the protocol. */
  get kubeletBytes(): number {
    return this.windowBytes + this.excessBytes;
  }

  /** Counts DATA of the kubelet that is forwarded at once. */
  forward(bytes: number): void {
    this.windowBytes -= bytes;
  }

  /** Counts DATA of the kubelet that is not forwarded now. */
  hold(bytes: number): void {
    this.excessBytes -= bytes;
  }

  /** Counts DATA of ours, or that was held, which is sent to the runtime. */
  sendOwn(bytes: number): void {
    this.windowBytes -= bytes;
    this.excessBytes += bytes;
  }

  /** Counts a credit of the runtime. Returns the number of its bytes to forward to the kubelet. */
  credit(bytes: number): number {
    this.windowBytes += bytes;
    const withheld = Math.min(bytes, Math.max(0, this.excessBytes));
    this.excessBytes -= withheld;
    return bytes - withheld;
  }

  /** Returns the bytes to credit to the kubelet, so that the windows agree, and counts them as credited. */
  takeDeficit(): number {
    const bytes = Math.max(0, -this.excessBytes);
    this.excessBytes += bytes;
    return bytes;
  }
}
