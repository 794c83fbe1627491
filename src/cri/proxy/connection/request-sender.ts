import {
  allocFrame,
  DEFAULT_MAX_FRAME_BYTES,
  DEFAULT_WINDOW_BYTES,
  Flag,
  formatWindowUpdate,
  FrameType,
  readUInt31,
  type Frame,
} from '../http2/frame';
import type { Link } from './connection-context';
import type { Stream } from './proxied-stream';

/** Request DATA that can't simply pass on: sent as far as the runtime's windows go, the rest when it credits more. */
export class RequestSender {
  readonly #waiting = new Set<Stream>();
  #initialWindowBytes = DEFAULT_WINDOW_BYTES;

  constructor(readonly link: Link) {}

  /** Queues `pieces` behind what the stream still has to send. */
  send(stream: Stream, pieces: readonly Buffer[], endStream: boolean): void {
    stream.outbox ??= { pieces: [], leftBytes: 0, endStream: false };
    for (const piece of pieces) {
      if (piece.length === 0) continue; // no window limits how many of these come
      stream.outbox.pieces.push(piece);
      stream.outbox.leftBytes += piece.length;
    }
    stream.outbox.endStream = endStream;
    this.#pump(stream);
  }

  /** The stream is over; nothing more of it is sent. */
  forget(stream: Stream): void {
    this.#waiting.delete(stream);
    stream.outbox = undefined;
    this.link.options.held.give(stream.heldBytes);
    stream.heldBytes = 0;
  }

  /** The runtime credits the connection or a stream: for the kubelet, or for what we send ourselves. */
  takeWindowUpdate(frame: Frame): void {
    const { window, toKubelet, streams } = this.link;
    const bytes = readUInt31(frame, 0);
    if (frame.streamId === 0) {
      const forKubelet = window.credit(bytes);
      if (forKubelet === bytes) toKubelet.pass(frame);
      else if (forKubelet > 0) toKubelet.send(formatWindowUpdate(0, forKubelet));
      this.#pumpAll();
      return;
    }
    const stream = streams.get(frame.streamId);
    if (stream?.isRequestOurs !== true) {
      toKubelet.pass(frame);
      return;
    }
    stream.windowUpdates += bytes;
    if (this.#waiting.has(stream)) this.#pump(stream);
  }

  /** The runtime changed what every stream may send from its start; that holds for open streams too (RFC 9113 §6.9.2). */
  setInitialWindow(bytes: number): void {
    this.#initialWindowBytes = bytes;
    this.#pumpAll();
  }

  #pumpAll(): void {
    for (const stream of this.#waiting) this.#pump(stream);
  }

  #pump(stream: Stream): void {
    const { window, toRuntime } = this.link;
    const outbox = stream.outbox!;
    do {
      const bytes = Math.min(outbox.leftBytes, DEFAULT_MAX_FRAME_BYTES, window.availableBytes, this.#windowOf(stream));
      if (bytes <= 0 && outbox.leftBytes > 0) {
        this.#waiting.add(stream);
        return;
      }
      outbox.leftBytes -= bytes;
      stream.sentBytes += bytes;
      window.send(bytes);
      toRuntime.send(takeDataFrame(stream.id, outbox.pieces, bytes, outbox.leftBytes === 0 && outbox.endStream));
    } while (outbox.leftBytes > 0);
    this.forget(stream);
  }

  /** What the runtime lets us send on this stream; of the others the kubelet itself keeps account. */
  #windowOf(stream: Stream): number {
    return stream.isRequestOurs ? this.#initialWindowBytes + stream.windowUpdates - stream.sentBytes : Infinity;
  }
}

/** One DATA frame with the first `bytes` of `pieces`, which are taken off. */
function takeDataFrame(streamId: number, pieces: Buffer[], bytes: number, isLast: boolean): Buffer {
  const frame = allocFrame(FrameType.data, isLast ? Flag.endStream : 0, streamId, bytes);
  let at = frame.length - bytes;
  while (at < frame.length) {
    const piece = pieces[0]!;
    const taken = piece.copy(frame, at);
    at += taken;
    if (taken === piece.length) pieces.shift();
    else pieces[0] = piece.subarray(taken);
  }
  return frame;
}
