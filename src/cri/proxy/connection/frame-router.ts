import type { ControlFrames } from './control-frames';
import type { GracefulShutdown } from './graceful-shutdown';
import { ConnectionError, ErrorCode, FrameType, type Frame } from '../http2/frame';
import type { ConnectionContext } from './connection-context';
import type { RequestPath } from './request-path';
import type { ResponsePath } from './response-path';

/** Dispatches frames by type. Frames of unknown types are forwarded unchanged. */
export class FrameRouter {
  constructor(
    readonly context: ConnectionContext,
    readonly requests: RequestPath,
    readonly responses: ResponsePath,
    readonly control: ControlFrames,
    readonly shutdown: GracefulShutdown,
  ) {}

  /** Takes a frame of the kubelet. Throws ConnectionError when it breaks the protocol. */
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
        this.requests.takeReset(frame);
        break;
      case FrameType.settings:
        this.control.takeKubeletSettings(frame);
        break;
      case FrameType.ping:
        if (!this.shutdown.takeAnswer(frame)) this.control.takeKubeletPing(frame);
        break;
      case FrameType.pushPromise:
        throw new ConnectionError(ErrorCode.protocol, 'a client pushes');
      default:
        this.context.toRuntime.pass(frame);
    }
  }

  /** Takes a frame of the runtime. Throws ConnectionError when it breaks the protocol. */
  takeFromRuntime(frame: Frame): void {
    if (this.responses.isInsideHeaderBlock && frame.type !== FrameType.continuation) throw interrupted();
    switch (frame.type) {
      case FrameType.data:
      case FrameType.rstStream:
        this.responses.takeFrame(frame);
        break;
      case FrameType.headers:
      case FrameType.continuation:
        this.responses.takeHeaders(frame);
        break;
      case FrameType.windowUpdate:
        this.requests.sender.takeWindowUpdate(frame);
        break;
      case FrameType.settings:
        this.control.takeRuntimeSettings(frame);
        this.shutdown.sendGoaway();
        break;
      case FrameType.ping:
        this.control.takeRuntimePing(frame);
        break;
      case FrameType.goaway:
        this.responses.takeGoaway(frame);
        break;
      case FrameType.pushPromise:
        throw new ConnectionError(ErrorCode.protocol, 'a gRPC server pushes');
      default:
        this.context.toKubelet.pass(frame);
    }
  }
}

function interrupted(): ConnectionError {
  return new ConnectionError(ErrorCode.protocol, 'a header block is interrupted');
}
