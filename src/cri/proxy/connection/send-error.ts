import { encodeErrorAnswer, encodeErrorTrailers } from '../grpc/error-headers';
import { ErrorCode, Flag, formatFrame, formatRstStream, FrameType } from '../http2/frame';
import { toDetailedStatus, type OwnError } from '../proxy-errors';
import type { Link } from './connection-context';
import type { Stream } from './proxied-stream';

/** Ends a call towards the kubelet with an error of ours: as the whole answer, or behind what was answered so far. */
export function sendError({ toKubelet }: Link, stream: Stream, error: OwnError): void {
  const block = (stream.hasAnswerBegun ? encodeErrorTrailers : encodeErrorAnswer)(toDetailedStatus(error));
  toKubelet.send(formatFrame(FrameType.headers, Flag.endHeaders | Flag.endStream, stream.id, block));
  // The rest of the request is not wanted (RFC 9113 §8.1).
  if (!stream.hasRequestEnded) toKubelet.send(formatRstStream(stream.id, ErrorCode.none));
}
