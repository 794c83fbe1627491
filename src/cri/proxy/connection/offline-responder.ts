import { readPing, settingsAck } from './control-frames';
import { encodeErrorAnswer } from '../grpc/error-headers';
import {
  ErrorCode,
  Flag,
  formatFrame,
  formatPing,
  formatRstStream,
  formatWindowUpdate,
  FrameType,
  hasFlag,
  payloadLength,
  type Frame,
} from '../http2/frame';
import type { FrameWriter } from '../http2/frame-writer';
import { runtimeUnavailable, toDetailedStatus } from '../proxy-errors';

/**
 * Serves a connection while the runtime is away: every call is answered UNAVAILABLE at once, the connection stays.
 * Nothing of it is ever forwarded again, because its HPACK table is not kept up to date, so the only state is the last
 * stream.
 */
export class OfflineResponder {
  constructor(
    readonly toKubelet: FrameWriter,
    public lastStreamId: number,
  ) {}

  take(frame: Frame): void {
    const { toKubelet } = this;
    switch (frame.type) {
      case FrameType.headers:
      case FrameType.continuation: // of a block that the runtime's end interrupted; otherwise its stream is answered already
        this.answer(frame);
        return;
      case FrameType.data:
        if (payloadLength(frame) > 0) toKubelet.send(formatWindowUpdate(0, payloadLength(frame)));
        return;
      case FrameType.settings:
        if (!hasFlag(frame, Flag.ack)) toKubelet.send(settingsAck());
        return;
      case FrameType.ping:
        if (!hasFlag(frame, Flag.ack)) toKubelet.send(formatPing(readPing(frame), true));
        return;
      default:
        return;
    }
  }

  private answer(frame: Frame): void {
    const { streamId } = frame;
    if (streamId <= this.lastStreamId) return;
    this.lastStreamId = streamId;
    const block = encodeErrorAnswer(toDetailedStatus(runtimeUnavailable));
    this.toKubelet.send(formatFrame(FrameType.headers, Flag.endHeaders | Flag.endStream, streamId, block));
    if (frame.type !== FrameType.headers || !hasFlag(frame, Flag.endStream))
      this.toKubelet.send(formatRstStream(streamId, ErrorCode.none));
  }
}
