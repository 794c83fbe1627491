import { MessageBoundary } from '../grpc/message-boundary';
import { Flag, FRAME_HEAD_BYTES, FrameType, hasFlag, readContent, type Frame } from '../http2/frame';
import type { ProxyError } from '../proxy-errors';

/** A piece of an answer: frames of the runtime that belong together, or the error that takes the place of the rest. */
export type ResponsePart = { readonly frames: readonly [Frame, ...Frame[]] } | { readonly error: ProxyError };

/** The answer of one call: how much was passed on, and the parts that wait for a hook. */
export class ResponseHalf {
  #hasBegun = false;
  readonly #boundary = new MessageBoundary();
  #isDeferring = false;
  #deferred: ResponsePart[] = [];

  /** Header fields of it were passed on. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** True when the part that was passed on ends with a whole message. */
  get isAtBoundary(): boolean {
    return this.#boundary.isAtBoundary;
  }

  /** A hook is busy: every part that comes has to wait for it. */
  get isDeferring(): boolean {
    return this.#isDeferring;
  }

  /** Keeps a part back. The first one is what the hook looks at. */
  defer(part: ResponsePart): void {
    this.#isDeferring = true;
    this.#deferred.push(part);
  }

  /** The hook is through. Returns what was deferred, in order. */
  resume(): readonly ResponsePart[] {
    this.#isDeferring = false;
    return this.takeDeferred();
  }

  takeDeferred(): readonly ResponsePart[] {
    const parts = this.#deferred;
    if (parts.length > 0) this.#deferred = [];
    return parts;
  }

  /** A frame was passed on; of a header block the first one. */
  notePassed(frame: Frame): void {
    if (frame.type !== FrameType.data) this.#hasBegun = true;
    else if (hasFlag(frame, Flag.padded)) this.#boundary.advance(readContent(frame));
    else this.#boundary.advance(frame.buffer, frame.start + FRAME_HEAD_BYTES, frame.end);
  }
}
