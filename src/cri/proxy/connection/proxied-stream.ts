import { encodeErrorAnswer, encodeErrorTrailers } from '../grpc/error-headers';
import { ErrorCode, Flag, formatFrame, formatRstStream, FrameType } from '../http2/frame';
import type { FrameWriter } from '../http2/frame-writer';
import { toDetailedStatus, type ProxyError } from '../proxy-errors';
import type { InterceptedCall } from './intercepted-call';
import { RequestHalf, type RequestLimits } from './request-half';
import { ResponseHalf } from './response-half';

/** One HTTP/2 stream that both peers hold open: a call. */
export class ProxiedStream {
  readonly request: RequestHalf;
  readonly response = new ResponseHalf();

  constructor(
    readonly id: number,
    /** The method streams without an end. */
    readonly isEndless: boolean,
    readonly call: InterceptedCall | undefined,
    limits: RequestLimits,
  ) {
    this.request = new RequestHalf(call?.interceptor.onRequest !== undefined, limits);
  }

  /** Ends the call towards the kubelet with an error of ours: as the whole answer, or behind the answer so far. */
  endWithError(toKubelet: FrameWriter, error: ProxyError): void {
    const encode = this.response.hasBegun ? encodeErrorTrailers : encodeErrorAnswer;
    const block = encode(toDetailedStatus(error));
    toKubelet.send(formatFrame(FrameType.headers, Flag.endHeaders | Flag.endStream, this.id, block));
    // The rest of the request is not wanted (RFC 9113 §8.1).
    if (!this.request.hasEnded) toKubelet.send(formatRstStream(this.id, ErrorCode.none));
    this.call?.endByProxy(error);
  }
}
