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

/** Memory of an open call, about: one that passes unseen, and one that is looked at. */
const OPEN_BYTES = 512;
const OPEN_SEEN_BYTES = 2_048;

/**
 * Calls on their way from the kubelet to the runtime.
 *
 * Header blocks always pass, in order and unchanged: the runtime's HPACK table lives from them. The DATA of a request that is to
 * be decided upon is held meanwhile; a call that is refused ends with RST_STREAM before the runtime has a message of it.
 */
export class RequestPath {
  readonly #headers = new HeaderBlockReader();
  readonly #decoder = new HpackDecoder();
  /** Streams that got DATA in this turn and hold it. */
  readonly #holding = new Set<ProxiedStream>();
  #lastStreamId = 0;
  #finalStreamId = Infinity;

  readonly sender: RequestSender;

  constructor(readonly context: ConnectionContext) {
    this.sender = new RequestSender(context);
  }

  get lastStreamId(): number {
    return this.#lastStreamId;
  }

  get isInsideHeaderBlock(): boolean {
    return this.#headers.isOpen;
  }

  /** The runtime lets the kubelet use a header table of `bytes`. */
  allowTableBytes(bytes: number): void {
    this.#decoder.allowTableBytes(bytes);
  }

  /** The kubelet knows by GOAWAY that no stream above the present last one is worked on. */
  acceptNoMore(): void {
    this.#finalStreamId = this.#lastStreamId;
  }

  takeHeaders(frame: Frame): void {
    const block = this.#headers.take(frame);
    if (block === undefined) return;
    for (const part of block) this.context.toRuntime.pass(part);
    const fields = this.#decoder.decode(readBlock(block));
    const id = frame.streamId;
    const endsRequest = hasFlag(block[0], Flag.endStream);
    const known = this.context.streams.get(id);
    if (known !== undefined) this.#takeTrailers(known, endsRequest);
    else if (id > this.#lastStreamId) this.#openStream(id, findHeader(fields, ':path') ?? '', fields, endsRequest);
  }

  #openStream(id: number, path: string, fields: readonly HeaderField[], endsRequest: boolean): void {
    if (id % 2 === 0) throw new ConnectionError(ErrorCode.protocol, 'a stream of the client has an even number');
    this.#lastStreamId = id;
    const { streams, options } = this.context;
    if (id > this.#finalStreamId) {
      // The block had to pass for HPACK's sake; the client knows by GOAWAY that this stream is not worked on, and tries elsewhere.
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
      this.#refuse(stream, tooManyCalls);
    else if (endsRequest && request.isHeld) this.#refuse(stream, requestIsNotOneMessage);
  }

  /** gRPC requests have no trailers. Those of a call that passes unseen pass; otherwise the request counts as broken. */
  #takeTrailers(stream: ProxiedStream, endsRequest: boolean): void {
    const { request } = stream;
    request.hasEnded ||= endsRequest;
    if (request.isHeld || request.isQueued) this.#refuse(stream, requestIsNotOneMessage);
  }

  takeData(frame: Frame): void {
    const { streams, flow, toRuntime } = this.context;
    const stream = streams.get(frame.streamId);
    const flowBytes = payloadLength(frame);
    if (flowBytes > flow.kubeletBytes)
      throw new ConnectionError(ErrorCode.flowControl, 'DATA beyond the window of the connection');
    if (stream === undefined) {
      // The call is over; the runtime has no use for the rest of its request.
      flow.hold(flowBytes);
      return;
    }
    const { request } = stream;
    if (hasFlag(frame, Flag.endStream)) request.hasEnded = true;
    if (request.isHeld) {
      this.#hold(stream, frame, flowBytes);
    } else if (request.isQueued || flowBytes > flow.availableBytes) {
      this.#queue(stream, frame, flowBytes);
    } else {
      flow.forward(flowBytes);
      toRuntime.pass(frame);
    }
  }

  /** The kubelet gives a call up, whether the runtime is there or not. */
  takeReset(frame: Frame): void {
    this.context.toRuntime.pass(frame);
    const stream = this.context.streams.get(frame.streamId);
    if (stream === undefined) return;
    stream.call?.endByCaller();
    this.context.closeStream(stream);
  }

  /** The call is over: forgets what is still held of its request. */
  forget(stream: ProxiedStream): void {
    this.#holding.delete(stream);
    this.sender.forget(stream);
    stream.request.release();
  }

  /** The last thing of each turn: what the kubelet may send must not depend on what we keep of what it has sent. */
  creditKubelet(): void {
    for (const stream of this.#holding) {
      const bytes = stream.request.takeUncredited();
      if (bytes > 0) this.context.toKubelet.send(formatWindowUpdate(stream.id, bytes));
    }
    this.#holding.clear();
    const bytes = this.context.flow.takeDeficit();
    if (bytes > 0) this.context.toKubelet.send(formatWindowUpdate(0, bytes));
  }

  #hold(stream: ProxiedStream, frame: Frame, flowBytes: number): void {
    this.context.flow.hold(flowBytes);
    const error = stream.request.hold(frame);
    if (error !== undefined) {
      this.#refuse(stream, error);
      return;
    }
    this.#holding.add(stream);
    if (stream.request.hasEnded) this.#decide(stream);
  }

  #decide(stream: ProxiedStream): void {
    const { request } = stream;
    const { message } = request;
    if (message === undefined) {
      this.#refuse(stream, requestIsNotOneMessage);
      return;
    }
    if (!request.tryDecide(message.bytes.length)) {
      this.#refuse(stream, tooManyCalls);
      return;
    }
    const apply = (verdict: RequestVerdict): void => {
      request.endDecision();
      if (!request.isHeld) return;
      if ('refuse' in verdict) this.#refuse(stream, verdict.refuse);
      else this.#forward(stream, verdict, message.isCompressed && verdict === message.bytes);
    };
    const verdict = stream.call!.decide(message);
    if (!(verdict instanceof Promise)) {
      apply(verdict);
      return;
    }
    verdict
      .then(apply)
      .catch((err: unknown) => this.#endByFault(stream, err))
      .then(() => this.context.endTurn())
      .catch(this.context.failRuntime);
  }

  /** A fault of ours ends its call, and no other. Thrown again when the runtime may have a part of the request. */
  #endByFault(stream: ProxiedStream, err: unknown): void {
    stream.request.endDecision();
    if (!stream.request.isHeld) throw err;
    this.context.options.reportFault({ what: 'passing a request on failed', path: stream.call!.context.path, err });
    this.#refuse(stream, decisionFailed);
  }

  #forward(stream: ProxiedStream, message: Uint8Array, isCompressed: boolean): void {
    stream.request.replace(message, isCompressed);
    stream.call!.noteForwarded();
    this.#holding.delete(stream);
    this.sender.send(stream);
  }

  /** Answers the call with an error of ours. The runtime sees it as cancelled before a message came. */
  #refuse(stream: ProxiedStream, error: ProxyError): void {
    this.context.toRuntime.send(formatRstStream(stream.id, ErrorCode.cancel));
    stream.endWithError(this.context.toKubelet, error);
    this.context.closeStream(stream);
  }

  #queue(stream: ProxiedStream, frame: Frame, flowBytes: number): void {
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
