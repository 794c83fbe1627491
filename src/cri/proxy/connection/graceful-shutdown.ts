import { randomBytes } from 'node:crypto';
import { readPing } from './control-frames';
import {
  ErrorCode,
  Flag,
  formatGoaway,
  formatPing,
  formatRstStream,
  FrameType,
  hasFlag,
  type Frame,
} from '../http2/frame';
import type { ConnectionContext } from './connection-context';
import { stopping } from '../proxy-errors';
import type { RequestPath } from './request-path';
import type { ResponsePath } from './response-path';

const MAX_STREAM_ID = 0x7fffffff;

/**
 * Stops new calls of the kubelet without losing one: GOAWAY in two steps (RFC 9113 §6.8). The first announces the end.
 * A kubelet that has answered the PING behind it opens no more streams, so the second can name the last one.
 */
export class GracefulShutdown {
  private step: 'none' | 'requested' | 'announced' | 'final' = 'none';
  private endsEndless = false;
  private readonly ping = randomBytes(8);

  constructor(
    readonly context: ConnectionContext,
    readonly requests: RequestPath,
    readonly responses: ResponsePath,
  ) {}

  get isRequested(): boolean {
    return this.step !== 'none';
  }

  /** True when no more calls come. */
  get isFinal(): boolean {
    return this.step === 'final';
  }

  /** @param endsEndless ends also the calls of methods that stream without an end */
  request({ endsEndless }: { readonly endsEndless: boolean }): void {
    this.endsEndless ||= endsEndless;
    if (this.step === 'none') this.step = 'requested';
    else if (this.step !== 'requested') this.endEndless();
  }

  /** Sends the first GOAWAY; the kubelet must have the first SETTINGS before. */
  sendGoaway(): void {
    if (this.step !== 'requested') return;
    const { toKubelet } = this.context;
    this.step = 'announced';
    toKubelet.send(formatGoaway(MAX_STREAM_ID, ErrorCode.none));
    toKubelet.send(formatPing(this.ping, false));
    this.endEndless();
  }

  /** True when the frame is the kubelet's answer to our PING; it is not passed on. */
  takeAnswer(frame: Frame): boolean {
    const isAnswer =
      this.step === 'announced' &&
      frame.type === FrameType.ping &&
      hasFlag(frame, Flag.ack) &&
      readPing(frame).equals(this.ping);
    if (isAnswer) this.finish();
    return isAnswer;
  }

  /** Sends the second GOAWAY: the kubelet has answered, or did not in time. */
  finish(): void {
    if (this.step === 'none' || this.step === 'final') return;
    if (this.step === 'announced')
      this.context.toKubelet.send(formatGoaway(this.requests.lastStreamId, ErrorCode.none));
    this.step = 'final';
    this.requests.acceptNoMore();
    this.endEndless();
    this.context.closeWhenDone();
  }

  private endEndless(): void {
    if (!this.endsEndless) return;
    const { toRuntime, streams } = this.context;
    for (const stream of [...streams.values()]) {
      if (!stream.isEndless) continue;
      toRuntime.send(formatRstStream(stream.id, ErrorCode.cancel));
      this.responses.failWith(stream, stopping);
    }
  }
}
