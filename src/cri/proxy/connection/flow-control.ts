import { DEFAULT_WINDOW_BYTES } from '../http2/frame';

/**
 * Flow control of the request DATA of one connection (RFC 9113 §5.2), seen from between the two peers.
 *
 * Credits of the runtime pass on to the kubelet as they are. As long as DATA does too, both count the same window. They
 * come apart where we hold, change or drop DATA. One number is the difference:
 *
 *     kubelet's window = runtime's window + excess
 *
 * Below 0 the kubelet is short of what it may send, and gets the difference from us. Above 0 it may send more than fits;
 * then DATA waits here for the runtime's window, and the runtime's next credits are withheld until the two agree again.
 */
export class FlowControl {
  #availableBytes = DEFAULT_WINDOW_BYTES;
  #excessBytes = 0;

  /** Bytes that the runtime lets us send now. */
  get availableBytes(): number {
    return this.#availableBytes;
  }

  /** The bytes that the kubelet may send now; more breaks the protocol. */
  get kubeletBytes(): number {
    return this.#availableBytes + this.#excessBytes;
  }

  /** The kubelet's DATA passes on at once. */
  forward(bytes: number): void {
    this.#availableBytes -= bytes;
  }

  /** The kubelet's DATA came and does not pass on now. */
  hold(bytes: number): void {
    this.#excessBytes -= bytes;
  }

  /** DATA of ours, or that was kept, goes to the runtime. */
  sendOwn(bytes: number): void {
    this.#availableBytes -= bytes;
    this.#excessBytes += bytes;
  }

  /** The runtime lets us send `bytes` more. Returns how many of them may pass on to the kubelet. */
  credit(bytes: number): number {
    this.#availableBytes += bytes;
    const withheld = Math.min(bytes, Math.max(0, this.#excessBytes));
    this.#excessBytes -= withheld;
    return bytes - withheld;
  }

  /** Returns what the kubelet has to be credited for the windows to agree, and counts it as done. */
  takeDeficit(): number {
    const bytes = Math.max(0, -this.#excessBytes);
    this.#excessBytes += bytes;
    return bytes;
  }
}
