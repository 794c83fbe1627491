import { formatMessagePrefix } from '../grpc/message';
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
import type { Link } from './connection-context';
import {
  decisionFailed,
  requestIsNotOneMessage,
  requestIsTooLong,
  tooManyCalls,
  tooMuchHeld,
  type OwnError,
} from '../proxy-errors';
import { RequestSender } from './request-sender';
import { sendError } from './send-error';
import { Stream } from './proxied-stream';

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
  readonly #holding = new Set<Stream>();
  #lastStreamId = 0;
  #finalStreamId = Infinity;

  readonly sender: RequestSender;

  constructor(readonly link: Link) {
    this.sender = new RequestSender(link);
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

  /** The kubelet was told that nothing above the present last stream is worked on. */
  acceptNoMore(): void {
    this.#finalStreamId = this.#lastStreamId;
  }

  takeHeaders(frame: Frame): void {
    const block = this.#headers.take(frame);
    if (block === undefined) return;
    for (const part of block) this.link.toRuntime.pass(part);
    const fields = this.#decoder.decode(readBlock(block));
    const id = frame.streamId;
    const endsRequest = hasFlag(block[0], Flag.endStream);
    const known = this.link.streams.get(id);
    if (known !== undefined) this.#takeTrailers(known, endsRequest);
    else if (id > this.#lastStreamId) this.#openStream(id, findHeader(fields, ':path') ?? '', fields, endsRequest);
  }

  #openStream(id: number, path: string, fields: readonly HeaderField[], endsRequest: boolean): void {
    if (id % 2 === 0) throw new ConnectionError(ErrorCode.protocol, 'a stream of the client has an even number');
    this.#lastStreamId = id;
    const { streams, options } = this.link;
    if (id > this.#finalStreamId) {
      // The block had to pass for HPACK's sake; the client was told that this stream is not worked on, and tries elsewhere.
      this.link.toRuntime.send(formatRstStream(id, ErrorCode.cancel));
      return;
    }
    if (streams.size >= 2 * MAX_CONCURRENT_STREAMS)
      throw new ConnectionError(ErrorCode.enhanceYourCalm, 'too many streams');
    const interceptor = options.interceptors.get(path);
    const call = interceptor === undefined ? undefined : new InterceptedCall(interceptor, path, fields, options);
    const stream = new Stream(id, options.endlessPaths.has(path), call, options.maxMessageBytes);
    stream.hasRequestEnded = endsRequest;
    streams.set(id, stream);
    if (call !== undefined && stream.hold === undefined) call.wasForwarded = true;
    if (!this.#tryOpen(stream, call === undefined ? OPEN_BYTES : OPEN_SEEN_BYTES + countBytes(fields)))
      this.#refuse(stream, tooManyCalls);
    else if (endsRequest && stream.hold !== undefined) this.#refuse(stream, requestIsNotOneMessage);
  }

  /** gRPC requests have no trailers. Those of a call that passes unseen pass; otherwise the request counts as broken. */
  #takeTrailers(stream: Stream, endsRequest: boolean): void {
    stream.hasRequestEnded ||= endsRequest;
    if (stream.hold !== undefined || stream.outbox !== undefined) this.#refuse(stream, requestIsNotOneMessage);
  }

  takeData(frame: Frame): void {
    const { streams, window, toRuntime } = this.link;
    const stream = streams.get(frame.streamId);
    const flowBytes = payloadLength(frame);
    if (flowBytes > window.kubeletBytes)
      throw new ConnectionError(ErrorCode.flowControl, 'DATA beyond the window of the connection');
    if (stream === undefined) {
      // The call is over; the runtime has no use for the rest of its request.
      window.keep(flowBytes);
      return;
    }
    if (hasFlag(frame, Flag.endStream)) stream.hasRequestEnded = true;
    if (stream.hold !== undefined) {
      this.#hold(stream, frame, flowBytes);
    } else if (stream.outbox !== undefined || flowBytes > window.availableBytes) {
      this.#queue(stream, frame, flowBytes);
    } else {
      window.pass(flowBytes);
      toRuntime.pass(frame);
    }
  }

  /** The kubelet gives a call up. */
  takeReset(frame: Frame): void {
    this.link.toRuntime.pass(frame);
    const stream = this.link.streams.get(frame.streamId);
    if (stream === undefined) return;
    this.end(stream);
    stream.call?.endByCaller();
    this.link.onStreamEnd();
  }

  /** Forgets the stream and what is still held of its request. */
  end(stream: Stream): void {
    this.link.streams.delete(stream.id);
    this.#holding.delete(stream);
    stream.hold = undefined;
    if (!stream.isDeciding) this.#giveOpen(stream);
    this.sender.forget(stream);
  }

  /** The last thing of each turn: what the kubelet may send must not depend on what we keep of what it has sent. */
  creditKubelet(): void {
    for (const stream of this.#holding) {
      const hold = stream.hold!;
      if (hold.uncreditedBytes > 0) this.link.toKubelet.send(formatWindowUpdate(stream.id, hold.uncreditedBytes));
      hold.uncreditedBytes = 0;
    }
    this.#holding.clear();
    const bytes = this.link.window.takeShortfall();
    if (bytes > 0) this.link.toKubelet.send(formatWindowUpdate(0, bytes));
  }

  #hold(stream: Stream, frame: Frame, flowBytes: number): void {
    const hold = stream.hold!;
    this.link.window.keep(flowBytes);
    if (!stream.hasRequestEnded) hold.uncreditedBytes += flowBytes;
    if (!this.link.options.held.tryTake(flowBytes)) {
      this.#refuse(stream, tooMuchHeld);
      return;
    }
    stream.heldBytes += flowBytes;
    hold.messages.push(...hold.assembler.push(readAlone(frame)));
    this.#holding.add(stream);
    if (hold.tooLongBytes > 0)
      this.#refuse(stream, requestIsTooLong(hold.tooLongBytes, this.link.options.maxMessageBytes));
    else if (hold.messages.length > 1) this.#refuse(stream, requestIsNotOneMessage);
    else if (stream.hasRequestEnded) this.#decide(stream);
  }

  #decide(stream: Stream): void {
    const hold = stream.hold!;
    const message = hold.messages[0];
    if (message === undefined || !hold.assembler.isAtBoundary) {
      this.#refuse(stream, requestIsNotOneMessage);
      return;
    }
    const apply = (verdict: RequestVerdict): void => {
      stream.isDeciding = false;
      if (!this.link.streams.has(stream.id)) this.#giveOpen(stream);
      if (stream.hold === undefined) return;
      if ('refuse' in verdict) this.#refuse(stream, verdict.refuse);
      else this.#forward(stream, verdict, message.isCompressed && verdict === message.bytes);
    };
    // A hook may go on after its call is over: what it looks at counts until then.
    if (!this.#tryOpen(stream, message.bytes.length)) {
      this.#refuse(stream, tooManyCalls);
      return;
    }
    stream.isDeciding = true;
    const verdict = stream.call!.decide(message);
    if (!(verdict instanceof Promise)) {
      apply(verdict);
      return;
    }
    verdict
      .then(apply)
      .catch((err: unknown) => this.#endByFault(stream, err))
      .then(() => this.link.endTurn())
      .catch(this.link.fail);
  }

  /** A fault of ours ends its call, and no other. Of one that the runtime has a part of already nobody knows: thrown again. */
  #endByFault(stream: Stream, err: unknown): void {
    stream.isDeciding = false;
    if (stream.hold === undefined) throw err;
    this.link.options.reportFault({ what: 'passing a request on failed', path: stream.call!.context.path, err });
    this.#refuse(stream, decisionFailed);
  }

  #tryOpen(stream: Stream, bytes: number): boolean {
    if (!this.link.options.open.tryTake(bytes)) return false;
    stream.openBytes += bytes;
    return true;
  }

  #giveOpen(stream: Stream): void {
    this.link.options.open.give(stream.openBytes);
    stream.openBytes = 0;
  }

  #forward(stream: Stream, message: Uint8Array, isCompressed: boolean): void {
    const prefix = formatMessagePrefix(message.length);
    if (isCompressed) prefix[0] = 1;
    stream.hold = undefined;
    stream.call!.wasForwarded = true;
    const bytes = Buffer.from(message.buffer, message.byteOffset, message.byteLength);
    this.#holding.delete(stream);
    this.sender.send(stream, [prefix, bytes], true);
  }

  /** Answers the call with an error of ours. The runtime sees it as cancelled before a message came. */
  #refuse(stream: Stream, error: OwnError): void {
    this.link.toRuntime.send(formatRstStream(stream.id, ErrorCode.cancel));
    this.end(stream);
    sendError(this.link, stream, error);
    stream.call?.end({ origin: 'proxy', status: { code: error.code, message: error.message } });
    this.link.onStreamEnd();
  }

  #queue(stream: Stream, frame: Frame, flowBytes: number): void {
    const content = readContent(frame);
    this.link.window.keep(flowBytes);
    // The padding does not reach the runtime, so it never credits it.
    const padding = flowBytes - content.length;
    if (padding > 0) this.link.toKubelet.send(formatWindowUpdate(stream.id, padding));
    this.sender.send(stream, [content], stream.hasRequestEnded);
  }
}

function countBytes(fields: readonly HeaderField[]): number {
  return fields.reduce((sum, field) => sum + entryBytes(field), 0);
}

/** The content of a DATA frame that will be held: copied when it would keep a much larger chunk in memory. */
function readAlone(frame: Frame): Buffer {
  const content = readContent(frame);
  return content.length * 2 < frame.buffer.length ? Buffer.from(content) : content;
}
