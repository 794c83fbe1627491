import type { ProxyError } from '../proxy-errors';
import { HeaderBlockReader, readBlock } from '../http2/header-block-reader';
import {
  Flag,
  formatWindowUpdate,
  FrameType,
  hasFlag,
  payloadLength,
  readContent,
  readUInt31,
  type Frame,
} from '../http2/frame';
import { HpackDecoder } from '../http2/hpack-decoder';
import type { InterceptedCall } from './intercepted-call';
import type { ConnectionContext } from './connection-context';
import type { ProxiedStream } from './proxied-stream';
import type { ResponsePart } from './response-half';

/**
 * Answers on their way from the runtime to the kubelet. Nothing is changed; what a hook has to see first waits for it, and
 * behind it the rest of its stream.
 */
export class ResponsePath {
  readonly #headers = new HeaderBlockReader();
  /** Calls with messages that are read when they have been passed on. */
  #toRead: InterceptedCall[] = [];
  #deferredBytes = 0;

  constructor(readonly context: ConnectionContext) {}

  get isInsideHeaderBlock(): boolean {
    return this.#headers.isOpen;
  }

  /** Bytes that wait for hooks. */
  get deferredBytes(): number {
    return this.#deferredBytes;
  }

  takeHeaders(frame: Frame): void {
    const frames = this.#headers.take(frame);
    // A block for a call that is over goes nowhere. No HPACK state is lost with it: see limitSettingsTowardsRuntime.
    if (frames !== undefined) this.#receive(frame.streamId, { frames });
  }

  /** DATA or RST_STREAM. */
  takeFrame(frame: Frame): void {
    this.#receive(frame.streamId, { frames: [frame] });
  }

  /** Calls above the last stream were not worked on: the kubelet makes them again on its next connection. */
  takeGoaway(frame: Frame): void {
    this.context.toKubelet.pass(frame);
    const lastStreamId = readUInt31(frame, 0);
    for (const stream of [...this.context.streams.values()]) {
      if (stream.id <= lastStreamId) continue;
      stream.call?.endUnworked();
      this.context.closeStream(stream);
    }
  }

  /** Shows messages that were written in this turn to those who read behind the write. */
  readPassed(): void {
    if (this.#toRead.length === 0) return;
    for (const call of this.#toRead.splice(0)) call.readPassed();
  }

  /** The runtime will not answer this call any more; `error` does, once the hooks are through with what came before. */
  failWith(stream: ProxiedStream, error: ProxyError): void {
    this.#take(stream, { error });
  }

  /** The call is over: what waits for a hook goes nowhere. */
  forget(stream: ProxiedStream): void {
    for (const part of this.#countOff(stream.response.takeDeferred())) this.#discard(part);
  }

  #receive(streamId: number, part: ResponsePart): void {
    const stream = this.context.streams.get(streamId);
    if (stream === undefined) this.#discard(part);
    else this.#take(stream, part);
  }

  #take(stream: ProxiedStream, part: ResponsePart): void {
    if (stream.response.isDeferring) {
      this.#defer(stream, part);
      return;
    }
    const hook = this.#observe(stream, part);
    if (hook === undefined) {
      this.#deliver(stream, part);
      return;
    }
    this.#defer(stream, part);
    hook.then(() => this.#resume(stream)).catch(this.context.failRuntime);
  }

  /** The hook has seen the first deferred part: it passes, and the others are taken as if they came now. */
  #resume(stream: ProxiedStream): void {
    this.#countOff(stream.response.resume()).forEach((part, position) => {
      if (!this.context.streams.has(stream.id)) this.#discard(part);
      else if (position === 0) this.#deliver(stream, part);
      else this.#take(stream, part);
    });
    this.context.endTurn();
  }

  /** Drops a part for a call that is over for the kubelet. */
  #discard(part: ResponsePart): void {
    if ('error' in part) return;
    const [frame] = part.frames;
    if (frame.type === FrameType.data) this.#creditRuntime(payloadLength(frame));
    if (frame.type === FrameType.rstStream) this.context.toKubelet.pass(frame);
  }

  #defer(stream: ProxiedStream, part: ResponsePart): void {
    stream.response.defer(part);
    this.#deferredBytes += countBytes(part);
  }

  #countOff(parts: readonly ResponsePart[]): readonly ResponsePart[] {
    for (const part of parts) this.#deferredBytes -= countBytes(part);
    return parts;
  }

  /** Shows a part to the call's hooks. A promise when one of them has to be waited for. */
  #observe({ call }: ProxiedStream, part: ResponsePart): Promise<void> | undefined {
    if (call === undefined || 'error' in part) return undefined;
    const [frame] = part.frames;
    if (frame.type === FrameType.rstStream) return call.endWithReset(readUInt31(frame, 0));
    const isLast = hasFlag(frame, Flag.endStream);
    if (frame.type === FrameType.headers) {
      // A decoder of its own for each block: the runtime must not refer to earlier ones.
      const fields = new HpackDecoder().decode(readBlock(part.frames));
      if (isLast) return call.endWithTrailers(fields);
      call.takeAnswerHeaders(fields);
      return undefined;
    }
    const hook = call.takeAnswerData(readContent(frame));
    if (call.hasPassed) this.#toRead.push(call);
    if (!isLast) return hook;
    return hook === undefined ? call.endWithTrailers([]) : hook.then(() => call.endWithTrailers([]));
  }

  #deliver(stream: ProxiedStream, part: ResponsePart): void {
    if ('error' in part) {
      this.#answer(stream, part.error);
      return;
    }
    const [first] = part.frames;
    stream.response.notePassed(first);
    for (const frame of part.frames) this.context.toKubelet.pass(frame);
    if (first.type === FrameType.rstStream || hasFlag(first, Flag.endStream)) this.context.closeStream(stream);
  }

  #answer(stream: ProxiedStream, error: ProxyError): void {
    if (stream.response.isAtBoundary) stream.endWithError(this.context.toKubelet, error);
    else {
      this.context.truncate();
      stream.call?.endByProxy(error);
    }
    this.context.closeStream(stream);
  }

  #creditRuntime(bytes: number): void {
    if (bytes > 0) this.context.toRuntime.send(formatWindowUpdate(0, bytes));
  }
}

function countBytes(part: ResponsePart): number {
  return 'error' in part ? 0 : part.frames.reduce((sum, frame) => sum + frame.end - frame.start, 0);
}
