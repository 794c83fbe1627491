import {
  DEFAULT_MAX_FRAME_BYTES,
  DEFAULT_WINDOW_BYTES,
  formatWindowUpdate,
  readUInt31,
  type Frame,
} from '../http2/frame';
import type { ConnectionContext } from './connection-context';
import type { ProxiedStream } from './proxied-stream';

/**
 * Sends request DATA that is ours or was held: as much as the runtime's windows allow, the rest when it credits more.
 */
export class RequestSender {
  private readonly waiting = new Set<ProxiedStream>();
  private initialWindowBytes = DEFAULT_WINDOW_BYTES;

  constructor(readonly context: ConnectionContext) {}

  /** Sends the outbox of the stream. */
  send(stream: ProxiedStream): void {
    const { flow, toRuntime } = this.context;
    const { request } = stream;
    do {
      const windowBytes = Math.min(flow.availableBytes, request.windowBytes(this.initialWindowBytes));
      const bytes = Math.min(request.queuedBytes, DEFAULT_MAX_FRAME_BYTES, windowBytes);
      if (bytes <= 0 && request.queuedBytes > 0) {
        this.waiting.add(stream);
        return;
      }
      flow.sendOwn(bytes);
      toRuntime.send(request.takeFrame(stream.id, bytes));
    } while (request.queuedBytes > 0);
    request.clearOutbox();
    this.waiting.delete(stream);
  }

  /** Sends nothing more of a stream that is over. */
  forget(stream: ProxiedStream): void {
    this.waiting.delete(stream);
  }

  /** Takes a credit of the runtime for the connection or a stream: for the kubelet, or for DATA that we send. */
  takeWindowUpdate(frame: Frame): void {
    const { flow, toKubelet, streams } = this.context;
    const bytes = readUInt31(frame, 0);
    if (frame.streamId === 0) {
      const forKubelet = flow.credit(bytes);
      if (forKubelet === bytes) toKubelet.pass(frame);
      else if (forKubelet > 0) toKubelet.send(formatWindowUpdate(0, forKubelet));
      this.sendWaiting();
      return;
    }
    const stream = streams.get(frame.streamId);
    if (stream?.request.isOurs !== true) {
      toKubelet.pass(frame);
      return;
    }
    stream.request.credit(bytes);
    if (this.waiting.has(stream)) this.send(stream);
  }

  /** Takes a new initial window of the runtime, which applies to open streams too (RFC 9113 §6.9.2). */
  setInitialWindow(bytes: number): void {
    this.initialWindowBytes = bytes;
    this.sendWaiting();
  }

  private sendWaiting(): void {
    for (const stream of this.waiting) this.send(stream);
  }
}
