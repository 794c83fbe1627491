import {
  DEFAULT_MAX_FRAME_BYTES,
  DEFAULT_WINDOW_BYTES,
  formatWindowUpdate,
  readUInt31,
  type Frame,
} from '../http2/frame';
import type { ConnectionContext } from './connection-context';
import type { ProxiedStream } from './proxied-stream';

/** Sends request DATA that can't simply pass on: as far as the runtime's windows go, the rest when it credits more. */
export class RequestSender {
  readonly #waiting = new Set<ProxiedStream>();
  #initialWindowBytes = DEFAULT_WINDOW_BYTES;

  constructor(readonly context: ConnectionContext) {}

  /** Sends what is queued on the stream. */
  send(stream: ProxiedStream): void {
    const { flow, toRuntime } = this.context;
    const { request } = stream;
    do {
      const windowBytes = Math.min(flow.availableBytes, request.windowBytes(this.#initialWindowBytes));
      const bytes = Math.min(request.queuedBytes, DEFAULT_MAX_FRAME_BYTES, windowBytes);
      if (bytes <= 0 && request.queuedBytes > 0) {
        this.#waiting.add(stream);
        return;
      }
      flow.sendOwn(bytes);
      toRuntime.send(request.takeFrame(stream.id, bytes));
    } while (request.queuedBytes > 0);
    request.clearOutbox();
    this.#waiting.delete(stream);
  }

  /** The stream is over; nothing more of it is sent. */
  forget(stream: ProxiedStream): void {
    this.#waiting.delete(stream);
  }

  /** The runtime credits the connection or a stream: for the kubelet, or for what we send ourselves. */
  takeWindowUpdate(frame: Frame): void {
    const { flow, toKubelet, streams } = this.context;
    const bytes = readUInt31(frame, 0);
    if (frame.streamId === 0) {
      const forKubelet = flow.credit(bytes);
      if (forKubelet === bytes) toKubelet.pass(frame);
      else if (forKubelet > 0) toKubelet.send(formatWindowUpdate(0, forKubelet));
      this.#sendWaiting();
      return;
    }
    const stream = streams.get(frame.streamId);
    if (stream?.request.isOurs !== true) {
      toKubelet.pass(frame);
      return;
    }
    stream.request.credit(bytes);
    if (this.#waiting.has(stream)) this.send(stream);
  }

  /** The runtime changed what every stream may send from its start; that holds for open streams too (RFC 9113 §6.9.2). */
  setInitialWindow(bytes: number): void {
    this.#initialWindowBytes = bytes;
    this.#sendWaiting();
  }

  #sendWaiting(): void {
    for (const stream of this.#waiting) this.send(stream);
  }
}
