import type { OwnError } from '../proxy-errors';
import type { MessageBoundary } from '../grpc/message-boundary';
import { HeaderBlockReader, readBlock } from '../http2/header-block-reader';
import {
  Flag,
  formatWindowUpdate,
  FRAME_HEAD_BYTES,
  FrameType,
  hasFlag,
  payloadLength,
  readContent,
  readUInt31,
  type Frame,
} from '../http2/frame';
import { HpackDecoder } from '../http2/hpack-decoder';
import type { InterceptedCall } from './intercepted-call';
import type { Link } from './connection-context';
import type { RequestPath } from './request-path';
import { sendError } from './send-error';
import type { Arrival, Stream } from './proxied-stream';

/**
 * Answers on their way from the runtime to the kubelet. Nothing is changed; what a hook has to see first waits for it, and
 * behind it the rest of its stream.
 */
export class ResponsePath {
  readonly #headers = new HeaderBlockReader();
  /** Calls with messages that are read when they have been passed on. */
  #toRead: InterceptedCall[] = [];
  #pendingBytes = 0;

  constructor(
    readonly link: Link,
    readonly requests: RequestPath,
  ) {}

  get isInsideHeaderBlock(): boolean {
    return this.#headers.isOpen;
  }

  /** What waits for hooks, in bytes. */
  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  takeHeaders(frame: Frame): void {
    const frames = this.#headers.take(frame);
    // A block for a call that is over goes nowhere. No HPACK state is lost with it: see limitSettingsTowardsRuntime.
    if (frames !== undefined) this.#arrive(frame.streamId, { frames });
  }

  takeData(frame: Frame): void {
    this.#arrive(frame.streamId, { frames: [frame] });
  }

  takeReset(frame: Frame): void {
    this.#arrive(frame.streamId, { frames: [frame] });
  }

  /** Shows messages that were written in this turn to those who read behind the write. */
  readPassed(): void {
    if (this.#toRead.length === 0) return;
    for (const call of this.#toRead.splice(0)) call.readPassed();
  }

  /** The runtime will not answer this call any more; `error` does, once the hooks are through with what came before. */
  lose(stream: Stream, error: OwnError): void {
    this.#take(stream, { lost: error });
  }

  /** The kubelet gave the call up: what waits for it goes nowhere. */
  drop(stream: Stream): void {
    for (const arrival of this.#takePending(stream)) this.#discard(arrival);
  }

  #arrive(streamId: number, arrival: Arrival): void {
    const stream = this.link.streams.get(streamId);
    if (stream === undefined) this.#discard(arrival);
    else this.#take(stream, arrival);
  }

  #take(stream: Stream, arrival: Arrival): void {
    if (stream.isHookBusy) {
      this.#pend(stream, arrival);
      return;
    }
    const hook = this.#observe(stream, arrival);
    if (hook === undefined) {
      this.#deliver(stream, arrival);
      return;
    }
    stream.isHookBusy = true;
    this.#pend(stream, arrival);
    hook.then(() => this.#resume(stream)).catch(this.link.fail);
  }

  /** The hook has seen the first pending arrival: it passes, and the others are taken as if they came now. */
  #resume(stream: Stream): void {
    stream.isHookBusy = false;
    const arrivals = this.#takePending(stream);
    arrivals.forEach((arrival, position) => {
      if (!this.link.streams.has(stream.id)) this.#discard(arrival);
      else if (position === 0) this.#deliver(stream, arrival);
      else this.#take(stream, arrival);
    });
    this.link.endTurn();
  }

  /** Something for a call that is over for the kubelet. */
  #discard(arrival: Arrival): void {
    if ('lost' in arrival) return;
    const [frame] = arrival.frames;
    if (frame.type === FrameType.data) this.#creditRuntime(payloadLength(frame));
    if (frame.type === FrameType.rstStream) this.link.toKubelet.pass(frame);
  }

  #pend(stream: Stream, arrival: Arrival): void {
    stream.pending.push(arrival);
    this.#pendingBytes += countBytes(arrival);
  }

  #takePending(stream: Stream): readonly Arrival[] {
    const arrivals = stream.pending;
    stream.pending = [];
    for (const arrival of arrivals) this.#pendingBytes -= countBytes(arrival);
    return arrivals;
  }

  /** Shows an arrival to the call's hooks. A promise when one of them has to be waited for. */
  #observe({ call }: Stream, arrival: Arrival): Promise<void> | undefined {
    if (call === undefined || 'lost' in arrival) return undefined;
    const [frame] = arrival.frames;
    if (frame.type === FrameType.rstStream) return call.endWithReset(readUInt31(frame, 0));
    const isLast = hasFlag(frame, Flag.endStream);
    if (frame.type === FrameType.headers) {
      // A decoder of its own for each block: the runtime was told not to refer to earlier ones.
      const fields = new HpackDecoder().decode(readBlock(arrival.frames));
      if (isLast) return call.endWithTrailers(fields);
      call.takeAnswerHeaders(fields);
      return undefined;
    }
    const hook = call.takeAnswerData(readContent(frame));
    if (call.hasPassed) this.#toRead.push(call);
    if (!isLast) return hook;
    return hook === undefined ? call.endWithTrailers([]) : hook.then(() => call.endWithTrailers([]));
  }

  #deliver(stream: Stream, arrival: Arrival): void {
    if ('lost' in arrival) {
      this.#answerLost(stream, arrival.lost);
      return;
    }
    const [frame] = arrival.frames;
    if (frame.type === FrameType.data) advanceOver(frame, stream.answerBoundary);
    else stream.hasAnswerBegun = true;
    for (const part of arrival.frames) this.link.toKubelet.pass(part);
    if (frame.type === FrameType.rstStream || hasFlag(frame, Flag.endStream)) this.#finish(stream);
  }

  #answerLost(stream: Stream, error: OwnError): void {
    if (stream.answerBoundary.isAtBoundary) sendError(this.link, stream, error);
    else this.link.cutOff();
    stream.call?.end({ origin: 'proxy', status: { code: error.code, message: error.message } });
    this.#finish(stream);
  }

  #finish(stream: Stream): void {
    this.requests.end(stream);
    this.link.onStreamEnd();
  }

  #creditRuntime(bytes: number): void {
    if (bytes > 0) this.link.toRuntime.send(formatWindowUpdate(0, bytes));
  }
}

function countBytes(arrival: Arrival): number {
  return 'lost' in arrival ? 0 : arrival.frames.reduce((sum, frame) => sum + frame.end - frame.start, 0);
}

function advanceOver(data: Frame, boundary: MessageBoundary): void {
  if (hasFlag(data, Flag.padded)) boundary.advance(readContent(data));
  else boundary.advance(data.buffer, data.start + FRAME_HEAD_BYTES, data.end);
}
