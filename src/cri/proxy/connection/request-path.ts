import { findHeader } from '../grpc/status';
import { HeaderBlockReader, readBlock } from '../http2/header-block-reader';
import {
  ConnectionError,
  ErrorCode,
  Flag,
  formatRstStream,
  formatWindowUpdate,
  hasFlag,
  payloadLength,
  readContent,
  type Frame,
} from '../http2/frame';
import { entryBytes, HpackDecoder } from '../http2/hpack-decoder';
import type { HeaderField } from '../http2/hpack-static-table';
import { InterceptedCall } from './intercepted-call';
import { MAX_CONCURRENT_STREAMS } from './limit-settings';
import type { RequestVerdict } from '../interceptor';
import type { ConnectionContext } from './connection-context';
import { decisionFailed, requestIsNotOneMessage, tooManyCalls, type ProxyError } from '../proxy-errors';
import { RequestSender } from './request-sender';
import { ProxiedStream } from './proxied-stream';

/** Approximate memory of an open call that is not intercepted, and of one that is. */
const OPEN_BYTES = 512;
const OPEN_SEEN_BYTES = 2_048;

/**
 * Forwards calls from the kubelet to the runtime.
 *
 * Header blocks always pass, in order and unchanged, because the runtime's HPACK table depends on them. DATA of an
 * intercepted request is held until the decision; a refused call ends with RST_STREAM before the runtime has a message
 * of it.
 */
export class RequestPath {
  private readonly headers = new HeaderBlockReader();
  private readonly decoder = new HpackDecoder();
  /** Streams that hold DATA which came in this turn. */
  private readonly holding = new Set<ProxiedStream>();
  private highestStreamId = 0;
  private finalStreamId = Infinity;

  readonly sender: RequestSender;

  constructor(readonly context: ConnectionContext) {
    this.sender = new RequestSender(context);
  }

  get lastStreamId(): number {
    return this.highestStreamId;
  }

  get isInsideHeaderBlock(): boolean {
    return this.headers.isOpen;
  }

  /** The runtime's SETTINGS allow the kubelet a header table of `bytes`. */
  allowTableBytes(bytes: number): void {
    this.decoder.allowTableBytes(bytes);
  }

  /** Ignores later streams: GOAWAY has named the last one to the kubelet. */
  acceptNoMore(): void {
    this.finalStreamId = this.highestStreamId;
  }

  takeHeaders(frame: Frame): void {
    const block = this.headers.take(frame);
    if (block === undefined) return;
    for (const part of block) this.context.toRuntime.pass(part);
    const fields = this.decoder.decode(readBlock(block));
    const id = frame.streamId;
    const endsRequest = hasFlag(block[0], Flag.endStream);
    const known = this.context.streams.get(id);
    if (known !== undefined) this.takeTrailers(known, endsRequest);
    else if (id > this.highestStreamId) this.openStream(id, findHeader(fields, ':path') ?? '', fields, endsRequest);
  }

  private openStream(id: number, path: string, fields: readonly HeaderField[], endsRequest: boolean): void {
    if (id % 2 === 0) throw new ConnectionError(ErrorCode.protocol, 'a stream of the client has an even number');
    this.highestStreamId = id;
    const { streams, options } = this.context;
    if (id > this.finalStreamId) {
      // The block had to pass because of HPACK. GOAWAY shows the client that this stream is not worked on, and it tries
      // elsewhere.
      this.context.toRuntime.send(formatRstStream(id, ErrorCode.cancel));
      return;
    }
    if (streams.size >= 2 * MAX_CONCURRENT_STREAMS)
      throw new ConnectionError(ErrorCode.enhanceYourCalm, 'too many streams');
    const interceptor = options.interceptors.get(path);
    const call = interceptor === undefined ? undefined : new InterceptedCall(interceptor, path, fields, options);
    const stream = new ProxiedStream(id, options.endlessPaths.has(path), call, options);
    const { request } = stream;
    request.hasEnded = endsRequest;
    this.context.openStream(stream);
    if (!request.isHeld) call?.noteForwarded();
    if (!request.tryOpen(call === undefined ? OPEN_BYTES : OPEN_SEEN_BYTES + countBytes(fields)))
      this.refuse(stream, tooManyCalls);
    else if (endsRequest && request.isHeld) this.refuse(stream, requestIsNotOneMessage);
  }

  /** gRPC requests have no trailers. Those of a call that is not intercepted pass; an intercepted one is broken. */
  private takeTrailers(stream: ProxiedStream, endsRequest: boolean): void {
    const { request } = stream;
    request.hasEnded ||= endsRequest;
    if (request.isHeld || request.isQueued) this.refuse(stream, requestIsNotOneMessage);
  }

