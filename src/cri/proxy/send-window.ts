import { DEFAULT_WINDOW_BYTES } from './http2/frame';

/**
 * Flow control of request DATA on one connection (RFC 9113 §5.2), seen from between the two peers.
 *
 * The runtime's credit passes on to the kubelet as it is, so as long as DATA does too, both count the same. They differ
 * by what is held here, what we appended to a message, and what we credited ourselves while holding:
 *
 *     kubelet's window = runtime's window + debt - bytes received and not yet sent
 *
 * A debt is paid back from the runtime's next credits; until then DATA is sent only as far as the runtime's window goes.
 */
export class SendWindow {
  #availableBytes = DEFAULT_WINDOW_BYTES;
  #debtBytes = 0;

  /** What the runtime lets us send now. */
  get availableBytes(): number {
    return this.#availableBytes;
  }

  spend(bytes: number): void {
    this.#availableBytes -= bytes;
  }

  /** The runtime lets us send `bytes` more. Returns how many of them may pass on to the kubelet. */
  credit(bytes: number): number {
    this.#availableBytes += bytes;
    const withheld = Math.min(bytes, this.#debtBytes);
    this.#debtBytes -= withheld;
    return bytes - withheld;
  }

  /** `bytes` more (or less) reach the runtime than the kubelet was charged for. Returns what to credit the kubelet at once. */
  adjust(bytes: number): number {
    this.#debtBytes += bytes;
    if (this.#debtBytes >= 0) return 0;
    const owed = -this.#debtBytes;
    this.#debtBytes = 0;
    return owed;
  }
}
