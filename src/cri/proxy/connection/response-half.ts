import { MessageBoundary } from '../grpc/message-boundary';
import { Flag, FRAME_HEAD_BYTES, FrameType, hasFlag, readContent, type Frame } from '../http2/frame';
import type { ProxyError } from '../proxy-errors';

/** A piece of an answer: frames of the runtime that belong together, or the error that replaces the rest. */
export type ResponsePart = { readonly frames: readonly [Frame, ...Frame[]] } | { readonly error: ProxyError };

/** The answer of one call: the forwarded part, and the parts that wait for a hook. */
export class ResponseHalf {
  private begun = false;
  private readonly boundary = new MessageBoundary();
  private deferring = false;
  private deferred: ResponsePart[] = [];

  /** True when header fields were forwarded. */
  get hasBegun(): boolean {
    return this.begun;
  }

  /** True when the forwarded part ends with a whole message. */
  get isAtBoundary(): boolean {
    return this.boundary.isAtBoundary;
  }

  /** True while a hook is busy: every new part has to wait for it. */
  get isDeferring(): boolean {
    return this.deferring;
  }

  /** Keeps a part back. The hook reads the first one. */
  defer(part: ResponsePart): void {
    this.deferring = true;
    this.deferred.push(part);
  }

  /** Returns the deferred parts, in order: the hook has answered. */
  resume(): readonly ResponsePart[] {
    this.deferring = false;
    return this.takeDeferred();
  }

  takeDeferred(): readonly ResponsePart[] {
    const parts = this.deferred;
    if (parts.length > 0) this.deferred = [];
    return parts;
  }

  /** Notes a forwarded frame; of a header block the first one. */
  notePassed(frame: Frame): void {
    if (frame.type !== FrameType.data) this.begun = true;
    else if (hasFlag(frame, Flag.padded)) this.boundary.advance(readContent(frame));
    else this.boundary.advance(frame.buffer, frame.start + FRAME_HEAD_BYTES, frame.end);
  }
}
