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
 * Forwards answers from the runtime to the kubelet, unchanged. A part that a hook has to see first waits for it, and so
 * does the rest of its stream.
 */
export class ResponsePath {
  private readonly headers = new HeaderBlockReader();
  /** Calls with messages for `onPassed`, which reads them after they were forwarded. */
  private toRead: InterceptedCall[] = [];
  private waitingBytes = 0;

  constructor(readonly context: ConnectionContext) {}

  get isInsideHeaderBlock(): boolean {
    return this.headers.isOpen;
  }

  /** Bytes of answers that wait for hooks. */
  get deferredBytes(): number {
    return this.waitingBytes;
  }

  takeHeaders(frame: Frame): void {
    const frames = this.headers.take(frame);
    // A block for a call that is over is dropped. No HPACK state is lost with it: see limitSettingsTowardsRuntime.
    if (frames !== undefined) this.receive(frame.streamId, { frames });
  }

  /** Takes DATA or RST_STREAM. */
  takeFrame(frame: Frame): void {
    this.receive(frame.streamId, { frames: [frame] });
  }

  /** Ends the calls above the last stream, which the kubelet makes again on its next connection. */
  takeGoaway(frame: Frame): void {
    this.context.toKubelet.pass(frame);
    const lastStreamId = readUInt31(frame, 0);
    for (const stream of [...this.context.streams.values()]) {
      if (stream.id <= lastStreamId) continue;
      stream.call?.endUnworked();
      this.context.closeStream(stream);
    }
  }

  /** Runs `onPassed` for the messages that were written in this turn. */
  readPassed(): void {
    if (this.toRead.length === 0) return;
    for (const call of this.toRead.splice(0)) call.readPassed();
  }

  /** Ends a call that the runtime will not answer with `error`, after the hooks have seen the parts before. */
  failWith(stream: ProxiedStream, error: ProxyError): void {
    this.take(stream, { error });
  }

  /** Drops the parts of a call that is over. */
  forget(stream: ProxiedStream): void {
    for (const part of this.countOff(stream.response.takeDeferred())) this.discard(part);
  }

  private receive(streamId: number, part: ResponsePart): void {
    const stream = this.context.streams.get(streamId);
    if (stream === undefined) this.discard(part);
    else this.take(stream, part);
  }

  private take(stream: ProxiedStream, part: ResponsePart): void {
    if (stream.response.isDeferring) {
      this.defer(stream, part);
      return;
    }
    const hook = this.observe(stream, part);
    if (hook === undefined) {
      this.deliver(stream, part);
      return;
    }
    this.defer(stream, part);
    hook.then(() => this.resume(stream)).catch(this.context.failRuntime);
  }

  /** Forwards the first deferred part, which the hook has seen, and takes the others as if they came now. */
  private resume(stream: ProxiedStream): void {
    this.countOff(stream.response.resume()).forEach((part, position) => {
      if (!this.context.streams.has(stream.id)) this.discard(part);
      else if (position === 0) this.deliver(stream, part);
      else this.take(stream, part);
    });
    this.context.endTurn();
  }

  /** Drops a part for a call that is over for the kubelet. */
  private discard(part: ResponsePart): void {
    if ('error' in part) return;
    const [frame] = part.frames;
    if (frame.type === FrameType.data) this.creditRuntime(payloadLength(frame));
    if (frame.type === FrameType.rstStream) this.context.toKubelet.pass(frame);
  }

  private defer(stream: ProxiedStream, part: ResponsePart): void {
    stream.response.defer(part);
    this.waitingBytes += countBytes(part);
  }

  private countOff(parts: readonly ResponsePart[]): readonly ResponsePart[] {
    for (const part of parts) this.waitingBytes -= countBytes(part);
    return parts;
  }

  /** Runs the call's hooks on a part. A promise when a hook returned one. */
  private observe({ call }: ProxiedStream, part: ResponsePart): Promise<void> | undefined {
    if (call === undefined || 'error' in part) return undefined;
    const [frame] = part.frames;
    if (frame.type === FrameType.rstStream) return call.endWithReset(readUInt31(frame, 0));
    const isLast = hasFlag(frame, Flag.endStream);
    if (frame.type === FrameType.headers) {
      // Each block has its own decoder: the runtime must not refer to earlier ones.
      const fields = new HpackDecoder().decode(readBlock(part.frames));
      if (isLast) return call.endWithTrailers(fields);
      call.takeAnswerHeaders(fields);
      return undefined;
    }
    const hook = call.takeAnswerData(readContent(frame));
    if (call.hasPassed) this.toRead.push(call);
    if (!isLast) return hook;
    return hook === undefined ? call.endWithTrailers([]) : hook.then(() => call.endWithTrailers([]));
  }

  private deliver(stream: ProxiedStream, part: ResponsePart): void {
    if ('error' in part) {
      this.answer(stream, part.error);
      return;
    }
    const [first] = part.frames;
    stream.response.notePassed(first);
    for (const frame of part.frames) this.context.toKubelet.pass(frame);
    if (first.type === FrameType.rstStream || hasFlag(first, Flag.endStream)) this.context.closeStream(stream);
  }

  private answer(stream: ProxiedStream, error: ProxyError): void {
    if (stream.response.isAtBoundary) stream.endWithError(this.context.toKubelet, error);
    else {
      this.context.truncate();
      stream.call?.endByProxy(error);
    }
    this.context.closeStream(stream);
  }

  private creditRuntime(bytes: number): void {
    if (bytes > 0) this.context.toRuntime.send(formatWindowUpdate(0, bytes));
  }
}

function countBytes(part: ResponsePart): number {
  return 'error' in part ? 0 : part.frames.reduce((sum, frame) => sum + frame.end - frame.start, 0);
}