  takeData(frame: Frame): void {
    const { streams, flow, toRuntime } = this.context;
    const stream = streams.get(frame.streamId);
    const flowBytes = payloadLength(frame);
    if (flowBytes > flow.kubeletBytes)
      throw new ConnectionError(ErrorCode.flowControl, 'DATA beyond the window of the connection');
    if (stream === undefined) {
      // The call is over, so the rest of its request is dropped.
      flow.hold(flowBytes);
      return;
    }
    const { request } = stream;
    if (hasFlag(frame, Flag.endStream)) request.hasEnded = true;
    if (request.isHeld) {
      this.hold(stream, frame, flowBytes);
    } else if (request.isQueued || flowBytes > flow.availableBytes) {
      this.queue(stream, frame, flowBytes);
    } else {
      flow.forward(flowBytes);
      toRuntime.pass(frame);
    }
  }

  /** Takes the kubelet's RST_STREAM, also while the runtime is away. */
  takeReset(frame: Frame): void {
    this.context.toRuntime.pass(frame);
    const stream = this.context.streams.get(frame.streamId);
    if (stream === undefined) return;
    stream.call?.endByCaller();
    this.context.closeStream(stream);
  }

  /** Drops the held request of a call that is over. */
  forget(stream: ProxiedStream): void {
    this.holding.delete(stream);
    this.sender.forget(stream);
    stream.request.release();
  }

  /** Credits held DATA to the kubelet at the end of each turn: its window must not depend on what we hold. */
  creditKubelet(): void {
    for (const stream of this.holding) {
      const bytes = stream.request.takeUncredited();
      if (bytes > 0) this.context.toKubelet.send(formatWindowUpdate(stream.id, bytes));
    }
    this.holding.clear();
    const bytes = this.context.flow.takeDeficit();
    if (bytes > 0) this.context.toKubelet.send(formatWindowUpdate(0, bytes));
  }

  private hold(stream: ProxiedStream, frame: Frame, flowBytes: number): void {
    this.context.flow.hold(flowBytes);
    const error = stream.request.hold(frame);
    if (error !== undefined) {
      this.refuse(stream, error);
      return;
    }
    this.holding.add(stream);
    if (stream.request.hasEnded) this.decide(stream);
  }

  private decide(stream: ProxiedStream): void {
    const { request } = stream;
    const { message } = request;
    if (message === undefined) {
      this.refuse(stream, requestIsNotOneMessage);
      return;
    }
    if (!request.tryDecide(message.bytes.length)) {
      this.refuse(stream, tooManyCalls);
      return;
    }
    const apply = (verdict: RequestVerdict): void => {
      request.endDecision();
      if (!request.isHeld) return;
      if ('refuse' in verdict) this.refuse(stream, verdict.refuse);
      else this.forward(stream, verdict, message.isCompressed && verdict === message.bytes);
    };
    const verdict = stream.call!.decide(message);
    if (!(verdict instanceof Promise)) {
      apply(verdict);
      return;
    }
    verdict
      .then(apply)
      .catch((err: unknown) => this.endByFault(stream, err))
      .then(() => this.context.endTurn())
      .catch(this.context.failRuntime);
  }

  /**
   * Ends the call in which a fault of ours occurred. Throws it again when the runtime may have a part of the request.
   */
  private endByFault(stream: ProxiedStream, err: unknown): void {
    stream.request.endDecision();
    if (!stream.request.isHeld) throw err;
    this.context.options.reportFault({ what: 'passing a request on failed', path: stream.call!.context.path, err });
    this.refuse(stream, decisionFailed);
  }

  private forward(stream: ProxiedStream, message: Uint8Array, isCompressed: boolean): void {
    stream.request.replace(message, isCompressed);
    stream.call!.noteForwarded();
    this.holding.delete(stream);
    this.sender.send(stream);
  }

  /** Answers the call with an error of ours, and cancels it at the runtime, which has no message of it yet. */
  private refuse(stream: ProxiedStream, error: ProxyError): void {
    this.context.toRuntime.send(formatRstStream(stream.id, ErrorCode.cancel));
    stream.endWithError(this.context.toKubelet, error);
    this.context.closeStream(stream);
  }

  private queue(stream: ProxiedStream, frame: Frame, flowBytes: number): void {
    const content = readContent(frame);
    this.context.flow.hold(flowBytes);
    // The padding does not reach the runtime, so it never credits it.
    const padding = flowBytes - content.length;
    if (padding > 0) this.context.toKubelet.send(formatWindowUpdate(stream.id, padding));
    stream.request.queue([content], stream.request.hasEnded);
    this.sender.send(stream);
  }
}

function countBytes(fields: readonly HeaderField[]): number {
  return fields.reduce((sum, field) => sum + entryBytes(field), 0);
}
