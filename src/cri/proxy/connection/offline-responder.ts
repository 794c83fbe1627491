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
 * Plays the server while the runtime is away: every call is answered UNAVAILABLE at once, the connection stays.
 * Nothing of this kubelet connection is ever forwarded again (its HPACK table is not followed any more), so it needs no state
 * but the last stream.
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
        this.#answer(frame);
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

  #answer(frame: Frame): void {
    const { streamId } = frame;
    if (streamId <= this.lastStreamId) return;
    this.lastStreamId = streamId;
    const block = encodeErrorAnswer(toDetailedStatus(runtimeUnavailable));
    this.toKubelet.send(formatFrame(FrameType.headers, Flag.endHeaders | Flag.endStream, streamId, block));
    if (frame.type !== FrameType.headers || !hasFlag(frame, Flag.endStream))
      this.toKubelet.send(formatRstStream(streamId, ErrorCode.none));
  }
}
