import type { ControlFrames } from './control-frames';
import type { GracefulEnd } from './graceful-shutdown';
import { ConnectionError, ErrorCode, FrameType, readUInt31, type Frame } from '../http2/frame';
import type { Link } from './connection-context';
import type { RequestPath } from './request-path';
import type { ResponsePath } from './response-path';

/** Hands each frame to the part that knows its type. What nobody knows passes: its meaning is an affair of the two peers. */
export class FrameRouter {
  constructor(
    readonly link: Link,
    readonly requests: RequestPath,
    readonly responses: ResponsePath,
    readonly control: ControlFrames,
    readonly end: GracefulEnd,
  ) {}

  /** A frame of the kubelet. Throws ConnectionError when it breaks the protocol. */
  takeFromKubelet(frame: Frame): void {
    if (this.requests.isInsideHeaderBlock && frame.type !== FrameType.continuation) throw interrupted();
    switch (frame.type) {
      case FrameType.data:
        this.requests.takeData(frame);
        break;
      case FrameType.headers:
      case FrameType.continuation:
        this.requests.takeHeaders(frame);
        break;
      case FrameType.rstStream:
        this.takeKubeletReset(frame);
        break;
      case FrameType.settings:
        this.control.takeKubeletSettings(frame);
        break;
      case FrameType.ping:
        if (!this.end.takeAnswer(frame)) this.control.takeKubeletPing(frame);
        break;
      case FrameType.pushPromise:
        throw new ConnectionError(ErrorCode.protocol, 'a client pushes');
      default:
        this.link.toRuntime.pass(frame);
    }
  }

  /** A frame of the runtime. Throws ConnectionError when it breaks the protocol. */
  takeFromRuntime(frame: Frame): void {
    if (this.responses.isInsideHeaderBlock && frame.type !== FrameType.continuation) throw interrupted();
    switch (frame.type) {
      case FrameType.data:
        this.responses.takeData(frame);
        break;
      case FrameType.headers:
      case FrameType.continuation:
        this.responses.takeHeaders(frame);
        break;
      case FrameType.rstStream:
        this.responses.takeReset(frame);
        break;
      case FrameType.windowUpdate:
        this.requests.sender.takeWindowUpdate(frame);
        break;
      case FrameType.settings:
        this.control.takeRuntimeSettings(frame);
        this.end.announceIfWanted();
        break;
      case FrameType.ping:
        this.control.takeRuntimePing(frame);
        break;
      case FrameType.goaway:
        this.#takeRuntimeGoaway(frame);
        break;
      case FrameType.pushPromise:
        throw new ConnectionError(ErrorCode.protocol, 'a gRPC server pushes');
      default:
        this.link.toKubelet.pass(frame);
    }
  }

  /** The kubelet gives a call up, whether the runtime is there or not. */
  takeKubeletReset(frame: Frame): void {
    const stream = this.link.streams.get(frame.streamId);
    if (stream !== undefined) this.responses.drop(stream);
    this.requests.takeReset(frame);
  }

  /** Calls above the last stream were not worked on: the kubelet makes them again on its next connection. */
  #takeRuntimeGoaway(frame: Frame): void {
    this.link.toKubelet.pass(frame);
    const lastStreamId = readUInt31(frame, 0);
    for (const stream of [...this.link.streams.values()]) {
      if (stream.id <= lastStreamId) continue;
      this.responses.drop(stream);
      this.requests.end(stream);
      if (stream.call !== undefined) stream.call.wasForwarded = false;
      stream.call?.end({
        origin: 'runtime',
        status: { code: 14, message: 'not worked on: the runtime is going away' },
      });
      this.link.onStreamEnd();
    }
  }
}

function interrupted(): ConnectionError {
  return new ConnectionError(ErrorCode.protocol, 'a header block is interrupted');
}
